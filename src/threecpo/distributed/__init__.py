"""Fits and results over blocks of rows, from disk or Dask."""

from .._fit.row_results import read_rows
from ._dask import ClusterLostError
from ._dask import local_client as local_client
from ._fit import fit, select_n_clusters, split
from ._fit import refitted as refitted
from ._predict import described_rows as described_rows
from ._predict import drawn_rows as drawn_rows
from ._predict import predict, predict_proba, score
from ._session import open_source as open_source

__all__ = [
    "ClusterLostError",
    "fit",
    "predict",
    "predict_proba",
    "read_rows",
    "score",
    "select_n_clusters",
    "split",
]
