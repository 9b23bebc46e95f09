"""Counts made of matrices and arrays, checked before loops follow their indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .counts import Counts
from .inspection import (
    ODD_VALUES,
    POINTERS,
    UNSORTED,
    DamagedMatrixError,
    check_compressed,
    check_coordinates,
    check_diagonals,
    check_indices,
    check_lists,
    check_pointers,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_COLUMNS = np.iinfo(np.int32).max


def from_sparse(matrix: Any) -> Counts:
    """Make counts of a scipy matrix; copies only what is not canonical yet.

    The arrays are inspected before compiled code follows their indices. Flags and
    repairs never reach the caller's matrix.
    """
    _check_kind(matrix)
    if matrix.format not in ("csr", "csc"):
        matrix = _csr_of_entries(plain_format(matrix))
    given, canonical = _inspected(matrix)
    by_row = matrix.format == "csr"
    return given if by_row and canonical else _repaired(given, by_row=by_row)


def _inspected(matrix: Any) -> tuple[Counts, bool]:
    """Arrays of a compressed matrix that are safe to follow; whether canonical, too."""
    from .loops.inspection import inspect

    check_compressed(matrix)
    stored = int(matrix.indptr[-1])
    indptr = _plain(matrix.indptr, np.int64)
    indices = _plain(matrix.indices[:stored], np.int32)
    # Narrow types would wrap round where duplicates add up.
    data = _plain(matrix.data[:stored], np.float64)
    n_indexed = matrix.shape[1 if matrix.format == "csr" else 0]
    flags = inspect(indptr, indices, data, n_indexed)
    if flags & POINTERS:
        check_pointers(matrix)
    if flags & ~ODD_VALUES:
        check_indices(matrix)
    odd = bool(flags & ODD_VALUES)
    zeros = odd and np.count_nonzero(data) < stored
    canonical = not (flags & UNSORTED or zeros)
    return Counts(indptr, indices, data, n_indexed, odd), canonical


def plain_format(matrix: Any) -> Any:
    """Return a matrix in CSR, CSC or COO; other formats are checked and converted."""
    if matrix.format in ("csr", "csc", "coo"):
        return matrix
    if matrix.format == "bsr":
        check_compressed(matrix)
        check_pointers(matrix)
    elif matrix.format == "lil":
        check_lists(matrix)
    elif matrix.format == "dia":
        check_diagonals(matrix)
    try:
        return matrix.tocoo()
    except (ValueError, IndexError, OverflowError, TypeError) as error:
        raise DamagedMatrixError(str(error).rstrip(".")) from error


def _check_kind(matrix: Any) -> None:
    if len(matrix.shape) != 2:
        message = f"X has {len(matrix.shape)} dimensions; a table has two."
        raise ValueError(message)
    if matrix.dtype.kind not in "biuf":
        message = f"X holds values of type {matrix.dtype}, which are no counts."
        raise ValueError(message)
    if matrix.shape[1] > MOST_COLUMNS:
        message = f"X has {matrix.shape[1]} columns, more than {MOST_COLUMNS}."
        raise ValueError(message)


def _csr_of_entries(coo: Any) -> sp.csr_array:
    """Rows of a matrix of entries, of which those of the same place are added."""
    rows, columns = coo.coords
    check_coordinates(rows, columns, coo.data, coo.shape)
    entries = (coo.data.astype(np.float64), (rows, columns))
    return sp.coo_array(entries, shape=coo.shape).tocsr()


def _repaired(given: Counts, *, by_row: bool) -> Counts:
    """Counts of arrays that are safe to follow but by columns or not canonical."""
    kind = sp.csr_array if by_row else sp.csc_array
    shape = given.shape if by_row else given.shape[::-1]
    small = len(given.data) <= np.iinfo(np.int32).max
    indptr = given.indptr.astype(np.int32) if small else given.indptr
    own = kind((given.data, given.indices, indptr), shape=shape).tocsr()
    if not own.has_canonical_format:
        own = own.copy()
        own.sum_duplicates()
    if np.count_nonzero(own.data) < len(own.data):
        own = own.copy()
        own.eliminate_zeros()
    return Counts(
        indptr=own.indptr.astype(np.int64),
        indices=_plain(own.indices, np.int32),
        data=_plain(own.data, np.float64),
        n_columns=shape[1],
        # Sums of duplicates may go beyond what is exact.
        odd_values=given.odd_values or len(own.data) < len(given.data),
    )


def _plain(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return an array as loops take it; the same memory wherever that is possible."""
    return np.require(np.asarray(array), dtype, ["C", "A"])


def from_dense(array: NDArray[Any], cells: int = 1 << 20) -> Counts:
    """Make counts of a dense array, in memory or on disk, some cells at a time."""
    n_rows, n_columns = array.shape
    step = max(1, cells // max(1, n_columns))
    parts = [
        sp.csr_array(array[i : i + step].astype(np.float64, copy=False))
        for i in range(0, max(1, n_rows), step)
    ]
    return Counts(
        indptr=np.concatenate(
            [[0], np.cumsum(np.concatenate([np.diff(p.indptr) for p in parts]))]
        ).astype(np.int64),
        indices=np.concatenate([p.indices for p in parts]).astype(np.int32),
        data=np.concatenate([p.data for p in parts]),
        n_columns=n_columns,
    )
