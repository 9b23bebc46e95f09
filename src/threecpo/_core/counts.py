"""Counts as one canonical CSR structure, cut into row blocks by the data alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

BLOCK_COUNTS = 1 << 16
MAX_BLOCKS = 32
EXACT = 2.0**53


@dataclass(frozen=True)
class Counts:
    """Rows of stored counts: sorted columns, no duplicates, no stored zeros."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]
    n_columns: int

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def fractional(self) -> bool:
        """Whether some value is not a whole number."""
        parts = _parts(self.data)
        return not all(np.array_equal(part, np.floor(part)) for part in parts)

    @cached_property
    def whole(self) -> bool:
        """Whether every sum of counts is exact in float64, in any order."""
        return not self.fractional and float(self.data.sum()) < EXACT

    @cached_property
    def blocks(self) -> list[tuple[int, int]]:
        """Row ranges of about equal numbers of stored counts."""
        return cut_rows(self.indptr, min(MAX_BLOCKS, len(self.data) // BLOCK_COUNTS))

    def matrix(self) -> sp.csr_array:
        """Return the same memory as a scipy array."""
        # scipy copies the column indices where the row pointers are of a wider type.
        small = len(self.data) <= np.iinfo(np.int32).max
        indptr = self.indptr.astype(np.int32) if small else self.indptr
        shape = (self.n_rows, self.n_columns)
        return sp.csr_array((self.data, self.indices, indptr), shape=shape)

    def columns(self, mask: NDArray[np.bool_]) -> Counts:
        """Return the counts of these columns alone."""
        if mask.all():
            return self
        part = self.matrix()[:, np.flatnonzero(mask)]
        return Counts(
            part.indptr.astype(np.int64), part.indices, part.data, part.shape[1]
        )

    def rows(self, chosen: NDArray[np.int64]) -> Counts:
        """Return a copy of these rows."""
        lengths = self.indptr[chosen + 1] - self.indptr[chosen]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        shift = np.repeat(self.indptr[chosen] - indptr[:-1], lengths)
        places = np.arange(indptr[-1]) + shift
        return Counts(indptr, self.indices[places], self.data[places], self.n_columns)

    def between(self, start: int, stop: int) -> Counts:
        """Return a range of rows, in the same memory."""
        indptr = self.indptr[start : stop + 1]
        part = slice(indptr[0], indptr[-1])
        own = indptr - indptr[0]
        return Counts(own, self.indices[part], self.data[part], self.n_columns)

    def row_lengths(self, order: int) -> NDArray[np.float64]:
        """Sum of each row (order 1) or its Euclidean length (order 2)."""
        powers = self.data if order == 1 else self.data**2
        sums = np.zeros(self.n_rows)
        filled = np.diff(self.indptr) > 0
        if filled.any():
            sums[filled] = np.add.reduceat(powers, self.indptr[:-1][filled])
        return sums if order == 1 else np.sqrt(sums)

    def scaled(self, order: int) -> Counts:
        """Return rows divided by their sums (order 1) or lengths (order 2)."""
        lengths = np.repeat(self.row_lengths(order), np.diff(self.indptr))
        return replace(self, data=self.data / lengths)


def cut_rows(indptr: NDArray[np.int64], n_blocks: int) -> list[tuple[int, int]]:
    """Row ranges of about equal numbers of stored counts, at most so many."""
    stored, n_rows = int(indptr[-1]), len(indptr) - 1
    n_blocks = max(1, min(n_blocks, n_rows))
    inner = np.searchsorted(indptr, np.linspace(0, stored, n_blocks + 1)[1:-1])
    bounds = np.unique(np.concatenate([[0], inner, [n_rows]]))
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def from_sparse(matrix: Any) -> Counts:
    """Make counts of a scipy matrix; copies only what is not canonical yet.

    Values are cast first, as narrow types would wrap round where duplicates add up, and
    stand in a new wrapper, so that flags and repairs never reach the caller's matrix.
    """
    shape = matrix.shape
    if matrix.format in ("csr", "csc"):
        stored = int(matrix.indptr[-1])
        data = matrix.data[:stored].astype(np.float64, copy=False)
        parts = (data, matrix.indices[:stored], matrix.indptr)
        kind = sp.csr_array if matrix.format == "csr" else sp.csc_array
        own = kind(parts, shape=shape).tocsr()
    else:
        coo = matrix.tocoo()
        places = (coo.coords[0], coo.coords[1])
        own = sp.coo_array((coo.data.astype(np.float64), places), shape=shape).tocsr()
    if not own.has_canonical_format:
        own = own.copy()
        own.sum_duplicates()
    if np.count_nonzero(own.data) < len(own.data):
        own = own.copy()
        own.eliminate_zeros()
    return Counts(
        indptr=np.ascontiguousarray(own.indptr, dtype=np.int64),
        indices=np.ascontiguousarray(own.indices, dtype=np.int32),
        data=np.ascontiguousarray(own.data),
        n_columns=shape[1],
    )


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


def stacked(parts: Sequence[Counts]) -> Counts:
    """Rows of several counts below each other."""
    ends = np.cumsum([0, *(len(part.data) for part in parts)])
    return Counts(
        indptr=np.concatenate(
            [[0], *(p.indptr[1:] + end for p, end in zip(parts, ends, strict=False))]
        ).astype(np.int64),
        indices=np.concatenate([part.indices for part in parts]),
        data=np.concatenate([part.data for part in parts]),
        n_columns=parts[0].n_columns,
    )


def first_bad_entry(counts: Counts) -> tuple[int, int, float] | None:
    """Row, column and value of the first entry that is no finite count."""
    start = 0
    for part in _parts(counts.data):
        bad = ~(np.isfinite(part) & (part >= 0))
        if bad.any():
            at = start + int(np.argmax(bad))
            row = int(np.searchsorted(counts.indptr, at, side="right")) - 1
            return row, int(counts.indices[at]), float(counts.data[at])
        start += len(part)
    return None


def _parts(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Views of at most a million values, so that checks need little memory."""
    step = 1 << 20
    return [values[i : i + step] for i in range(0, len(values), step)]
