"""Where blocks of rows are read and worked on: the seam that every storage fills.

Work is a function of the number of a block and its counts. ``Engine.fold`` does it on
all blocks, wherever they are, and combines the results in the order of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Protocol, TypeVar

from .._core.counts import Counts

if TYPE_CHECKING:
    from .._core.workers import Workers
    from .first_look import FirstLook

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

        return reduce(combine, self._workers.map(one, range(len(self._readers))))


class UnchangedBlocks:
    """An engine whose blocks must still be those of the first look."""

    def __init__(self, engine: Engine, look: FirstLook) -> None:
        self._engine = engine
        self._expect = partial(_expect, look.n_rows, max(look.n_columns))

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        return self._engine.fold(partial(self._expect, work), combine)


def _expect(
    n_rows: Sequence[int], n_columns: int, work: Work[T], index: int, counts: Counts
) -> T:
    # Loops trust the shape: one column more would be read beyond the end.
    if counts.n_rows != n_rows[index] or counts.n_columns != n_columns:
        message = (
            f"Block {index} has changed while it was in use: it has {counts.n_rows} "
            f"rows and {counts.n_columns} columns, and had {n_rows[index]} and "
            f"{n_columns}."
        )
        raise ValueError(message)
    return work(index, counts)
