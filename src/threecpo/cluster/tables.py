"""Tables of a fit: markers, joins of the tree, batches, weights, stability."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import GROUP_NAMES, NOISE, RELEVANT, SHARED
from .._options import check_robust
from .naming import cluster_names_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._fit.record import FitRecord
    from .._fit.stability import Stability

COLUMNS = (
    *("group", "cluster", "name", "rank", "column"),
    *("here", "overall", "ratio", "evidence"),
)


def marker_table(
    record: FitRecord,
    n: int,
    *,
    order: str = "marker",
    column_names: NDArray[np.object_] | None = None,
) -> dict[str, list[Any]]:
    """List the best columns of each cluster, then the largest of C0 and of C-."""
    markers = record.markers
    expected, names = markers.expected, column_names
    if names is None:
        names = record.column_names
    columns = range(record.n_columns) if names is None else names
    table: dict[str, list[Any]] = {key: [] for key in COLUMNS}

    def add(group: int, cluster: int, name: str, places: NDArray[np.intp]) -> None:
        for rank, j in enumerate(places.tolist(), start=1):
            counts = expected.overall[j], expected.overall[j], 1.0, 0.0
            if group == RELEVANT:
                here, ratio = expected.clusters[cluster, j], expected.ratios[cluster, j]
                counts = here, counts[0], ratio, markers.evidence[cluster, j]
            line = group, cluster, name, rank, columns[j], *map(float, counts)
            for key, value in zip(table, line, strict=True):
                table[key].append(value)

    for k, name in enumerate(cluster_names_of(record, names)):
        add(RELEVANT, k, name, markers.best(k, n, order))
    for group in (SHARED, NOISE):
        places = np.flatnonzero(record.groups == group)
        largest = np.argsort(-expected.overall[places], kind="stable")[:n]
        add(group, -1, GROUP_NAMES[group], places[largest])
    return table


def tree_table(record: FitRecord) -> dict[str, Any]:
    """List the joins of a fit's clusters, the cheapest first."""
    tree, n = record.tree, record.n_clusters
    left, right = tree.linkage[:, :2].astype(np.int64).T
    below = tree.members
    sizes, sure = record.sums.cluster_sizes, record.confidence
    dispersion, temperature = (
        (np.nan, np.nan) if sure is None else (sure.dispersion, sure.temperature)
    )
    return {
        "node": n + np.arange(n - 1),
        "left": left,
        "right": right,
        "height": tree.heights,
        "lost": tree.lost,
        "height_over_dispersion": tree.heights / (dispersion or np.nan),
        "height_over_temperature": tree.heights / temperature,
        "net": tree.lost - _price_given_back(record),
        "rows": np.array([sizes[each].sum() for each in below[n:]], dtype=np.int64),
        "clusters": below[n:],
    }


def _price_given_back(record: FitRecord) -> NDArray[np.float64]:
    """How much less C1 costs after each join, its columns held; NaN if not known."""
    from .._fit.record_files import lost_price

    if record.settings.price is lost_price:
        return np.full(record.n_clusters - 1, np.nan)
    totals = record.smoothed.totals[record.groups == RELEVANT]
    price, n_rows = record.settings.price, record.sums.total_weight
    each = [price(totals, k, n_rows).sum() for k in range(record.n_clusters, 0, -1)]
    return -np.diff(np.array(each))


def lightest(weights: NDArray[np.float64]) -> NDArray[np.intp]:
    """Places of weights below 1, the least first."""
    order = np.argsort(weights, kind="stable")
    return order[weights[order] < 1]


def downweighted_columns(
    record: FitRecord, weights: NDArray[np.float64]
) -> dict[str, list[Any]]:
    held, names = lightest(weights), record.column_names
    most = check_robust(record.parameters.get("robust")).columns or np.nan
    return {
        "column": [int(j) if names is None else names[j] for j in held],
        "group": record.groups[held].tolist(),
        "dispersion": (most / weights[held]).tolist(),
        "weight": weights[held].tolist(),
    }


def batch_columns(record: FitRecord, n: int) -> dict[str, list[Any]]:
    """List the columns whose batches explain the most likelihood."""
    from .._core.model import log

    names, effects = record.batch_names, record.batch_effects
    if record.sums.n_batches == 1:
        keys = ("column", "batch", "effect", "least_batch", "least_effect", "evidence")
        return {key: [] for key in keys}
    evidence = (record.sums.batch_totals * log(effects)).sum(axis=0)
    best = np.argsort(-evidence, kind="stable")[:n]
    most, least = effects.argmax(axis=0), effects.argmin(axis=0)
    columns = record.column_names
    return {
        "column": [int(j) if columns is None else columns[j] for j in best],
        "batch": [names[most[j]] for j in best],
        "effect": [float(effects[most[j], j]) for j in best],
        "least_batch": [names[least[j]] for j in best],
        "least_effect": [float(effects[least[j], j]) for j in best],
        "evidence": [float(evidence[j]) for j in best],
    }


def stability_table(found: Stability) -> dict[str, Any]:
    """Return what was measured as columns."""
    splits = found.splits
    missing = np.full(len(found.members), np.nan)
    mean, spread = missing, missing
    if len(found.jaccards):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # nodes in no half
            mean = np.nanmean(found.jaccards, axis=0)
            spread = np.nanstd(found.jaccards, axis=0)

    def of_splits(name: str) -> Any:
        return np.array([np.nan if s is None else getattr(s, name) for s in splits])

    return {
        "node": np.arange(len(found.members)),
        "clusters": np.array(
            [" ".join(map(str, sorted(below))) for below in found.members], dtype=object
        ),
        "rows": found.sizes,
        "jaccard": mean,
        "jaccard_sd": spread,
        "gain": of_splits("gain"),
        "expected": of_splits("null_mean"),
        "z": of_splits("z"),
        "p_value": of_splits("p_value"),
        "p_adjusted": found.adjusted,
        "distinct": found.distinct,
    }
