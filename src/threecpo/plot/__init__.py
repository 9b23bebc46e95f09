"""Figures, as functions that return matplotlib Axes."""

from ._figures import (
    cluster_path,
    cluster_shares,
    dendrogram,
    heat_map,
    k_path,
    outliers,
    row_map,
)

__all__ = [
    "cluster_path",
    "cluster_shares",
    "dendrogram",
    "heat_map",
    "k_path",
    "outliers",
    "row_map",
]
