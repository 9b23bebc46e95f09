"""Matrices of AnnData or 10x on disk, in HDF5 or zarr: ranges of rows, by pointers.

Every block is read by a guarded process, of which each thread has its own: libhdf5 runs
nowhere else, and unpacks for all threads at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..._errors import DataFormatError
from .. import _anndata_elements as elements
from .._file_content import check_names
from .._tenx import matrix_file, read_cell_names
from .._tenx_hdf5 import open_tenx
from ..errors import block_errors
from ..guarded import open_hdf5, open_zarr
from ..limits import check_unpacked, limit_for, limit_of
from ..regular_files import check_regular
from ..zarr_folders import is_zarr, size_of_folder
from ._folder import of_files
from ._sorting import sorted_blocks
from .block_source import BlockSource, counts_of, largest_of, row_cuts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from ..._core.counts import Counts
    from ..guarded import Group
    from ._sorting import Entries


def _opened(path: Path, limit: int) -> AbstractContextManager[Group]:
    if path.is_dir():
        return open_zarr(path, limit)
    return open_hdf5(path, "anndata", "Reading h5ad files", limit)


def _limit(path: Path) -> int:
    if path.is_dir():
        return limit_for(size_of_folder(path))
    check_regular(path)
    return limit_of(path)


@dataclass(frozen=True)
class _Rows:
    """Rows of one matrix, between two row pointers if it is sparse."""

    path: Path
    location: str
    rows: tuple[int, int]
    n_columns: int
    limit: int
    # Columns that are read; all of them if None.
    taken: NDArray[np.int64] | None = None

    def __call__(self) -> Counts:
        with block_errors(self.path), _opened(self.path, self.limit) as file:
            element: Any = file
            for name in self.location.split("/"):
                element = element[name]
            start, stop = self.rows
            if elements.is_array(element):
                return counts_of(element[start:stop])
            indptr = element["indptr"][start : stop + 1].astype(np.int64)
            part = slice(int(indptr[0]), int(indptr[-1]))
            parts = (
                elements.numbers_of(element, "data", "biuf")[part],
                elements.numbers_of(element, "indices", "iu")[part],
                indptr - indptr[0],
            )
            block = sp.csr_array(parts, (stop - start, self.n_columns))
            if self.taken is None:
                return counts_of(block)
            # Selecting columns trusts indices.
            return counts_of(counts_of(block).matrix()[:, self.taken])


def of_anndata(
    path: Path, layer: str | None, block_counts: int, folder: Path
) -> BlockSource:
    """Choose the matrix as ``read_counts`` does and cut it into blocks.

    One that is stored by columns is sorted into blocks in this folder.
    """
    with block_errors(path):
        limit = _limit(path)
        with _opened(path, limit) as file:
            elements.check_anndata(file)
            matrix = elements.choose_matrix(file, layer)
            names = np.array(elements.frame_names(matrix.var), dtype=object)
            by_columns = _is_by_columns(matrix.element)
            ends, n_columns = _row_pointers(matrix.element, limit)
            _check_width(n_columns, names, matrix.called)
            layers = elements.layer_choices(file)
            if by_columns:
                files = _sorted(matrix.element, ends, block_counts, folder)
    hint = (
        f"{path}: X holds values that are not whole numbers; pass layer= with the raw "
        f"counts, one of {layers} ('X' takes X as it is)."
    )
    not_whole = None if matrix.asked else hint
    if by_columns:
        source = of_files(files, str(path))
        return replace(source, column_names=names, not_whole=not_whole)
    cuts = row_cuts(ends, block_counts)
    location = matrix.element.name.lstrip("/")
    readers = tuple(_Rows(path, location, cut, n_columns, limit) for cut in cuts)
    return BlockSource(
        readers,
        str(path),
        names,
        not_whole,
        largest_of(ends, cuts),
        n_stored=int(ends[-1]),
    )


def _check_width(n_columns: int, names: NDArray[np.object_], called: str) -> None:
    if n_columns != len(names):
        message = f"{called} has {n_columns} columns for {len(names)} names"
        raise DataFormatError(message)


def _is_by_columns(element: Any) -> bool:
    if elements.is_array(element):
        return False
    return elements.sparse_layout(element)[0] in ("csc_matrix", "csc")


def _sorted(
    element: Any, ends: NDArray[np.int64], block_counts: int, folder: Path
) -> list[Path]:
    """Sort a matrix that is stored by columns, some of these at a time."""
    _, shape = elements.sparse_layout(element)
    data = elements.numbers_of(element, "data", "biuf")
    indices = elements.numbers_of(element, "indices", "iu")

    def parts() -> Iterator[Entries]:
        for start, stop in row_cuts(ends, block_counts):
            part = slice(int(ends[start]), int(ends[stop]))
            rows = indices[part].astype(np.int64)
            if len(rows) and not 0 <= rows.min() <= rows.max() < shape[0]:
                message = f"its matrix has an index beyond its {shape[0]} rows"
                raise DataFormatError(message)
            columns = np.repeat(np.arange(start, stop), np.diff(ends[start : stop + 1]))
            yield rows, columns, data[part].astype(np.float64)

    n_blocks = -(-int(ends[-1]) // block_counts)
    return sorted_blocks(parts(), shape, n_blocks, folder, None)


def read_row_labels(path: Path, column: str) -> list[str | None]:
    """Read a column of the rows of an AnnData on disk; the counts stay there.

    Parameters
    ----------
    path : path-like
        A file ``.h5ad``, or an AnnData as zarr.
    column : str
        Column of ``obs``.

    Returns
    -------
    list of str or None
        A label for each row, None where there is none.
    """
    path = Path(path)
    _check_has_rows(path)
    with block_errors(path), _opened(path, _limit(path)) as file:
        elements.check_anndata(file)
        found = elements.read_labels(file["obs"], [column])
    names, codes = found["label_names"], np.asarray(found["labels"]).tolist()
    return [None if code < 0 else str(names[code]) for code in codes]


def read_row_names(path: Path) -> list[str]:
    """Read the names of the rows of an AnnData or of 10x; the counts stay there.

    Parameters
    ----------
    path : path-like
        A file ``.h5ad`` or ``.h5``, an AnnData as zarr or a 10x folder.

    Returns
    -------
    list of str
        A name for each row.
    """
    path = Path(path)
    if path.suffix.lower() == ".h5":
        with block_errors(path), open_tenx(path, None, _limit(path)) as matrix:
            return elements.names_of(matrix.group, "barcodes")
    if path.is_dir() and not is_zarr(path):
        with block_errors(path):
            return read_cell_names(matrix_file(path))
    _check_has_rows(path)
    with block_errors(path), _opened(path, _limit(path)) as file:
        elements.check_anndata(file)
        return elements.frame_names(file["obs"])


def _check_has_rows(path: Path) -> None:
    """Refuse what has nothing but counts in its blocks."""
    if not is_zarr(path) and path.suffix.lower() != ".h5ad":
        message = (
            f"{path} has no columns beside the counts of its blocks; that is for h5ad "
            "and zarr. Pass batch= to threecpo.distributed.fit."
        )
        raise DataFormatError(message)


def _row_pointers(element: Any, limit: int) -> tuple[Any, int]:
    """Pointers, those of a full matrix too, and the number of columns."""
    if elements.is_array(element):
        elements.check_dense(element)
        check_unpacked(element.nbytes, limit)
        n_rows, n_columns = element.shape
        return np.arange(n_rows + 1, dtype=np.int64) * n_columns, int(n_columns)
    _, (n_rows, n_columns) = elements.sparse_layout(element)
    n_lines = n_columns if _is_by_columns(element) else n_rows
    return _pointers(element, n_lines, limit), n_columns


def of_tenx(path: Path, layer: str | None, block_counts: int) -> BlockSource:
    """Cut a 10x matrix in HDF5 into blocks of cells."""
    with block_errors(path):
        limit = _limit(path)
        with open_tenx(path, layer, limit) as matrix:
            ends = _pointers(matrix.group, matrix.shape[0], limit)
            cells = elements.names_of(matrix.group, "barcodes")
            check_names(cells, matrix.shape[0], "row")
    cuts = row_cuts(ends, block_counts)
    location, n_columns = matrix.group.name.lstrip("/"), matrix.shape[1]
    readers = tuple(
        _Rows(path, location, cut, n_columns, limit, matrix.taken) for cut in cuts
    )
    rows, columns = (np.array(names, dtype=object) for names in (cells, matrix.genes))
    about = None, largest_of(ends, cuts), rows, int(ends[-1])
    return BlockSource(readers, str(path), columns, *about)


def _pointers(element: Any, n_rows: int, limit: int) -> NDArray[np.int64]:
    """Row pointers of a sparse matrix, which must fit to its counts."""
    data, indices = (element[name] for name in ("data", "indices"))
    check_unpacked(data.nbytes + indices.nbytes, limit)
    ends = elements.numbers_of(element, "indptr", "iu")[:].astype(np.int64)
    if len(ends) != n_rows + 1 or (np.diff(ends) < 0).any() or ends[0] != 0:
        message = "its row pointers are damaged"
        raise DataFormatError(message)
    if ends[-1] > min(data.shape[0], indices.shape[0]):
        message = f"its row pointers end at {ends[-1]}, beyond its counts"
        raise DataFormatError(message)
    return ends
