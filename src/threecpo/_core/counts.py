"""Counts as one canonical CSR structure, cut into row blocks by the data alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .rows import NOTHING, RowInfo, read_only

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from .codes import Floats, Ints

# Whole numbers below this are exact.
EXACT = 2.0**53
BLOCK_COUNTS = 1 << 16
MAX_BLOCKS = 32
# Threads that share the rows of a pass have at least so many stored counts each.
SHARE_COUNTS = 1 << 18
# Most that a thread works on between two looks at whether it should stop.
RANGE_COUNTS = 1 << 24
# Beyond so many copies, or where weights are not whole numbers, rows are drawn in
# proportion to their weights.
MOST_COPIES = 1 << 24
# Sums of whole counts up to this are exact in half the digits.
LONGEST_ROW = 1 << 24
# Arrays that grow get this part of their size more than they need.
SPARE = 16


@dataclass(frozen=True)
class Counts:
    """Rows of stored counts: sorted columns, no duplicates, no stored zeros.

    The arrays are read-only, and loops trust them: ``from_sparse`` and ``from_dense``
    make counts of what comes from elsewhere. ``odd_values`` is False where it is known
    that all values are positive whole numbers below 2**53. ``row_info`` is what else
    belongs to the rows. ``column_weights`` (None for 1 each) say how much the
    likelihood of each column counts. ``transformed`` names the function of
    numpy that the values were made with, on purpose.
    """

    indptr: NDArray[np.int64]
    indices: Ints
    data: Floats
    n_columns: int
    odd_values: bool = field(default=True, repr=False, compare=False)
    row_info: RowInfo = NOTHING
    column_weights: Floats | None = None
    transformed: str = ""

    def __post_init__(self) -> None:
        for name in ("indptr", "indices", "data", "column_weights"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, read_only(array))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays come out of a pickle writeable.
        vars(self).update(state)
        self.__post_init__()

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_columns

    @cached_property
    def fractional(self) -> bool:
        """Whether some value is not a whole number."""
        if not self.odd_values:
            return False
        parts = some_at_a_time(self.data)
        return not all(np.array_equal(part, np.floor(part)) for part in parts)

    @cached_property
    def whole(self) -> bool:
        """Whether every sum of weighted counts is exact in float64, in any order."""
        if self.fractional or not self.whole_weights:
            return False
        heaviest = 1.0 if self.weights is None else self.weights.max(initial=1.0)
        return float(heaviest) * float(self.data.sum()) < EXACT

    @cached_property
    def longest(self) -> int:
        """Most stored counts of a row."""
        return int(np.diff(self.indptr).max(initial=0))

    @cached_property
    def short_rows(self) -> bool:
        """Whether all values are whole, and rows short enough for quick scores."""
        whole = not self.fractional
        return whole and float(self.row_lengths(1).max(initial=0.0)) < LONGEST_ROW

    @cached_property
    def whole_weights(self) -> bool:
        """Whether rows count whole numbers of times."""
        weights = self.weights
        return weights is None or np.array_equal(weights, np.floor(weights))

    @property
    def weights(self) -> Floats | None:
        """How often each row counts; None for once."""
        return self.row_info.weights

    @property
    def batches(self) -> Ints | None:
        """Number of each row's batch; None for one batch."""
        return self.row_info.batches

    @property
    def n_batches(self) -> int:
        return self.row_info.n_batches

    @property
    def known(self) -> Ints | None:
        """Known cluster of each row; None where none is known."""
        return self.row_info.known

    @property
    def n_known(self) -> int:
        """Number of clusters that somebody knows rows of."""
        return len(self.row_info.known_names)

    @property
    def total_weight(self) -> float:
        """Number of rows, each as often as it counts."""
        if self.weights is None:
            return self.n_rows
        total = float(self.weights.sum())
        return int(total) if self.whole_weights else total

    @property
    def n_copies(self) -> int:
        """Number of rows to draw from, each as often as its weight says."""
        few = self.whole_weights and self.total_weight <= MOST_COPIES
        return int(self.total_weight) if few else self.n_rows

    @cached_property
    def bad_entry(self) -> tuple[int, int, float] | None:
        """Row, column and value of the first entry that is not a finite count."""
        return first_bad_entry(self)

    @cached_property
    def checksum(self) -> int:
        """A number that other counts hardly ever have."""
        from .loops.records import checksum

        return int(checksum(self.indptr, self.indices, self.data.view(np.int64)))

    @cached_property
    def blocks(self) -> list[tuple[int, int]]:
        """Row ranges of about equal numbers of stored counts."""
        return cut_rows(self.indptr, min(MAX_BLOCKS, len(self.data) // BLOCK_COUNTS))

    def shares(self, n_jobs: int) -> list[tuple[int, int]]:
        """Row ranges for each of some threads, one where there is too little to do."""
        stored = len(self.data)
        n_jobs = max(1, min(n_jobs, stored // SHARE_COUNTS))
        return cut_rows(self.indptr, n_jobs * -(-stored // (n_jobs * RANGE_COUNTS)))

    def matrix(self) -> sp.csr_array:
        """Return the same memory as a scipy array."""
        from scipy.sparse import csr_array

        # scipy copies the column indices where the row pointers are of a wider type.
        small = len(self.data) <= np.iinfo(np.int32).max
        indptr = self.indptr.astype(np.int32) if small else self.indptr
        matrix = csr_array((self.data, self.indices, indptr), shape=self.shape)
        # Spares scipy the search, and repairs of what nobody may write to.
        matrix.has_canonical_format = True
        return matrix

    def values(self, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Return some of the stored values, as int64 if all counts are whole."""
        part = self.data[start:stop]
        return part.astype(np.int64) if self.whole else part

    def with_rows(self, info: RowInfo) -> Counts:
        """Return the same counts with what belongs to their rows."""
        return self if info is self.row_info else replace(self, row_info=info)

    def with_column_weights(self, weights: Floats | None) -> Counts:
        """Return the same counts with these weights of the columns."""
        if weights is self.column_weights:
            return self
        return replace(self, column_weights=weights)

    def transformed_by(self, function: str) -> Counts:
        """Return what a function of numpy makes of these counts, on purpose."""
        values = getattr(np, function)(self.data)
        return replace(self, data=values, odd_values=True, transformed=function)

    def whole_matrix(self) -> sp.csr_array:
        """Return a scipy array of int64 if all counts are whole, else ``matrix``."""
        matrix = self.matrix()
        if self.whole:
            parts = (self.values(), matrix.indices, matrix.indptr)
            matrix = type(matrix)(parts, shape=self.shape)
        return matrix

    def columns(self, mask: NDArray[np.bool_]) -> Counts:
        """Return the counts of these columns alone."""
        if mask.all():
            return self
        return self.reordered(np.flatnonzero(mask))

    def reordered(self, order: NDArray[np.intp]) -> Counts:
        """Return the counts with these columns, in this order."""
        part = self.matrix()[:, order]
        part.sort_indices()
        weights = self.column_weights
        return replace(
            self,
            indptr=part.indptr.astype(np.int64),
            indices=part.indices,
            data=part.data,
            n_columns=part.shape[1],
            column_weights=None if weights is None else weights[order],
        )

    def rows(self, chosen: NDArray[np.int64]) -> Counts:
        """Return a copy of these rows."""
        lengths = self.indptr[chosen + 1] - self.indptr[chosen]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        shift = np.repeat(self.indptr[chosen] - indptr[:-1], lengths)
        return self._part(indptr, np.arange(indptr[-1]) + shift, chosen)

    def between(self, start: int, stop: int) -> Counts:
        """Return a range of rows, in the same memory."""
        indptr = self.indptr[start : stop + 1]
        entries = slice(indptr[0], indptr[-1])
        return self._part(indptr - indptr[0], entries, slice(start, stop))

    def _part(self, indptr: NDArray[np.int64], entries: Any, rows: Any) -> Counts:
        """Return some of these rows, which have these entries."""
        return replace(
            self,
            indptr=indptr,
            indices=self.indices[entries],
            data=self.data[entries],
            row_info=self.row_info.take(rows),
        )

    def row_lengths(self, order: int) -> Floats:
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
        return replace(self, data=self.data / lengths, odd_values=True)


def cut_rows(indptr: NDArray[np.int64], n_blocks: int) -> list[tuple[int, int]]:
    """Row ranges of about equal numbers of stored counts, at most so many."""
    stored, n_rows = int(indptr[-1]), len(indptr) - 1
    n_blocks = max(1, min(n_blocks, n_rows))
    if n_blocks == 1 and n_rows:  # asked for before every pass
        return [(0, n_rows)]
    inner = np.searchsorted(indptr, np.linspace(0, stored, n_blocks + 1)[1:-1])
    bounds = np.unique(np.concatenate([[0], inner, [n_rows]]))
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


class RowStack:
    """Rows below each other, in arrays that grow in place: parts need not be kept."""

    def __init__(self, part: Counts) -> None:
        self._n_stored = len(part.data)
        self._indices, self._data = part.indices, part.data
        # What is known of each part, without its entries.
        self._parts = [replace(part, indices=np.empty(0, np.int32), data=np.empty(0))]

    def and_then(self, below: RowStack) -> RowStack:
        """Return this stack with the rows of another one below."""
        ours, more = self._n_stored, below._n_stored
        self._indices = _put_behind(self._indices, ours, below._indices[:more])
        self._data = _put_behind(self._data, ours, below._data[:more])
        self._n_stored += more
        self._parts += below._parts
        return self

    def counts(self) -> Counts:
        """Return the rows, in the memory of the stack, to which nothing is added."""
        parts, stop = self._parts, self._n_stored
        for array in (self._indices, self._data):
            if array.flags.owndata:
                array.resize(stop, refcheck=False)
        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        return Counts(
            indptr=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            indices=self._indices[:stop],
            data=self._data[:stop],
            n_columns=parts[0].n_columns,
            odd_values=any(part.odd_values for part in parts),
            row_info=RowInfo.stacked([part.row_info for part in parts]),
            column_weights=parts[0].column_weights,
            transformed=min(part.transformed for part in parts),
        )


def _put_behind(array: NDArray[Any], start: int, values: NDArray[Any]) -> NDArray[Any]:
    """Put values behind those before ``start``, in the same memory where it can be."""
    stop = start + len(values)
    if not array.flags.owndata:  # of the first part, which stays as it is
        array = array.copy()
    if stop > len(array):
        # Large arrays grow by moving pages: there are never two copies of them.
        array.resize(stop + stop // SPARE, refcheck=False)
    array[start:stop] = values
    return array


def first_bad_entry(
    counts: Counts, below: float = np.inf
) -> tuple[int, int, float] | None:
    """Row, column, value of the first entry that is not a count below 2**53 or more."""
    if not counts.odd_values:
        return None
    start = 0
    for part in some_at_a_time(counts.data):
        bad = ~((part >= 0) & (part < below))
        if bad.any():
            at = start + int(np.argmax(bad))
            row = int(np.searchsorted(counts.indptr, at, side="right")) - 1
            return row, int(counts.indices[at]), float(counts.data[at])
        start += len(part)
    return None


def some_at_a_time(values: Floats) -> list[Floats]:
    """Views of at most a million values, so that checks need little memory."""
    step = 1 << 20
    return [values[i : i + step] for i in range(0, len(values), step)]
