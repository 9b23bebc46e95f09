"""The scverse door: clusters of the cells of an AnnData, written back into it."""

from ._fitting import cluster, predict
from ._results import to_anndata
from ._stored_model import model, report

__all__ = ["cluster", "model", "predict", "report", "to_anndata"]
