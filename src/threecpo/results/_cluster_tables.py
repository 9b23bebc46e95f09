"""Clusters of a fit as a table: sizes, names, markers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..cluster.naming import SEPARATOR, cluster_names_of
from .fitted import column_names_of, mean_confidence, record_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._fit.record import FitRecord
    from ..cluster import ThreeCPO
    from ._csv_tables import Table

MARKERS_LISTED = 10


def cluster_table(
    model: ThreeCPO, *, column_names: Iterable[Any] | None = None
) -> Table:
    """Table of the clusters of a fitted model.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    column_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or their numbers, from 0.

    Returns
    -------
    dict of str to ndarray
        ``cluster``, ``name``, ``size`` (rows), ``share`` (of all rows), mean
        ``confidence`` in its rows (NaN where it was not measured); of the tree the
        ``kinship`` (its place in the drawn tree), ``joins`` (the node or cluster
        that it is joined with; -1 for a single cluster) and ``join_height``; and
        ``markers``, up to ten columns that mark the cluster, the best first.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import cluster_table
    >>> X = [[90, 0, 50], [80, 1, 50], [0, 90, 50], [1, 80, 50], [2, 70, 40]]
    >>> table = cluster_table(ThreeCPO(2, random_state=0).fit(X), column_names="abc")
    >>> table["name"].tolist(), table["size"].tolist()
    (['b', 'a'], [3, 2])
    """
    record = record_of(model)
    columns = column_names_of(record, column_names)
    given = columns if column_names is not None else None
    markers, sizes = record.markers, record.cluster_sizes
    listed = np.empty(record.n_clusters, dtype=object)
    listed[:] = [
        SEPARATOR.join(columns[markers.best(k, MARKERS_LISTED)])
        for k in range(record.n_clusters)
    ]
    return {
        "cluster": np.arange(record.n_clusters),
        "name": cluster_names_of(record, given),
        "size": sizes,
        "share": sizes / record.n_rows,
        "confidence": np.array(mean_confidence(record), dtype=np.float64),
        **_in_the_tree(record),
        "markers": listed,
    }


def _in_the_tree(record: FitRecord) -> Table:
    """Where each cluster stands in the tree, and what it is joined with."""
    n = record.n_clusters
    joins, heights = np.full(n, -1), np.zeros(n)
    for left, right, height, _ in record.tree.linkage.tolist():
        for one, other in ((int(left), int(right)), (int(right), int(left))):
            if one < n:
                joins[one], heights[one] = other, height
    return {
        "kinship": np.argsort(record.tree.leaves),
        "joins": joins,
        "join_height": heights,
    }
