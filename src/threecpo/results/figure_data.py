"""Numbers behind the figures, as plain lists that JSON can hold."""

from __future__ import annotations

from base64 import b64encode
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import GROUP_NAMES, NO_COUNTS, OUTLIER, RELEVANT, linked_parts
from .._plain import plain
from .fitted import column_names_of, expected_counts, rows_of, shown_labels, sizes_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from .._fit.record import FitRecord
    from .table_files import Table

    Part = dict[str, Any]

# A map of more points shows no more, and makes a report heavy.
MAP_POINTS = 4000
# Counts of its points that a page holds, a byte each.
MAP_VALUES = 1_200_000
# Columns that are named for one row.
STRONGEST = 3
# Enough of a cluster's rows to find where most of them are.
CENTRE_ROWS = 400
# A part of a cluster with a smaller share of its rows, or with fewer of the drawn
# ones, has no label of its own.
LARGE_PART = 0.2
PART_ROWS = 40


def cluster_sizes(record: FitRecord) -> Part:
    """Rows in each cluster, outliers, and rows without counts."""
    labels, _ = shown_labels(record, rows_of(record))
    return {
        "sizes": sizes_of(record).tolist(),
        "outliers": int((labels == OUTLIER).sum()),
        "without_counts": int((labels == NO_COUNTS).sum()),
    }


def column_groups(record: FitRecord) -> dict[str, int]:
    """Number of columns in each group."""
    groups = record.groups
    return {name: int((groups == group).sum()) for group, name in GROUP_NAMES.items()}


def heat_map(
    record: FitRecord, n_columns: int, column_names: Iterable[Any] | None = None
) -> Part:
    """Ratios of the clusters' best columns to the overall count, as powers of 2.

    Every cluster gives its best columns in turn until there are enough of them; they
    stand in the order of the cluster that they are highest in, and clusters in that of
    the tree.
    """
    names = column_names_of(record, column_names)
    markers = record.markers
    best = [markers.best(k, n_columns) for k in range(record.n_clusters)]
    places = _in_turn(best)[:n_columns]
    with np.errstate(divide="ignore"):
        powers = np.log2(expected_counts(record).ratios[record.tree.leaves][:, places])
    powers = np.clip(powers, -10.0, 10.0)
    order = np.lexsort([-powers.max(axis=0, initial=-11), powers.argmax(axis=0)])
    return {
        "columns": [names[j] for j in places[order]],
        "clusters": list(record.tree.leaves),
        "powers": powers[:, order].round(3).tolist(),
    }


