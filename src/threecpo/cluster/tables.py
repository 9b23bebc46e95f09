"""Tables of a fit: columns that mark clusters, and joins of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import GROUP_NAMES, NOISE, RELEVANT, SHARED
from .naming import cluster_names_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._fit.record import FitRecord

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
    """List the best columns of each cluster, then the largest of C0 and of C-.

    Parameters
    ----------
    record : FitRecord
        A finished fit.
    n : int
        Most columns to list for each cluster and group.
    order : {"marker", "excess"}
        By strength and evidence, or by the difference of the counts, as the paper does.
    column_names : ndarray of str or None
        Names of the columns; None takes those of the fit, or their numbers.

    Returns
    -------
    dict of str to list
        ``group``, ``cluster`` (-1 outside C1), ``name`` of the cluster or group,
        ``rank`` (from 1), ``column``, and the expected counts ``here`` and ``overall``
        in a row of mean size, their ``ratio`` and its ``evidence`` in nats.
    """
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
    """List the joins of a fit's clusters, the cheapest first.

    Parameters
    ----------
    record : FitRecord
        A finished fit.

    Returns
    -------
    dict of str to ndarray or list
        What ``ThreeCPO.tree_table`` describes.
    """
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
