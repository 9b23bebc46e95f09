"""Counts made of matrices and arrays, checked before loops follow their indices.

Arrays of a sparse matrix may contradict each other or its shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .counts import Counts

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

MOST_COLUMNS = np.iinfo(np.int32).max


def from_sparse(matrix: Any) -> Counts:
    """Make counts of a scipy matrix, inspected first, which stays as it is."""
    from .loops.records import ODD_VALUES, POINTERS, UNSORTED, inspect

    if len(matrix.shape) != 2:
        message = f"X has {len(matrix.shape)} dimensions; a table has two."
        raise ValueError(message)
    if matrix.dtype.kind not in "biuf":
        message = f"X holds values of type {matrix.dtype}, not counts."
        raise ValueError(message)
    if matrix.shape[1] > MOST_COLUMNS:
        message = f"X has {matrix.shape[1]} columns, more than {MOST_COLUMNS}."
        raise ValueError(message)
    if matrix.format not in ("csr", "csc"):
        matrix = _csr_of_entries(plain_format(matrix))
    check_compressed(matrix)
    by_row, stored = matrix.format == "csr", int(matrix.indptr[-1])
    indptr = _plain(matrix.indptr, np.int64)
    indices = _plain(matrix.indices[:stored], np.int32)
    # Narrow types would wrap round where duplicates add up.
    data = _plain(matrix.data[:stored], np.float64)
    n_indexed = matrix.shape[1 if by_row else 0]
    flags = inspect(indptr, indices, data, n_indexed)
    if flags & POINTERS:
        check_pointers(matrix)
    if flags & ~ODD_VALUES:
        check_indices(matrix)
    odd = bool(flags & ODD_VALUES)
    zeros = odd and np.count_nonzero(data) < stored
    given = Counts(indptr, indices, data, n_indexed, odd)
    if by_row and not (flags & UNSORTED or zeros):
        return given
    return _repaired(given, by_row=by_row)


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


def _csr_of_entries(coo: Any) -> sp.csr_array:
    """Rows of a matrix of entries; entries of the same place are added."""
    from scipy.sparse import coo_array

    rows, columns = coo.coords
    check_coordinates(rows, columns, coo.data, coo.shape)
    entries = (coo.data.astype(np.float64), (rows, columns))
    return coo_array(entries, shape=coo.shape).tocsr()


def _repaired(given: Counts, *, by_row: bool) -> Counts:
    """Counts of arrays that are safe to follow but by columns or not canonical."""
    from scipy.sparse import csc_array, csr_array

    kind = csr_array if by_row else csc_array
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
    from scipy.sparse import csr_array, vstack

    n_rows, n_columns = array.shape
    step = max(1, cells // max(1, n_columns))
    parts = [
        csr_array(array[i : i + step].astype(np.float64, copy=False))
        for i in range(0, max(1, n_rows), step)
    ]
    rows = vstack(parts, format="csr")
    return Counts(
        indptr=rows.indptr.astype(np.int64),
        indices=rows.indices.astype(np.int32, copy=False),
        data=rows.data,
        n_columns=n_columns,
    )


class DamagedMatrixError(ValueError):
    """A sparse matrix whose arrays contradict each other or its shape."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"X is a damaged sparse matrix: {reason}; build it again from its entries."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason,)


def check_compressed(matrix: Any) -> None:
    """Refuse pointers and indices that loops would follow out of the arrays.

    Compares lengths, the ends of the pointers and, while they still have 64 bits, the
    indices; ``inspect`` does the rest.
    """
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    _check_arrays(indptr=indptr, indices=indices)
    if np.ndim(data) != (3 if matrix.format == "bsr" else 1):
        _refuse(f"its values have {np.ndim(data)} dimensions")
    (pointed, n_pointed), (indexed, _) = _axes(matrix)
    if len(indptr) != n_pointed + 1:
        _refuse(f"it has {len(indptr)} {pointed} pointers for {n_pointed} {pointed}s")
    if indptr[0] != 0:
        _refuse(f"its {pointed} pointers start at {indptr[0]}, not at 0")
    if not 0 <= indptr[-1] <= min(len(indices), len(data)):
        _refuse(
            f"its {pointed} pointers end at {indptr[-1]}, but it has {len(indices)} "
            f"{indexed} indices and {len(data)} values"
        )
    if indices.dtype != np.int32 or matrix.format == "bsr":
        check_indices(matrix)


