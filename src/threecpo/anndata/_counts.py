"""What is read from an AnnData: its counts, columns of ``obs``, the cells of a fit."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._extras import require

if TYPE_CHECKING:
    from anndata import AnnData
    from numpy.typing import NDArray

    from ..cluster import ThreeCPO
    from ..table import CountTable

_logger = logging.getLogger("threecpo.anndata")


def check_anndata(
    adata: Any, function: str, key_added: Any, *, written: bool = False
) -> None:
    """Refuse other types, an AnnData that cannot hold results, and bad keys."""
    anndata = require("anndata", "anndata", "threecpo.anndata")
    if not isinstance(adata, anndata.AnnData):
        message = (
            f"{function} takes an AnnData, not a {type(adata).__name__}; "
            "for other tables of counts use threecpo.ThreeCPO."
        )
        raise TypeError(message)
    if not isinstance(key_added, str) or not key_added:
        message = f"key_added={key_added!r} must be a name."
        raise ValueError(message)
    if written and adata.isbacked and adata.is_view:
        message = (
            "A view of a backed AnnData cannot hold results; "
            "pass adata[...].to_memory(), or copy=True."
        )
        raise ValueError(message)


def column_of(adata: AnnData, parameter: str, key: str) -> Any:
    """A column of ``obs``."""
    if key not in adata.obs:
        known = ", ".join(map(repr, adata.obs.columns)) or "no columns"
        message = f"{parameter}={key!r} is not a column of obs, which has {known}."
        raise ValueError(message)
    return adata.obs[key].to_numpy(dtype=object)


def counts_of(
    adata: AnnData, layer: str | None = None, *, use_raw: bool = False
) -> CountTable:
    """Table of the chosen matrix, which is logged; its name is the description."""
    from .._validation import check_counts
    from ..table import CountTable

    called, matrix, genes = _chosen(adata, layer, use_raw=use_raw)
    if matrix is None:
        message = f"{called} of this AnnData is empty; {_advice(adata)}"
        raise ValueError(message)
    counts = check_counts(_in_memory(matrix))
    if called == "X" and layer is None and counts.fractional:
        message = f"X contains values that are not integers; {_advice(adata)}"
        raise ValueError(message)
    _logger.info("Using the counts of adata.%s.", called)
    return CountTable(
        counts,
        row_names=adata.obs_names.astype(str),
        column_names=genes.astype(str),
        description=called,
    )


def _chosen(
    adata: AnnData, layer: str | None, *, use_raw: bool
) -> tuple[str, Any, Any]:
    """Name, values and genes of a matrix."""
    if use_raw and layer is not None:
        message = (
            f"use_raw=True and layer={layer!r} name two matrices; pass one of them."
        )
        raise ValueError(message)
    if use_raw and adata.raw is None:
        message = f"use_raw=True, but adata.raw is not set; {_advice(adata)}"
        raise ValueError(message)
    if use_raw:
        return "raw.X", adata.raw.X, adata.raw.var_names
    if layer is None and "counts" in adata.layers:
        layer = "counts"
    if layer in adata.layers:
        return f"layers[{layer!r}]", adata.layers[layer], adata.var_names
    if layer in (None, "X"):
        return "X", adata.X, adata.var_names
    message = f"There is no layer {layer!r} in this AnnData; {_advice(adata)}"
    raise ValueError(message)


def _advice(adata: AnnData) -> str:
    ways = [f"layer={name!r}" for name in adata.layers]
    ways += ["use_raw=True"] if adata.raw is not None else []
    if not ways:
        return "keep the counts in adata.layers['counts'], or pass layer='X' to use X."
    return f"pass {', '.join(ways)}, or layer='X' to use X as it is."


def counts_again(adata: AnnData, called: str) -> CountTable:
    """Table of the matrix that an earlier call has used."""
    layers = {f"layers[{name!r}]": name for name in adata.layers}
    if called in layers or called == "X":
        return counts_of(adata, layers.get(called, "X"))
    if called == "raw.X" and adata.raw is not None:
        return counts_of(adata, use_raw=True)
    message = f"{called}, which the clusters were made of, is not in this AnnData."
    raise ValueError(message)


def counts_of_fit(
    model: ThreeCPO, table: CountTable
) -> tuple[CountTable, NDArray[np.int64]]:
    """Counts of the cells and genes of a fit, and the place of each cell in a table."""
    from ..results import match_columns
    from ..table import CountTable

    cells = _cells_of_fit(model, table)
    genes: Any = model.record_.column_names
    matched = match_columns(genes, table)
    if matched.missing:
        message = (
            f"This AnnData lacks {len(matched.missing)} of the {len(genes)} genes that "
            "the model was fitted on; use the AnnData of the fit."
        )
        raise ValueError(message)
    if len(cells) == table.shape[0] and (np.diff(cells) == 1).all():
        return matched.table, cells
    counts = CountTable(
        matched.table.counts.rows(cells),
        row_names=model.record_.row_names,
        column_names=genes,
        description=table.description,
    )
    return counts, cells


def _cells_of_fit(model: ThreeCPO, table: CountTable) -> NDArray[np.int64]:
    """Place of each cell of a fit in a table that may have another order."""
    from ..table import find_columns

    fitted: Any = model.record_.row_names
    names: Any = table.row_names
    if list(names) == list(fitted):
        return np.arange(len(fitted))
    found = find_columns(fitted, names).places
    if (found < 0).any() or len({*names}) < len(names):
        message = (
            f"This AnnData has {int((found >= 0).sum())} of the {len(fitted)} cells "
            "that the model was fitted on, or duplicate cell names; use the AnnData of "
            "the fit."
        )
        raise ValueError(message)
    return found


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
