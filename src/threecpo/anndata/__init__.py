"""Clusters of the cells of an AnnData, written back into it for scanpy."""

from ._fitting import cluster, predict
from ._model import model, report, to_anndata, write

__all__ = ["cluster", "model", "predict", "report", "to_anndata", "write"]
