"""Where blocks of rows are read and worked on: the seam that every storage fills.

Work is a function of the number of a block and its counts. ``Engine.fold`` does it on
all blocks, wherever they are, and combines the results in the order of the blocks. A
first ``scan`` says whether they hold counts, and what they must not change.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from .._core.codes import NOWHERE, all_relevant
from .._core.counts import Counts, RowStack
from .._core.sums import Sums, sum_by_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .._core.rows import RowInfo
    from .._core.workers import Workers


T = TypeVar("T")
Reader = Callable[[], Counts]
Work = Callable[[int, Counts], T]


class Engine(Protocol):
    """Reads blocks and works on them."""

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        """Work on every block; combine the results in the order of the blocks."""
        ...


class ThreadEngine:
    """Blocks read and worked on by the threads of this process, one block each."""

    def __init__(self, readers: Sequence[Reader], workers: Workers) -> None:
        self._readers = readers
        self._workers = workers

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        def one(index: int) -> T:
            return work(index, self._readers[index]())

        release_freed_memory()
        # Work may write files, of a folder that goes away with an error.
        places = range(len(self._readers))
        with closing(self._workers.map(one, places, drain=True)) as found:
            return reduce(combine, found)


def release_freed_memory() -> None:
    """Let the system have what a sample took, which glibc keeps for later."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # not glibc
        return
    trim(0)


@dataclass(frozen=True, eq=False)
class RowReader:
    """Reads a block and gives its rows what belongs to them."""

    reader: Reader
    info: RowInfo

    @property
    def futures(self) -> Sequence[Any]:
        """What the reader itself needs on a Dask cluster."""
        return getattr(self.reader, "futures", ())

    def __call__(self) -> Counts:
        counts = self.reader()
        lengths = {len(array) for array in self.info.arrays().values()}
        # A block that has changed is found out elsewhere.
        return counts.with_rows(self.info) if lengths == {counts.n_rows} else counts


def readers_with(
    info: RowInfo, readers: Sequence[Reader], first_rows: NDArray[np.int64]
) -> Sequence[Reader]:
    """Readers of the same blocks with what belongs to their rows."""
    if not info.arrays():
        return readers
    firsts = first_rows.tolist()
    parts = zip(readers, firsts[:-1], firsts[1:], strict=True)
    return [RowReader(read, info.take(slice(a, b))) for read, a, b in parts]


@dataclass(frozen=True, eq=False)
class PreparedBlocks:
    """An engine that prepares every block before work is done on it.

    Blocks must be those of ``summary``. Their columns have ``column_weights``; with
    ``hold_all`` every row stays in its known cluster, those that may leave, too; and
    ``kept_only`` leaves out rows of weight 0.
    """

    engine: Engine
    summary: BlockSummary
    column_weights: NDArray[np.float64] | None = None
    hold_all: bool = False
    kept_only: bool = False

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        summary = self.summary
        seen = summary.n_rows, max(summary.n_columns), summary.checksums
        how = self.column_weights, self.hold_all, self.kept_only
        return self.engine.fold(partial(_prepared, seen, how, work), combine)


def _prepared(
    seen: tuple[Sequence[int], int, Sequence[int]],
    how: tuple[NDArray[np.float64] | None, bool, bool],
    work: Work[T],
    index: int,
    counts: Counts,
) -> T:
    """Do work on a block that is prepared, unless it is another than at first."""
    n_rows, n_columns, checksums = seen
    shape, before = counts.shape, (n_rows[index], n_columns)
    what = None
    # Loops trust the shape: one column more would be read beyond the end.
    if shape != before:
        what = (
            f"it has {shape[0]} rows and {shape[1]} columns, and had {before[0]} and "
            f"{before[1]}"
        )
    elif counts.checksum != checksums[index]:
        what = "it holds other counts than at the first scan"
    if what is not None:
        message = (
            f"Block {index} has changed while it was in use: {what}. Fit again when "
            "nothing writes to it any more."
        )
        raise ValueError(message)
    column_weights, hold_all, kept_only = how
    info = counts.row_info.all_held if hold_all else counts.row_info
    counts = counts.with_column_weights(column_weights).with_rows(info)
    if kept_only and info.kept is not None:
        counts = counts.rows(info.kept)
    return work(index, counts)


@dataclass(frozen=True)
class BlockSummary:
    """What is known of blocks: their rows, whether they are counts, sums.

    ``bad`` is the first entry that is not a count: row, column, value. ``content`` is a
    number that other counts hardly ever have, the same for any cut into blocks.
    """

    n_rows: tuple[int, ...]
    n_stored: tuple[int, ...]
    checksums: tuple[int, ...]
    n_columns: frozenset[int]
    fractional: bool
    bad: tuple[int, int, float] | None
    sums: Sums
    content: int

    @property
    def first_rows(self) -> NDArray[np.int64]:
        """Number of the first row of every block, and of the one after the last."""
        return np.concatenate([[0], np.cumsum(self.n_rows)]).astype(np.int64)

    def and_then(self, other: BlockSummary) -> BlockSummary:
        """Return the summary of these blocks and those behind."""
        from .._core.loops.records import chained_checksum

        bad = self.bad
        if bad is None and other.bad is not None:
            row, column, value = other.bad
            bad = (row + sum(self.n_rows), column, value)
        if self.n_columns == other.n_columns:
            self.sums.add(other.sums)
        return BlockSummary(
            self.n_rows + other.n_rows,
            self.n_stored + other.n_stored,
            self.checksums + other.checksums,
            self.n_columns | other.n_columns,
            self.fractional or other.fractional,
            bad,
            self.sums,
            chained_checksum(self.content, other.content, sum(other.n_rows)),
        )


def scan(prior: float, _: int, counts: Counts) -> BlockSummary:
    """Summary of a block, with column totals and u of all columns."""
    bad = counts.bad_entry
    nowhere = np.full(counts.n_rows, NOWHERE, dtype=np.int32)
    everything = all_relevant(counts.n_columns)
    return BlockSummary(
        (counts.n_rows,),
        (len(counts.data),),
        (counts.checksum,),
        frozenset([counts.n_columns]),
        bad is None and counts.fractional,
        bad,
        Sums.zeros_for(counts, 0)
        if bad
        else sum_by_labels(counts, nowhere, 0, everything, prior),
        counts.checksum % (1 << 64),
    )


def take_rows(
    rows: Sequence[NDArray[np.int64]], index: int, counts: Counts
) -> RowStack:
    """Chosen rows of a block."""
    return RowStack(counts.rows(rows[index]))


def rows_of(
    engine: Engine, firsts: NDArray[np.int64], drawn: NDArray[np.int64]
) -> Counts:
    """Rows of these numbers, which ascend, in memory."""
    cuts = np.searchsorted(drawn, firsts)
    rows = [
        drawn[a:b] - first
        for a, b, first in zip(cuts[:-1], cuts[1:], firsts[:-1], strict=True)
    ]
    return engine.fold(partial(take_rows, rows), RowStack.and_then).counts()


def each_block(function: Callable[[Counts], T], _: int, counts: Counts) -> list[T]:
    """Return what a function gives for a block, as for every block."""
    return [function(counts)]


def add_sums(a: Sums, b: Sums) -> Sums:
    """Add the sums of another block."""
    a.add(b)
    return a
