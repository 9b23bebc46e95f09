"""Matrices of AnnData or 10x on disk, in HDF5 or zarr, as streams of rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..._core.matrices import from_sparse
from ..._errors import DataFormatError
from .._file_content import check_names
from .._h5ad import labels_found
from .._tenx import gene_names, matrix_file, read_cell_names
from ..errors import block_errors
from ..isolated import anndata, gathered, isolated, matrices, tenx
from ..zarr_folders import is_zarr, limits_of
from ._sorting import sorted_blocks
from .block_source import row_cuts
from .store import RowStream

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from ..._core.counts import Counts
    from ._sorting import Entries
    from .store import Scratch

    # Lengths of some rows, or columns, and the indices and values in them.
    Lines = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


def of_anndata(
    path: Path, layer: str | None, block_counts: int, scratch: Scratch
) -> RowStream:
    """Choose the matrix as ``read_counts`` does; one by columns is sorted into rows."""
    with block_errors(path):
        found = _asked(anndata.describe, path, layer=layer)
        shape, names = tuple(found["shape"]), found["columns"]
        if shape[1] != len(names):
            what = f"{found['called']} has {shape[1]} columns"
            message = f"{what} for {len(names)} names"
            raise DataFormatError(message)
        ends = _pointers(found, shape)
    hint = (
        f"{path}: X holds values that are not whole numbers; pass layer= with the raw "
        f"counts, one of {found['layers']} ('X' takes X as it is)."
    )
    cuts, place = row_cuts(ends, block_counts), found["place"]
    if found["by_rows"]:
        blocks = _blocks(path, place, cuts, shape[1])
    else:
        entries = _entries(path, place, cuts, shape[0])
        sizes = int(ends[-1]), block_counts
        blocks = sorted_blocks(entries, shape, *sizes, scratch)
    not_whole = None if found["asked"] else hint
    columns = np.array(names, dtype=object)
    return RowStream(str(path), blocks, len(cuts), columns, None, not_whole)


def of_tenx(path: Path, layer: str | None, block_counts: int) -> RowStream:
    """Cells of a 10x matrix in HDF5."""
    with block_errors(path):
        found = _asked(tenx.describe, path, layer=layer)
        shape, taken = tuple(found["shape"]), found["taken"]
        ends = _pointers(found, shape)
        check_names(found["rows"], shape[0], "row")
    genes = np.array(gene_names(found["ids"], found["symbols"]), dtype=object)
    cuts = row_cuts(ends, block_counts)
    blocks = _blocks(path, found["place"], cuts, shape[1], taken)
    columns = genes if taken is None else genes[taken]
    cells = np.array(found["rows"], dtype=object)
    return RowStream(str(path), blocks, len(cuts), columns, cells)


def _asked(reader: Any, path: Path, **options: Any) -> dict[str, Any]:
    return gathered(isolated(reader, path, limits_of(path), _library(path), **options))


def _library(path: Path) -> str:
    return "zarr" if path.is_dir() else "h5py"


def _pointers(found: dict[str, Any], shape: tuple[int, int]) -> NDArray[np.int64]:
    """Where rows or columns end, in a full matrix, too."""
    n_lines, wide = shape if found["by_rows"] else shape[::-1]
    if "indptr" not in found:
        return np.arange(n_lines + 1, dtype=np.int64) * wide
    ends: NDArray[np.int64] = found["indptr"]
    if len(ends) != n_lines + 1 or (np.diff(ends) < 0).any() or ends[0] != 0:
        message = "its row pointers are damaged"
        raise DataFormatError(message)
    return ends


def _lines(path: Path, place: str, cuts: list[tuple[int, int]]) -> Iterator[Lines]:
    """Rows, or columns, between cuts."""
    names = ("lengths", "indices", "data")
    options = {"place": place, "cuts": cuts}
    limits, library = limits_of(path), _library(path)
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    for name, value in isolated(matrices.read_rows, path, limits, library, **options):
        if name in parts:
            parts[name].append(value)
            continue
        lengths, indices, data = (_joined(parts[name]) for name in names)
        yield lengths, indices, data


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Pieces as one array; the list is emptied."""
    joined = np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
    parts.clear()
    return joined


def _blocks(
    path: Path,
    place: str,
    cuts: list[tuple[int, int]],
    n_columns: int,
    taken: Sequence[int] | None = None,
) -> Generator[Counts]:
    """Rows between cuts, of these columns if not of all."""
    with block_errors(path):
        for lengths, indices, data in _lines(path, place, cuts):
            indptr = np.concatenate([[0], np.cumsum(lengths)])
            parts = (data, indices, indptr)
            counts = from_sparse(sp.csr_array(parts, (len(lengths), n_columns)))
            # Selecting columns trusts indices.
            chosen = None if taken is None else counts.matrix()[:, taken]
            yield counts if chosen is None else from_sparse(chosen)


def _entries(
    path: Path, place: str, cuts: list[tuple[int, int]], n_rows: int
) -> Iterator[Entries]:
    """Entries of a matrix that is stored by columns, some of these at a time."""
    with block_errors(path):
        lines = _lines(path, place, cuts)
        for (start, stop), (lengths, rows, data) in zip(cuts, lines, strict=True):
            if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
                message = f"its matrix has an index beyond its {n_rows} rows"
                raise DataFormatError(message)
            yield rows, np.repeat(np.arange(start, stop), lengths), data


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
    with block_errors(path):
        obs = _asked(anndata.read_obs, path, labels=[column])
        found = labels_found(obs, [column], "obs")
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
    with block_errors(path):
        if path.suffix.lower() == ".h5":
            names = _asked(tenx.describe, path, layer=None)["rows"]
        elif path.is_dir() and not is_zarr(path):
            names = read_cell_names(matrix_file(path))
        else:
            _check_has_rows(path)
            names = _asked(anndata.read_obs, path, labels=[])["rows"]
    return list(names)


def _check_has_rows(path: Path) -> None:
    """Refuse what has nothing but counts in its blocks."""
    if not is_zarr(path) and path.suffix.lower() != ".h5ad":
        message = (
            f"{path} has no columns beside the counts of its blocks; that is for h5ad "
            "and zarr. Pass batch= to threecpo.distributed.fit."
        )
        raise DataFormatError(message)
