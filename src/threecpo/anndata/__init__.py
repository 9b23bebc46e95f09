"""The scverse door: clusters of the cells of an AnnData, written back into it."""

from ._cluster import cluster
from ._from_table import to_anndata
from ._predict import predict
from ._report import report
from ._stored_model import model

__all__ = ["cluster", "model", "predict", "report", "to_anndata"]
