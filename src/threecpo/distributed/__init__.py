"""Rows that come in blocks, from disk or from Dask: fits of them, and results."""

from .._fit.row_files import read_rows
from ._dask import ClusterLostError, local_client
from ._door import fit
from ._new_rows import predict, predict_proba, row_scores, score, transform
from ._path import select_n_clusters
from ._split import split

__all__ = [
    "ClusterLostError",
    "fit",
    "local_client",
    "predict",
    "predict_proba",
    "read_rows",
    "row_scores",
    "score",
    "select_n_clusters",
    "split",
    "transform",
]
