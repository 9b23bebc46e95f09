"""How clusters divide along a path, as places of circles and lines between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ._csv_tables import Table

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
    upper, lower = table["n_clusters"], table["next_n_clusters"]
    levels = np.unique(np.concatenate([upper, lower])).tolist()
    if last is not None:
        levels = [k for k in levels if k <= last]
    clusters: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    above: dict[int, int] = {}  # cluster of the level above: its place in the list
    for level, k in enumerate(levels):
        into = np.flatnonzero(lower == k) if level else np.array([], dtype=np.intp)
        arriving = _arriving(table, into, above, [each["x"] for each in clusters])
        if not level:
            arriving = _first_level(table, k)
        here: dict[int, int] = {}
        order = sorted(arriving, key=lambda cluster: (arriving[cluster][1], cluster))
        for place, cluster in enumerate(order):
            here[cluster] = len(clusters)
            rows, x = arriving[cluster][0], (place + 0.5) / len(order)
            clusters.append({"n_clusters": k, "cluster": cluster, "rows": rows, "x": x})
        lines += _lines(table, into, above, here, arriving)
        above = here
    return {"clusters": clusters, "lines": lines}


def _first_level(table: Table, k: int) -> dict[int, tuple[int, float]]:
    """Rows and order of the clusters that nothing stands above."""
    out: dict[int, tuple[int, float]] = {}
    for i in np.flatnonzero(table["n_clusters"] == k):
        cluster = int(table["cluster"][i])
        rows = out.get(cluster, (0, 0.0))[0] + int(table["rows"][i])
        out[cluster] = rows, float(cluster)
    return out


def _arriving(
    table: Table, into: NDArray[np.intp], above: dict[int, int], places: list[float]
) -> dict[int, tuple[int, float]]:
    """Rows of each cluster, and the mean place of the clusters they come from."""
    rows: dict[int, int] = {}
    sums: dict[int, float] = {}
    for a, b, n in _triples(table, into):
        rows[b] = rows.get(b, 0) + n
        sums[b] = sums.get(b, 0.0) + n * places[above[a]]
    return {b: (rows[b], sums[b] / rows[b]) for b in rows}


def _lines(
    table: Table,
    into: NDArray[np.intp],
    above: dict[int, int],
    here: dict[int, int],
    arriving: dict[int, tuple[int, float]],
) -> list[dict[str, Any]]:
    return [
        {"from": above[a], "to": here[b], "rows": n, "share": n / arriving[b][0]}
        for a, b, n in _triples(table, into)
        if n > SMALL_SHARE * arriving[b][0]
    ]


def _triples(table: Table, into: NDArray[np.intp]) -> Iterable[tuple[int, int, int]]:
    """Upper cluster, lower cluster and rows."""
    names = ("cluster", "next_cluster", "rows")
    return zip(*(table[name][into].tolist() for name in names), strict=True)
