"""Figures, as functions that return matplotlib Axes."""

from ._cluster_path import cluster_path
from ._cluster_shares import cluster_shares
from ._cluster_sizes import cluster_sizes
from ._column_groups import column_groups
from ._convergence import convergence
from ._dendrogram import dendrogram
from ._heat_map import heat_map
from ._k_path import k_path
from ._outliers import outliers
from ._row_map import row_map

__all__ = [
    "cluster_path",
    "cluster_shares",
    "cluster_sizes",
    "column_groups",
    "convergence",
    "dendrogram",
    "heat_map",
    "k_path",
    "outliers",
    "row_map",
]
