"""Facts about counts, a fit and its choice of K, for JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import GROUP_NAMES
from .._labels import encoded
from .._validation import check_counts
from ..cluster.naming import cluster_names_of
from . import figure_data
from .dominance import separation
from .fitted import column_names_of, mean_confidence, record_of
from .input_checks import find_problems

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._fit.record import FitRecord
    from ..cluster import ThreeCPO
    from ..select import KPath
    from ..table import CountTable


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
    """Parameters of a fit and what it found, as plain values.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.

    Returns
    -------
    dict
        ``parameters`` that the fit used and its ``seed``; numbers of ``rows``,
        ``columns``, ``clusters``, ``cluster_sizes``, ``outliers``,
        ``rows_without_counts`` (in relevant or shared columns), ``column_groups`` and
        ``iterations``; the ``loss``; the ``temperature`` T, the ``dispersion`` φ (the
        median of the columns) and the mean ``confidence`` in the rows of each cluster,
        None where they were not measured; ``known``, what was given before the fit
        (``rows`` held in clusters and how many of them are ``against`` the counts,
        ``clusters`` and ``fixed_groups``); ``cluster_names`` and ``separation`` (the
        columns, at most three, that make half of what separates the clusters, and
        their share of it).

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import fit_facts
    >>> X = [[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]]
    >>> fit_facts(ThreeCPO(2, random_state=0).fit(X))["cluster_sizes"]
    [2, 2]
    """
    record = record_of(model)
    rows, columns = (
        figure_data.cluster_sizes(record),
        figure_data.column_groups(record),
    )
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
        "column_groups": dict(zip(columns["groups"], columns["columns"], strict=True)),
        "loss": record.loss,
        "iterations": record.n_iter,
        "known": known_facts(record),
        "separation": separation(record),
        "temperature": record.confidence and record.confidence.temperature,
        "dispersion": record.confidence and record.confidence.dispersion,
        "confidence": mean_confidence(record),
    }


def choice_facts(path: KPath) -> dict[str, Any]:
    """Say how a path chose, and what lies one level below the clusters.

    Parameters
    ----------
    path : KPath
        What :func:`threecpo.select_n_clusters` returns, or ``k_path_`` of a model.

    Returns
    -------
    dict
        ``criterion``, ``best`` and ``runner_up``, K of totals like the best in
        ``flat``, whether the path ``falls_at_end``, the ``sentence`` that says so;
        and what the fit with ``next_k`` clusters makes of each cluster in ``below``
        (see ``KPath.below``).

    Examples
    --------
    >>> from threecpo import select_n_clusters
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.results import choice_facts
    >>> X, _ = make_synth(300, random_state=0)
    >>> path = select_n_clusters(X, range(1, 5), n_init=3, random_state=0)
    >>> choice_facts(path)["runner_up"]
    4
    """
    choice = path.choice
    return {
        "criterion": choice.criterion,
        "best": choice.best,
        "runner_up": choice.runner_up,
        "flat": list(choice.flat),
        "falls_at_end": choice.falls_at_end,
        "sentence": path.sentence(),
        "next_k": path.next_k,
        "below": path.below(),
    }


PRIOR = 1e-3
FEW = 4


def describe_counts(table: CountTable) -> dict[str, Any]:
    """Describe a table of counts.

    Parameters
    ----------
    table : CountTable
        Counts with their names.

    Returns
    -------
    dict
        ``description`` (which matrix of an h5ad file it is); numbers of ``rows`` and
        ``columns``; of the counts how many are ``stored``, the
        ``density``, ``total``, ``least``, ``most`` and whether all are ``whole``;
        ``row_sums`` and ``overdispersion``; names, ``labels`` and the values of all
        ``label_kinds``; and what may be wrong:
        ``log_normalised``, ``proportions_of`` (1 or 100), ``empty_rows``,
        ``empty_columns``, repeated names, ``total_rows`` and ``total_columns`` (sums of
        all others), ``id_columns``, ``code_columns``, ``measures`` (years, ages),
        ``thousands`` (1.234 for 1234), how many are ``copied_rows``, and whether the
        table is named as if ``transposed``; and what may dominate clusters: the share
        of the counts in the ``deepest_rows`` (5 %) and in the ``largest_columns``, and
        the ``dispersion`` of columns and of rows in a sample. :func:`check_input` says
        it in words.

    Examples
    --------
    >>> from threecpo import CountTable
    >>> from threecpo.results import describe_counts
    >>> facts = describe_counts(CountTable([[3, 0], [0, 5], [0, 0]]))
    >>> facts["total"], facts["empty_rows"]
    (8.0, 1)
    """
    counts = check_counts(table)
    sums = counts.row_lengths(1)
    found = find_problems(table)
    n_rows, n_columns = table.shape
    stored = len(counts.data)
    all_stored = stored == n_rows * n_columns
    return {
        **found,
        "description": table.description,
        "rows": n_rows,
        "columns": n_columns,
        "stored": stored,
        "density": stored / (n_rows * n_columns),
        "total": float(counts.data.sum()),
        "least": float(counts.data.min()) if all_stored else 0.0,
        "most": float(counts.data.max(initial=0.0)),
        "whole": not counts.fractional,
        "row_sums": {
            "least": float(sums.min()),
            "most": float(sums.max()),
            "median": float(np.median(sums)),
        },
        "overdispersion": _summary(overdispersion(counts)),
        "empty_columns": _n_empty_columns(counts),
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


def _summary(dispersion: NDArray[np.float64]) -> dict[str, float]:
    return {
        "median": float(np.median(dispersion)) if len(dispersion) else 0.0,
        "above_2": float(np.mean(dispersion > 2)) if len(dispersion) else 0.0,
    }


def _n_empty_columns(counts: Counts) -> int:
    unused = np.ones(counts.n_columns, dtype=bool)
    unused[counts.indices] = False
    return int(np.count_nonzero(unused))


def _first(names: NDArray[np.object_] | None) -> list[str] | None:
    return None if names is None else names[:FEW].tolist()


def _repeated(names: NDArray[np.object_] | None) -> list[str]:
    times = Counter(names if names is not None else ())
    return [name for name, n in times.items() if n > 1]