def _in_turn(lists: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    """First entries of all lists, then the second ones, each entry once."""
    entries = chain.from_iterable(zip_longest(*lists))
    once = dict.fromkeys(entry for entry in entries if entry is not None)
    return np.array([*once], dtype=np.intp)


def outliers(rows: Table, threshold: float) -> Part:
    """Histogram of the outlier scores, and how many lie above the threshold.

    It ends at the 1st and 99th percentile; what lies beyond is in its last bars.
    """
    scores = rows["outlier_score"]
    finite = scores[np.isfinite(scores)]
    low, high = np.percentile(finite, [1, 99]) if len(finite) else (0.0, 0.0)
    # The threshold is an edge, so that every bar is on one side of it.
    low, high = min(low - threshold, 0.0), max(high - threshold, 0.0)
    step = (high - low) / 40 or 1.0
    edges = threshold + step * np.arange(
        min(np.floor(low / step), -1.0), max(np.ceil(high / step), 1.0) + 1.0
    )
    # Reversed, because a score at the threshold is not above it.
    inside = np.clip(finite, edges[0], edges[-1])
    counts = np.histogram(-inside, -edges[::-1])[0][::-1]
    return {
        "edges": edges.tolist(),
        "counts": counts.tolist(),
        "threshold": threshold,
        "above": int((scores > threshold).sum()),
    }


def row_map(rows: Table, n_clusters: int) -> Part | None:
    """Points of the map, or of some rows where there are many; None if all are one.

    ``rows`` counts those that have no place as well, such as rows that stayed on disk.
    """
    places, nearest = np.column_stack([rows["map_x"], rows["map_y"]]), rows["nearest"]
    # Every place is as good for a row without counts.
    known = np.isfinite(places).all(axis=1) & (rows["cluster"] != NO_COUNTS)
    if not known.any() or not np.ptp(places[known], axis=0).any():
        return None
    centres = [_centres(places[known & (nearest == k)]) for k in range(n_clusters)]
    limits = [
        _limits(
            places[known, axis], [each[axis] for found in centres for each in found]
        )
        for axis in (0, 1)
    ]
    shown = np.flatnonzero(known)
    if len(shown) > MAP_POINTS:
        generator = np.random.default_rng(0)
        shown = np.sort(generator.choice(shown, MAP_POINTS, replace=False))
    x, y = np.clip(places[shown], *np.transpose(limits)).round(4).T.tolist()
    return {
        "x": x,
        "y": y,
        "cluster": rows["cluster"][shown].tolist(),
        "centres": centres,
        "limits": limits,
        "rows": int((rows["cluster"] != NO_COUNTS).sum()),
        "shown": shown.tolist(),
    }


def _centres(places: NDArray[np.float64]) -> list[list[float]]:
    """Where a cluster is labelled: in the middle of each of its large parts."""
    if not len(places):
        return []
    some = places[:: max(1, len(places) // CENTRE_ROWS)]
    away = _distances(some)
    # Points of one part are linked over the distance to a few neighbours.
    near = np.median(_nth_smallest(away, min(6, len(some))))
    parts = linked_parts(away <= 3.0 * near)
    sizes = np.bincount(parts)
    large = sizes >= max(LARGE_PART * len(some), PART_ROWS)
    large[sizes.argmax()] = True
    return [_middle(some[parts == part]) for part in np.flatnonzero(large)]


def _middle(places: NDArray[np.float64]) -> list[float]:
    """The point that has a quarter of the others nearest around it.

    A median may lie between two groups, where there is nothing.
    """
    away = _nth_smallest(_distances(places), max(1, len(places) // 4))
    return places[away.argmin()].tolist()


def _distances(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distances between all places."""
    return np.sqrt(((places[:, None] - places) ** 2).sum(axis=2))


def _nth_smallest(values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """The n-th smallest value of each row."""
    return np.partition(values, n - 1, axis=1)[:, n - 1]


def map_counts(record: FitRecord, rows: Table, counts: sp.csr_array) -> Part | None:
    """Counts of the points of the map, for the columns people look for first.

    ``columns`` are markers of all clusters, then those with the most evidence;
    ``values`` their counts in a row of mean size, as logarithms in 255 steps, one text
    a column; ``strongest`` the columns that speak most for the cluster of each point.
    """
    from scipy.sparse import csc_array, diags_array

    drawn = row_map(rows, record.n_clusters)
    if drawn is None:
        return None
    shown = np.array(drawn["shown"])
    counts = counts[shown]
    sizes = np.asarray(counts.sum(axis=1), dtype=np.float64)
    markers = record.markers
    most = min(record.n_columns, max(1, MAP_VALUES // max(1, len(shown))))
    best = [markers.best(k, most) for k in range(record.n_clusters)]
    evident = np.argsort(-markers.evidence.max(axis=0), kind="stable")
    columns = _in_turn([*best, evident[:most]])[:most]
    scaled = csc_array(diags_array(sizes.mean() / np.maximum(sizes, 1.0)) @ counts)
    values = []
    for j in columns.tolist():
        inside = slice(scaled.indptr[j], scaled.indptr[j + 1])
        steps = np.zeros(len(shown), dtype=np.uint8)
        logs = np.log1p(scaled.data[inside])
        highest = logs.max(initial=0.0) or 1.0
        steps[scaled.indices[inside]] = np.maximum(np.rint(255 * logs / highest), 1)
        values.append(b64encode(steps.tobytes()).decode())
    return {
        "columns": columns.tolist(),
        "values": values,
        "strongest": _strongest(record, counts, shown),
    }


def _strongest(
    record: FitRecord, counts: sp.csr_array, shown: NDArray[np.intp]
) -> list[list[int]]:
    """Columns whose counts speak most for the cluster of each row."""
    with np.errstate(divide="ignore"):
        logs = np.log(record.markers.expected.ratios)
    logs[:, record.groups != RELEVANT] = 0.0
    out = []
    for i, cluster in enumerate(rows_of(record).nearest_labels[shown].tolist()):
        inside = slice(counts.indptr[i], counts.indptr[i + 1])
        columns = counts.indices[inside]
        gains = counts.data[inside] * logs[cluster, columns]
        order = np.argsort(-gains, kind="stable")[:STRONGEST]
        out.append(columns[order[gains[order] > 0]].tolist())
    return out


def _limits(values: NDArray[np.float64], centres: list[float]) -> list[float]:
    """Frame of nearly all points and all clusters: far rows would squeeze the rest."""
    low, high = np.percentile(values, [5, 95])
    beside = 0.75 * (high - low)
    low = max(min([low - beside, *centres]), values.min())
    high = min(max([high + beside, *centres]), values.max())
    return [float(low), float(high if high > low else low + 1.0)]


def k_path(table: Table) -> Part:
    """Criterion over the number of clusters as people draw it, and the best."""
    from ..select import choice_of

    totals = table["total"]
    best = int(np.argmin(np.where(np.isnan(totals), np.inf, totals)))
    choice, n_clusters = choice_of(table), table["n_clusters"].tolist()
    part = {
        "criterion": str(table["criterion"][0]),
        "n_clusters": n_clusters,
        "values": plain(totals),
        "best": best,
        "found": int(table["found"][best]),
        "doubts": choice.doubts,
        "sentence": choice.sentence(),
        "reproducibility": [choice.reproducibility.get(k) for k in n_clusters],
    }
    if "relevant" in table:
        part["relevant"] = table["relevant"].tolist()
    return part


# A line that brings a smaller share of the rows of a cluster is not drawn.
SMALL_SHARE = 0.05


def cluster_path(table: Table, last: int | None = None) -> dict[str, Any]:
    """Places of the clusters of each K, and the rows that they pass on.

    Parameters
    ----------
    table : dict of str to ndarray
        What :meth:`threecpo.select.KPath.divisions` returns, or a file of it read back.
    last : int, default=None
        Largest K to show; None shows all.

    Returns
    -------
    dict of str to list
        ``clusters``, each with ``n_clusters``, ``cluster``, ``rows`` and its place
        ``x`` from 0 to 1, as near as its row of circles allows to those that its rows
        come from; ``lines``, each with the places of both ends in ``clusters``, the
        ``rows`` and their ``share`` of the lower cluster.

    Examples
    --------
    >>> from threecpo import select_n_clusters
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.results import cluster_path
    >>> X, _ = make_synth(300, random_state=0)
    >>> path = select_n_clusters(X, range(1, 4), n_init=3, random_state=0)
    >>> part = cluster_path(path.divisions())
    >>> [cluster["n_clusters"] for cluster in part["clusters"]]
    [1, 2, 2, 3, 3, 3]
    """
    levels = np.unique([table["n_clusters"], table["next_n_clusters"]]).tolist()
    clusters: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    above: dict[int, int] = {}  # cluster of the level above: its place in the list
    for k in levels:
        if last is not None and k > last:
            break
        came, goes = table["next_n_clusters"] == k, table["n_clusters"] == k
        own = np.union1d(table["next_cluster"][came], table["cluster"][goes])
        into = np.searchsorted(own, table["next_cluster"][came])
        out_of = np.searchsorted(own, table["cluster"][goes])
        n = table["rows"][came]
        arrived = np.bincount(into, n, len(own))
        left = np.bincount(out_of, table["rows"][goes], len(own))
        rows = np.where(arrived > 0, arrived, left).tolist()
        ends = [above[a] for a in table["cluster"][came].tolist()]
        places = np.bincount(into, n * [clusters[end]["x"] for end in ends], len(own))
        # Clusters that nothing stands above come last.
        x = np.full(len(own), np.inf)
        np.divide(places, arrived, out=x, where=arrived > 0)
        order = np.lexsort([own, x]).tolist()
        here = {b: len(clusters) + place for place, b in enumerate(order)}
        lines += [
            {"from": end, "to": here[b], "rows": shared, "share": shared / rows[b]}
            for end, b, shared in zip(ends, into.tolist(), n.tolist(), strict=True)
            if shared > SMALL_SHARE * rows[b]
        ]
        clusters += [
            {
                "n_clusters": k,
                "cluster": int(own[b]),
                "rows": int(rows[b]),
                "x": (place + 0.5) / len(order),
            }
            for place, b in enumerate(order)
        ]
        above = {int(own[b]): place for b, place in here.items()}
    return {"clusters": clusters, "lines": lines}
