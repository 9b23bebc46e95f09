"""Which matrix of an AnnData holds the counts, and the table that it makes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anndata import AnnData

    from ..table import CountTable

_logger = logging.getLogger("threecpo.anndata")


class Matrix(NamedTuple):
    """A matrix of an AnnData, the names of its genes, and what it is called."""

    values: Any
    genes: Sequence[str]
    called: str
    asked: bool


def check_anndata(adata: Any, function: str, *, written: bool = False) -> None:
    """Refuse what is no AnnData, or one that cannot hold results."""
    anndata = require("anndata", "anndata", "threecpo.anndata")
    if not isinstance(adata, anndata.AnnData):
        message = (
            f"{function} takes an AnnData, not a {type(adata).__name__}; "
            "for other tables of counts use threecpo.ThreeCPO."
        )
        raise TypeError(message)
    if written and adata.isbacked and adata.is_view:
        message = (
            "A view of a backed AnnData cannot hold results; "
            "pass adata[...].to_memory(), or copy=True."
        )
        raise ValueError(message)


def check_key(name: str, key: Any) -> None:
    """Refuse what is no name of results."""
    if not isinstance(key, str) or not key:
        message = f"{name}={key!r} must be a name."
        raise ValueError(message)


def counts_of(adata: AnnData, layer: str | None) -> CountTable:
    """Table of the cells with the counts of the chosen matrix, which is logged.

    ``description`` is what the matrix is called.
    """
    from .._validation import check_counts
    from ..table import CountTable

    matrix = _chosen(adata, layer)
    if matrix.values is None:
        message = f"{matrix.called} of this AnnData is empty; {_advice(adata)}"
        raise ValueError(message)
    counts = check_counts(_in_memory(matrix.values))
    if not matrix.asked and counts.fractional:
        message = (
            f"{matrix.called} holds values that are not whole numbers; {_advice(adata)}"
        )
        raise ValueError(message)
    _logger.info("Taking the counts of adata.%s.", matrix.called)
    return CountTable(
        counts,
        row_names=adata.obs_names.astype(str),
        column_names=matrix.genes,
        description=matrix.called,
    )


def counts_called(adata: AnnData, called: str) -> CountTable:
    """Table of the matrix that an earlier call has taken."""
    layers = {f"layers[{name!r}]": name for name in adata.layers}
    layer = (layers | {"raw.X": "raw", "X": "X"}).get(called)
    if layer is None or (layer == "raw" and adata.raw is None):
        message = (
            f"{called}, which the clusters were made of, is not in this AnnData; "
            "keep it there for the report."
        )
        raise ValueError(message)
    return counts_of(adata, layer)


def _chosen(adata: AnnData, layer: str | None) -> Matrix:
    genes = adata.var_names.astype(str)
    if layer is None and "counts" in adata.layers:
        layer = "counts"
    if layer is not None and layer in adata.layers:
        return Matrix(adata.layers[layer], genes, f"layers[{layer!r}]", asked=True)
    if layer == "raw" and adata.raw is not None:
        of_raw = adata.raw.var_names.astype(str)
        return Matrix(adata.raw.X, of_raw, "raw.X", asked=True)
    if layer not in (None, "X"):
        message = (
            f"There is no layer {layer!r} in this AnnData; it has {_layers(adata)}."
        )
        raise ValueError(message)
    return Matrix(adata.X, genes, "X", asked=layer is not None)


def _layers(adata: AnnData) -> str:
    raw = ["raw"] if adata.raw is not None else []
    return ", ".join(map(repr, [*adata.layers, *raw])) or "none"


def _advice(adata: AnnData) -> str:
    layers = _layers(adata)
    others = f" (one of {layers})" if layers != "none" else ""
    return (
        f"pass layer= with the layer of the raw counts{others}, "
        "or layer='X' to use X as it is."
    )


def _in_memory(matrix: Any) -> Any:
    """The matrix itself, or what a file holds, sparse."""
    from .._core.matrices import from_dense

    if sp.issparse(matrix) or isinstance(matrix, np.ndarray):
        return matrix
    if hasattr(matrix, "to_memory"):
        return matrix.to_memory()
    if hasattr(matrix, "dask"):
        message = (
            "These counts are a Dask array; fit them with threecpo.ThreeCPO, "
            "or pass adata.to_memory()."
        )
        raise ValueError(message)
    return from_dense(matrix)
