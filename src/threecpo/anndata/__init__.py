"""Clusters of the cells of an AnnData, written back into it for scanpy."""

from ._clusters import cluster, model, predict, report, to_anndata, write

__all__ = ["cluster", "model", "predict", "report", "to_anndata", "write"]
