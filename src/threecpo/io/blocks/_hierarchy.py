"""Matrices of AnnData on disk, as h5ad or zarr: ranges of rows, by their pointers."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..._errors import DataFormatError
from ..._extras import require
from .. import _h5ad
from ..errors import block_errors
from .block_source import BlockSource, counts_of, largest_of, row_cuts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..._core.counts import Counts


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if path.is_dir():
        zarr = require("zarr", "anndata", "Reading zarr folders")
        yield zarr.open_group(path, mode="r")
        return
    require("anndata", "anndata", "Reading h5ad files")
    import h5py

    with h5py.File(path, "r") as file:
        yield file


@dataclass(frozen=True)
class _Rows:
    """Rows of one matrix, between two row pointers if it is sparse."""

    path: Path
    location: str
    rows: tuple[int, int]
    n_columns: int

    def __call__(self) -> Counts:
        with block_errors(self.path), _opened(self.path) as file:
            element, (start, stop) = file[self.location], self.rows
            if hasattr(element, "shape"):
                return counts_of(np.asarray(element[start:stop]))
            indptr = np.asarray(element["indptr"][start : stop + 1])
            part = slice(int(indptr[0]), int(indptr[-1]))
            data = np.asarray(element["data"][part])
            indices = np.asarray(element["indices"][part])
            parts = (data, indices, indptr - indptr[0])
            return counts_of(sp.csr_array(parts, (stop - start, self.n_columns)))


def of_anndata(path: Path, layer: str | None, block_counts: int) -> BlockSource:
    """Choose the matrix as ``read_counts`` does and cut it into blocks."""
    with block_errors(path), _opened(path) as file:
        if "obs" not in file or "var" not in file:
            message = "it is no AnnData, as it lacks obs or var"
            raise DataFormatError(message)
        matrix = _h5ad.choose_matrix(file, layer)
        element = matrix.element
        names = np.array(_names(matrix.var), dtype=object)
        ends, n_columns = _row_pointers(element)
        if n_columns != len(names):
            message = f"{matrix.called} has {n_columns} columns for {len(names)} names"
            raise DataFormatError(message)
        cuts = row_cuts(ends, block_counts)
        location = str(element.name).lstrip("/")
        layers = _h5ad.layer_choices(file)
    hint = (
        f"{path}: X holds values that are not whole numbers; pass layer= with the raw "
        f"counts, one of {layers} ('X' takes X as it is)."
    )
    readers = tuple(_Rows(path, location, cut, n_columns) for cut in cuts)
    return BlockSource(
        readers,
        str(path),
        names,
        None if matrix.asked else hint,
        largest_of(ends, cuts),
    )


def _names(frame: Any) -> list[str]:
    """Names of var, in either kind of file."""
    if type(frame).__module__.startswith("h5py"):
        return _h5ad.frame_names(frame)
    from anndata.io import read_elem

    return [str(name) for name in read_elem(frame[frame.attrs["_index"]])]


def _row_pointers(element: Any) -> tuple[Any, int]:
    """Row pointers, those of a full matrix too, and the number of columns."""
    if hasattr(element, "shape"):
        if len(element.shape) != 2 or element.dtype.kind not in "biuf":
            message = f"its matrix is {element.dtype} of shape {element.shape}"
            raise DataFormatError(message)
        n_rows, n_columns = element.shape
        return np.arange(n_rows + 1, dtype=np.int64) * n_columns, int(n_columns)
    kind = element.attrs.get("encoding-type", element.attrs.get("h5sparse_format"))
    if kind not in ("csr_matrix", "csr"):
        message = (
            f"its matrix is stored as {kind}, which has no rows to read one by one; "
            "store it as CSR (adata.X = adata.X.tocsr())"
        )
        raise DataFormatError(message)
    shape = element.attrs.get("shape", element.attrs.get("h5sparse_shape"))
    ends = np.asarray(element["indptr"][:]).astype(np.int64)
    if len(ends) != int(shape[0]) + 1 or (np.diff(ends) < 0).any() or ends[0] != 0:
        message = "its row pointers are damaged"
        raise DataFormatError(message)
    return ends, int(shape[1])
