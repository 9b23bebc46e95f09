"""Entries of a matrix that come some at a time, in any order, to sparse rows.

They are kept in the narrowest types that hold them until all are there: rows and
columns of 64-bit counts take a third more than the rows that are made of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .limits import check_unpacked
from .sparse_rows import csr_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    import scipy.sparse as sp
    from numpy.typing import NDArray

    # Rows and columns from 0, and counts.
    Entries = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]

_OF_POINTER = 8


def to_rows(
    parts: Iterable[Entries], shape: tuple[int, int], limit: int
) -> sp.csr_array:
    """Rows of a matrix of this shape, which has all the entries.

    Those of a row stay in their order, and those of the same place stay apart. Pointers
    to the rows take so many bytes at most.
    """
    kept = _narrowed(parts, shape)
    check_unpacked(_OF_POINTER * sum(shape), limit)
    return _placed(kept, shape)


def _narrowed(
    parts: Iterable[Entries], shape: tuple[int, int]
) -> list[tuple[NDArray[np.generic], ...]]:
    of_row, of_column = (np.min_scalar_type(max(0, size - 1)) for size in shape)
    return [
        (rows.astype(of_row), columns.astype(of_column), _narrow_counts(counts))
        for rows, columns, counts in parts
    ]


def _narrow_counts(counts: NDArray[np.float64]) -> NDArray[np.generic]:
    """The same numbers in a type of fewer bytes, where there is one."""
    if not len(counts):
        return counts
    narrow = counts.astype(np.min_scalar_type(int(counts.max())))
    return narrow if np.array_equal(narrow, counts) else counts.copy()


def _placed(
    kept: list[tuple[NDArray[np.generic], ...]], shape: tuple[int, int]
) -> sp.csr_array:
    """Rows of entries, of which the list is emptied on the way."""
    from .._core.loops.entries import count_rows, place_entries

    indptr = np.zeros(shape[0] + 1, dtype=np.int64)
    for rows, _, _ in kept:
        count_rows(rows.astype(np.int32), indptr)
    np.cumsum(indptr, out=indptr)
    places, stored = indptr[:-1].copy(), int(indptr[-1])
    indices, data = np.empty(stored, dtype=np.int32), np.empty(stored)
    kept.reverse()
    while kept:
        rows, columns, counts = kept.pop()
        widened = (rows.astype(np.int32), columns.astype(np.int32))
        place_entries(*widened, counts.astype(np.float64), places, indices, data)
    return csr_rows(data, indices, indptr, shape)
