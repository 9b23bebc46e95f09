"""Figures, as functions that return matplotlib Axes."""

from ._clusters import cluster_path, dendrogram, heat_map, k_path
from ._rows import cluster_shares, outliers, row_map

__all__ = [
    "cluster_path",
    "cluster_shares",
    "dendrogram",
    "heat_map",
    "k_path",
    "outliers",
    "row_map",
]
