"""Rows that come in blocks, from disk or from Dask: fits of them, and results."""

from .._fit.row_results import read_rows
from ._dask import ClusterLostError, local_client
from ._fit import fit, split
from ._fit import gone_on as gone_on
from ._path import select_n_clusters
from ._predict import described_rows as described_rows
from ._predict import drawn_rows as drawn_rows
from ._predict import predict, predict_proba, row_scores, score, transform

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