def check_indices(matrix: Any) -> None:
    """Refuse indices outside the shape, and say where the first of them is."""
    (pointed, _), (indexed, bound) = _axes(matrix)
    at = _first_outside(matrix.indices[: matrix.indptr[-1]], bound)
    if at is not None:
        where = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        _refuse(
            f"{pointed} {where} has a count in {indexed} {matrix.indices[at]}, "
            f"but there are {bound} {indexed}s"
        )


def check_pointers(matrix: Any) -> None:
    """Refuse pointers that fall, and say where."""
    falls = np.flatnonzero(matrix.indptr[1:] < matrix.indptr[:-1])
    if len(falls):
        (pointed, _), _ = _axes(matrix)
        _refuse(f"its {pointed} pointers decrease after {pointed} {falls[0]}")


def check_coordinates(rows: Any, columns: Any, data: Any, shape: Any) -> None:
    """Refuse entries outside the shape."""
    _check_arrays(rows=rows, columns=columns)
    if np.ndim(data) != 1 or not len(rows) == len(columns) == len(data):
        _refuse(
            f"it has {len(rows)} rows and {len(columns)} columns for "
            f"{np.size(data)} values"
        )
    axes = zip(("row", "column"), (rows, columns), shape, strict=True)
    for name, places, size in axes:
        if (at := _first_outside(places, size)) is not None:
            _refuse(
                f"entry {at} lies in {name} {places[at]}, but there are {size} {name}s"
            )


def _first_outside(places: Any, bound: int) -> int | None:
    """Where the first place is that is not from 0 to below a bound."""
    if not len(places) or (places.min() >= 0 and places.max() < bound):
        return None
    return int(np.argmax((places < 0) | (places >= bound)))


def check_lists(matrix: Any) -> None:
    """Refuse a matrix of lists where a row has other numbers of columns and values."""
    columns, values = (list(map(len, each)) for each in (matrix.rows, matrix.data))
    if len(columns) != matrix.shape[0] or columns != values:
        _refuse("a row has different numbers of column indices and values")


def check_diagonals(matrix: Any) -> None:
    """Refuse a matrix of diagonals whose offsets are others than its diagonals."""
    offsets, data = matrix.offsets, matrix.data
    _check_arrays(offsets=offsets)
    if np.ndim(data) != 2 or len(data) != len(offsets):
        _refuse(f"it has {len(offsets)} offsets for diagonals of shape {data.shape}")
    if len(np.unique(offsets)) < len(offsets):
        _refuse("some of its offsets are duplicates")


def _check_arrays(**arrays: Any) -> None:
    for name, array in arrays.items():
        whole = isinstance(array, np.ndarray) and array.dtype.kind in "iu"
        if not whole or array.ndim != 1:
            _refuse(f"its {name} are not a one-dimensional array of integers")


def _axes(matrix: Any) -> tuple[tuple[str, int], tuple[str, int]]:
    """What the pointers point to, what the indices number, and how many there are."""
    n_rows, n_columns = matrix.shape
    if matrix.format == "bsr":
        height, width = matrix.data.shape[1:]
        if not height or not width or n_rows % height or n_columns % width:
            _refuse(f"blocks of {height} x {width} do not fill {n_rows} x {n_columns}")
        return ("block row", n_rows // height), ("block column", n_columns // width)
    rows, columns = ("row", n_rows), ("column", n_columns)
    return (columns, rows) if matrix.format == "csc" else (rows, columns)


def _refuse(reason: str) -> NoReturn:
    raise DamagedMatrixError(reason)
