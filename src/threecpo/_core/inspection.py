"""Sparse matrices whose arrays lie: what is checked before loops trust them."""

from __future__ import annotations

from typing import Any

import numpy as np

EXACT = 2.0**53

# What the compiled look may find; several of them are added up.
POINTERS, OUTSIDE, UNSORTED, ODD_VALUES = 1, 2, 4, 8


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
    pointed, indexed = _axes(matrix)
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    _check_arrays(indptr=indptr, indices=indices)
    if np.ndim(data) != (3 if matrix.format == "bsr" else 1):
        reason = f"its values have {np.ndim(data)} dimensions"
        raise DamagedMatrixError(reason)
    n_pointed, _ = _sizes(matrix)
    if len(indptr) != n_pointed + 1:
        reason = f"it has {len(indptr)} {pointed} pointers for {n_pointed} {pointed}s"
        raise DamagedMatrixError(reason)
    if indptr[0] != 0:
        reason = f"its {pointed} pointers start at {indptr[0]}, not at 0"
        raise DamagedMatrixError(reason)
    if not 0 <= indptr[-1] <= min(len(indices), len(data)):
        reason = (
            f"its {pointed} pointers end at {indptr[-1]}, but it has {len(indices)} "
            f"{indexed} indices and {len(data)} values"
        )
        raise DamagedMatrixError(reason)
    if indices.dtype != np.int32 or matrix.format == "bsr":
        check_indices(matrix)


def check_indices(matrix: Any) -> None:
    """Refuse indices outside the shape, and say where the first of them is."""
    pointed, indexed = _axes(matrix)
    indices = matrix.indices[: matrix.indptr[-1]]
    bound = _sizes(matrix)[1]
    if not len(indices) or (indices.min() >= 0 and indices.max() < bound):
        return
    at = int(np.argmax((indices < 0) | (indices >= bound)))
    where = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    reason = (
        f"{pointed} {where} has a count in {indexed} {indices[at]}, "
        f"but there are {bound} {indexed}s"
    )
    raise DamagedMatrixError(reason)


def check_pointers(matrix: Any) -> None:
    """Refuse pointers that fall, and say where."""
    pointed, _ = _axes(matrix)
    falls = np.flatnonzero(matrix.indptr[1:] < matrix.indptr[:-1])
    if len(falls):
        reason = f"its {pointed} pointers fall behind {pointed} {falls[0]}"
        raise DamagedMatrixError(reason)


def check_coordinates(rows: Any, columns: Any, data: Any, shape: Any) -> None:
    """Refuse entries outside the shape."""
    _check_arrays(rows=rows, columns=columns)
    if np.ndim(data) != 1 or not len(rows) == len(columns) == len(data):
        reason = (
            f"it has {len(rows)} rows and {len(columns)} columns for "
            f"{np.size(data)} values"
        )
        raise DamagedMatrixError(reason)
    axes = zip(("row", "column"), (rows, columns), shape, strict=True)
    for name, places, size in axes:
        if len(places) and not (places.min() >= 0 and places.max() < size):
            at = int(np.argmax((places < 0) | (places >= size)))
            reason = (
                f"entry {at} lies in {name} {places[at]}, but there are {size} {name}s"
            )
            raise DamagedMatrixError(reason)


def check_lists(matrix: Any) -> None:
    """Refuse a matrix of lists where a row has other numbers of columns and values."""
    lengths = ([len(row) for row in lists] for lists in (matrix.rows, matrix.data))
    columns, values = lengths
    if len(columns) != matrix.shape[0] or columns != values:
        reason = "a row has other numbers of column indices and of values"
        raise DamagedMatrixError(reason)


def check_diagonals(matrix: Any) -> None:
    """Refuse a matrix of diagonals whose offsets are others than its diagonals."""
    offsets, data = matrix.offsets, matrix.data
    _check_arrays(offsets=offsets)
    if np.ndim(data) != 2 or len(data) != len(offsets):
        reason = f"it has {len(offsets)} offsets for diagonals of shape {data.shape}"
        raise DamagedMatrixError(reason)
    if len(np.unique(offsets)) < len(offsets):
        reason = "some of its offsets are the same"
        raise DamagedMatrixError(reason)


def _check_arrays(**arrays: Any) -> None:
    for name, array in arrays.items():
        whole = isinstance(array, np.ndarray) and array.dtype.kind in "iu"
        if not whole or array.ndim != 1:
            reason = f"its {name} are no row of whole numbers"
            raise DamagedMatrixError(reason)


def _axes(matrix: Any) -> tuple[str, str]:
    """What the pointers point to, and what the indices number."""
    if matrix.format == "bsr":
        return "block row", "block column"
    return ("column", "row") if matrix.format == "csc" else ("row", "column")


def _sizes(matrix: Any) -> tuple[int, int]:
    """Numbers of what is pointed to and of what is indexed."""
    n_rows, n_columns = matrix.shape
    if matrix.format == "bsr":
        height, width = matrix.data.shape[1:]
        if not height or not width or n_rows % height or n_columns % width:
            reason = f"blocks of {height} x {width} do not fill {n_rows} x {n_columns}"
            raise DamagedMatrixError(reason)
        return n_rows // height, n_columns // width
    return (n_columns, n_rows) if matrix.format == "csc" else (n_rows, n_columns)
