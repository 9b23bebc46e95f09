"""Where blocks of rows are read and worked on: the seam that every storage fills.

Work is a function of the number of a block and its counts. ``Engine.fold`` does it on
all blocks, wherever they are, and combines the results in the order of the blocks. A
first reading says whether they hold counts, and what they must not change.
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
    """An engine that checks and prepares every block before work is done on it."""

    engine: Engine
    prepare: Callable[[int, Counts], Counts]

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        return self.engine.fold(partial(_on_prepared, self.prepare, work), combine)


def _on_prepared(
    prepare: Callable[[int, Counts], Counts], work: Work[T], index: int, counts: Counts
) -> T:
    return work(index, prepare(index, counts))


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


def scanned(engine: Engine, prior: float) -> BlockSummary:
    """Summary of all blocks, with column totals and u of all columns."""
    return engine.fold(partial(_scan, prior), BlockSummary.and_then)


def _scan(prior: float, _: int, counts: Counts) -> BlockSummary:
    bad = counts.bad_entry
    return BlockSummary(
        (counts.n_rows,),
        (len(counts.data),),
        (counts.checksum,),
        frozenset([counts.n_columns]),
        bad is None and counts.fractional,
        bad,
        Sums.zeros_for(counts, 0) if bad else sum_all(prior, counts),
        counts.checksum % (1 << 64),
    )


def sum_all(prior: float, counts: Counts) -> Sums:
    """Sums over all rows, none of them in a cluster, with every column in use."""
    nowhere = np.full(counts.n_rows, NOWHERE, dtype=np.int32)
    return sum_by_labels(counts, nowhere, 0, all_relevant(counts.n_columns), prior)


def rows_of(
    engine: Engine, firsts: NDArray[np.int64], drawn: NDArray[np.int64]
) -> Counts:
    """Rows of these numbers, which ascend, in memory."""
    cuts = np.searchsorted(drawn, firsts)
    rows = [
        drawn[a:b] - first
        for a, b, first in zip(cuts[:-1], cuts[1:], firsts[:-1], strict=True)
    ]
    return engine.fold(partial(_take_rows, rows), RowStack.and_then).counts()


def _take_rows(
    rows: Sequence[NDArray[np.int64]], index: int, counts: Counts
) -> RowStack:
    return RowStack(counts.rows(rows[index]))


def of_each(engine: Engine, function: Callable[[Counts], T]) -> list[T]:
    return engine.fold(partial(_in_list, function), list.__add__)


def _in_list(function: Callable[[Counts], T], _: int, counts: Counts) -> list[T]:
    return [function(counts)]


def on_counts(function: Callable[[Counts], T], _: int, counts: Counts) -> T:
    """Work of a function that need not know which block it is given."""
    return function(counts)


def add_sums(a: Sums, b: Sums) -> Sums:
    a.add(b)
    return a
