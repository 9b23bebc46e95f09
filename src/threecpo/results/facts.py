"""Facts about counts, a fit and its choice of K, for JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import GROUP_NAMES, RELEVANT
from .._labels import encoded
from .._validation import check_counts
from ..cluster.naming import cluster_names_of
from . import figure_data
from .fitted import column_names_of, mean_confidence, record_of
from .input_checks import FEWEST_COLUMNS, find_problems

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._fit.record import FitRecord
    from ..cluster import ThreeCPO
    from ..select import KPath
    from ..table import CountTable


FEW_COLUMNS = 3
MUCH = 0.5


def separation(record: FitRecord) -> dict[str, Any]:
    """The fewest columns, at most 3, that make half of what separates the clusters.

    What a column separates is its evidence in all clusters: the nats by which rates of
    their own explain their counts better than the overall rate.
    """
    evidence = record.markers.evidence.sum(axis=0)
    evidence = np.where(record.groups == RELEVANT, evidence, 0.0)
    total = float(evidence.sum())
    if not total:
        return {"columns": [], "share": 0.0}
    order = np.argsort(-evidence, kind="stable")
    shares = np.cumsum(evidence[order[:FEW_COLUMNS]]) / total
    n = min(int(np.searchsorted(shares, MUCH)) + 1, len(shares))
    names = column_names_of(record)
    columns = [str(names[j]) for j in order[:n] if evidence[j] > 0]
    return {"columns": columns, "share": float(shares[n - 1])}


def separation_line(facts: dict[str, Any], columns: str = "columns") -> str:
    """Say which few columns make most of what separates clusters; nothing if none."""
    found, n_columns = facts.get("separation") or {}, facts["columns"]
    if n_columns < FEWEST_COLUMNS or found.get("share", 0.0) < MUCH:
        return ""
    names = found["columns"]
    who = (
        "this column makes" if len(names) == 1 else f"these {len(names)} {columns} make"
    )
    share = f"{100 * found['share']:.0f} %"
    return f"{who} {share} of what separates the clusters: {', '.join(names)}"


def known_facts(record: FitRecord) -> dict[str, Any]:
    """Rows held in clusters, clusters that are the user's, and groups that were fixed.

    ``against`` is how many of the held rows fit another cluster better.
    """
    known = None if record.rows is None else record.rows.known
    held = np.zeros(record.n_rows, bool) if known is None else known >= 0
    margins = np.empty(0) if record.rows is None else record.rows.margins[held]
    columns = column_names_of(record, None)
    n_known = min(record.settings.n_known, record.n_clusters)
    return {
        "rows": int(held.sum()),
        "against": int((margins < 0).sum()),
        "clusters": cluster_names_of(record)[:n_known].tolist(),
        "fixed_groups": {
            str(columns[column]): GROUP_NAMES[group]
            for column, group in record.settings.fixed_groups
        },
    }


def fit_facts(model: ThreeCPO) -> dict[str, Any]:
    """Parameters of a fit and what it found, as plain values."""
    record = record_of(model)
    rows = figure_data.cluster_sizes(record)
    return {
        "parameters": dict(record.parameters),
        "seed": record.parameters["random_state"],
        "rows": record.n_rows,
        "columns": record.n_columns,
        "clusters": record.n_clusters,
        "cluster_sizes": rows["sizes"],
        "cluster_names": cluster_names_of(record).tolist(),
        "outliers": rows["outliers"],
        "rows_without_counts": rows["without_counts"],
        "column_groups": figure_data.column_groups(record),
        "loss": record.loss,
        "iterations": record.n_iter,
        "known": known_facts(record),
        "separation": separation(record),
        "temperature": record.confidence and record.confidence.temperature,
        "dispersion": record.confidence and record.confidence.dispersion,
        "confidence": mean_confidence(record),
    }


def choice_facts(path: KPath) -> dict[str, Any]:
    """Say how a path chose, and what lies one level below the clusters."""
    choice = path.choice
    return {
        "criterion": choice.criterion,
        "best": choice.best,
        "runner_up": choice.runner_up,
        "flat": list(choice.flat),
        "falls_at_end": choice.falls_at_end,
        "reproducibility": {str(k): x for k, x in choice.reproducibility.items()},
        "sentence": path.sentence(),
        "next_k": path.next_k,
        "below": path.below(),
    }


PRIOR = 1e-3
FEW = 4


def describe_counts(table: CountTable) -> dict[str, Any]:
    """Describe a table of counts."""
    counts = check_counts(table)
    n_cells, stored = table.shape[0] * table.shape[1], len(counts.data)
    dispersion = overdispersion(counts)
    used = np.bincount(counts.indices, minlength=counts.n_columns)
    return {
        **find_problems(table),
        "description": table.description,
        "stored": stored,
        "density": stored / n_cells,
        "total": float(counts.data.sum()),
        "least": float(counts.data.min()) if stored == n_cells else 0.0,
        "overdispersion": {
            "median": float(np.median(dispersion)) if len(dispersion) else 0.0,
            "above_2": float(np.mean(dispersion > 2)) if len(dispersion) else 0.0,
        },
        "empty_columns": int(np.count_nonzero(used == 0)),
        "first_row_names": _first(table.row_names),
        "first_column_names": _first(table.column_names),
        "repeated_row_names": _repeated(table.row_names),
        "repeated_column_names": _repeated(table.column_names),
        "labels": table.label_names,
        "label_kinds": {
            kind: encoded(texts)["label_names"]
            for kind, texts in table.label_kinds.items()
        },
    }


def overdispersion(counts: Counts) -> NDArray[np.float64]:
    """Pearson's dispersion of each column that has counts, in one cluster."""
    # Compiled loops, which the other results do without.
    from .._core.dispersion import dispersions
    from .._core.sums import sum_by_labels

    labels = np.zeros(counts.n_rows, dtype=np.int32)
    groups = np.zeros(counts.n_columns, dtype=np.int8)
    sums = sum_by_labels(counts, labels, 1, groups, PRIOR)
    found = dispersions(counts, labels, sums.smoothed(PRIOR), groups)
    return found[sums.totals > 0]


def _first(names: NDArray[np.object_] | None) -> list[str] | None:
    return None if names is None else names[:FEW].tolist()


def _repeated(names: NDArray[np.object_] | None) -> list[str]:
    times = Counter(names if names is not None else ())
    return [name for name, n in times.items() if n > 1]
