"""Matrices of HDF5 and zarr, sparse or full, as rows of stored counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._errors import DataFormatError
from .hierarchies import attribute, check, is_array, numbers_of, opened, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Items = Iterator[tuple[str, Any]]

_BY_ROWS = {"csr_matrix": True, "csr": True, "csc_matrix": False, "csc": False}
# Bytes of a stored count in memory, with its column.
_OF_COUNT = 12


def shape_of(matrix: Any) -> tuple[tuple[int, int], bool]:
    """Rows and columns, and whether it is stored by rows."""
    if is_array(matrix):
        if len(matrix.shape) != 2 or matrix.dtype.kind not in "biuf":
            message = f"its matrix is {matrix.dtype} of shape {matrix.shape}, no table"
            raise DataFormatError(message)
        n_rows, n_columns = map(int, matrix.shape)
        return (n_rows, n_columns), True
    kind = attribute(matrix, "encoding-type", "h5sparse_format")
    shape = attribute(matrix, "shape", "h5sparse_shape")
    if not isinstance(kind, str) or kind not in _BY_ROWS:
        message = f"its matrix is stored as {kind!r}, which is not a table"
        raise DataFormatError(message)
    try:
        n_rows, n_columns = (int(size) for size in shape)
    except (TypeError, ValueError):
        message = f"its matrix has shape {shape!r}"
        raise DataFormatError(message) from None
    return (n_rows, n_columns), _BY_ROWS[kind]


def all_counts(matrix: Any, limit: int) -> Items:
    """All of a matrix: ``indices`` and ``data`` in pieces, and ``indptr``.

    Of a full matrix ``lengths`` come in place of pointers, and sizes are not known.
    """
    if is_array(matrix):
        check(matrix.dtype.itemsize * int(np.prod(matrix.shape, dtype=object)), limit)
        yield from _rows_of_full(matrix, 0, matrix.shape[0])
        return
    data, indices = (
        numbers_of(matrix, "data", "biuf"),
        numbers_of(matrix, "indices", "iu"),
    )
    sizes = {"data": [data.shape, "<f8"], "indices": [indices.shape, "<i4"]}
    check(8 * data.shape[0] + 4 * indices.shape[0], limit)
    yield "sizes", sizes
    yield "indptr", pointers_of(matrix, limit)
    yield from (("indices", _places(part)) for part in pieces(indices))
    yield from (("data", narrow(part)) for part in pieces(data))


def pointers_of(matrix: Any, limit: int) -> NDArray[np.int64]:
    """Pointers of a sparse matrix, which nobody has looked at yet."""
    array = numbers_of(matrix, "indptr", "iu")
    check(8 * array.shape[0], limit)
    return np.concatenate([np.zeros(0, np.int64), *pieces(array)]).astype(np.int64)


def _rows_of_full(matrix: Any, start: int, stop: int) -> Items:
    for part in pieces(matrix, start, stop):
        rows, columns = np.nonzero(part)
        yield "lengths", np.bincount(rows, minlength=len(part))
        yield "indices", columns.astype(np.int32)
        yield "data", narrow(part[rows, columns])


def _places(indices: NDArray[Any]) -> NDArray[np.int32]:
    if indices.size and not 0 <= indices.min() <= indices.max() <= 2**31 - 1:
        message = "its matrix is damaged: it has indices outside of any matrix"
        raise DataFormatError(message)
    return indices.astype(np.int32, copy=False)


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in fewer bytes where all are small: that is faster to send."""
    if values.dtype.kind == "b" or not values.size:
        return values.astype(np.uint8)
    small = values.astype(np.uint8)
    return small if np.array_equal(small, values) else values


def read_rows(
    path: str, limit: int, place: str, cuts: Sequence[tuple[int, int]]
) -> Items:
    """Rows of a matrix, from row to row as ``cuts`` say, one block after the other.

    Of each block: ``lengths`` of its rows, ``indices`` and ``data`` in pieces, and
    its number as ``block`` at the end.
    """
    matrix = opened(path)[place]
    full = is_array(matrix)
    ends = None if full else pointers_of(matrix, limit)
    if ends is not None:
        numbers = (
            numbers_of(matrix, "data", "biuf"),
            numbers_of(matrix, "indices", "iu"),
        )
        if ends.max(initial=0) > min(array.shape[0] for array in numbers):
            message = f"its row pointers end at {ends.max()}, beyond its counts"
            raise DataFormatError(message)
    for number, (start, stop) in enumerate(cuts):
        if ends is None:
            yield from _rows_of_full(matrix, start, stop)
        else:
            first, last = int(ends[start]), int(ends[stop])
            yield "lengths", np.diff(ends[start : stop + 1])
            parts = pieces(numbers_of(matrix, "indices", "iu"), first, last)
            yield from (("indices", _places(part)) for part in parts)
            parts = pieces(numbers_of(matrix, "data", "biuf"), first, last)
            yield from (("data", narrow(part)) for part in parts)
        yield "block", number
