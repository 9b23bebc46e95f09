"""What is done with one block of rows, and how the results of blocks come together.

Every function here takes the number of a block and its counts; ``Engine.fold`` runs it
on all blocks, wherever they are, and combines the results in the order of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from . import seeding
from .codes import NOWHERE, all_relevant, inner_labels
from .counts import Counts, first_bad_entry, stacked
from .describe import describe
from .sums import Sums, sum_by_labels, sums_by_profile
from .workers import SERIAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .describe import Fitted
    from .loops.records import Profile
    from .run import Request
    from .workers import Workers

T = TypeVar("T")
Reader = Callable[[], Counts]
Work = Callable[[int, Counts], T]


class Engine(Protocol):
    """Whatever reads blocks and works on them."""

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        """Work on every block; combine what comes out in the order of the blocks."""
        ...


class Threads:
    """Blocks read and worked on by the threads of this process, one block each."""

    def __init__(self, readers: Sequence[Reader], workers: Workers) -> None:
        self._readers = readers
        self._workers = workers

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        def one(index: int) -> T:
            return work(index, self._readers[index]())

        return reduce(combine, self._workers.map(one, range(len(self._readers))))


@dataclass(frozen=True)
class Look:
    """What a first look at blocks tells: their rows, whether they are counts, sums.

    ``bad`` is the first entry that is no count: row, column and value.
    """

    n_rows: tuple[int, ...]
    n_stored: tuple[int, ...]
    n_columns: frozenset[int]
    fractional: bool
    bad: tuple[int, int, float] | None
    sums: Sums

    @property
    def first_rows(self) -> NDArray[np.int64]:
        """Number of the first row of every block, and of the one after the last."""
        return np.concatenate([[0], np.cumsum(self.n_rows)]).astype(np.int64)

    def and_then(self, other: Look) -> Look:
        """Return this look and that at the blocks behind."""
        bad = self.bad
        if bad is None and other.bad is not None:
            row, column, value = other.bad
            bad = (row + sum(self.n_rows), column, value)
        if self.n_columns == other.n_columns:
            self.sums.add(other.sums)
        return Look(
            self.n_rows + other.n_rows,
            self.n_stored + other.n_stored,
            self.n_columns | other.n_columns,
            self.fractional or other.fractional,
            bad,
            self.sums,
        )


class Unchanged:
    """An engine whose blocks must still be what a first look has seen."""

    def __init__(self, engine: Engine, look: Look) -> None:
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


def look_at(prior: float, _: int, counts: Counts) -> Look:
    """First look at a block, with column totals and u of all columns."""
    bad = first_bad_entry(counts)
    nowhere = np.full(counts.n_rows, NOWHERE, dtype=np.int32)
    everything = all_relevant(counts.n_columns)
    return Look(
        (counts.n_rows,),
        (len(counts.data),),
        frozenset([counts.n_columns]),
        bad is None and counts.fractional,
        bad,
        Sums.zeros(0, counts.n_columns)
        if bad
        else sum_by_labels(counts, nowhere, 0, everything, prior),
    )


def answer(requests: Sequence[Request], _: int, counts: Counts) -> list[Sums]:
    """Sums of a block by the profile of each request: the pass of all runs."""
    return [
        sums_by_profile(counts, profile, with_sizes=with_sizes)
        for profile, with_sizes in requests
    ]


def sum_given(
    labels: Sequence[NDArray[np.int32]],
    n_clusters: int,
    groups: NDArray[np.int8],
    prior: float,
    index: int,
    counts: Counts,
) -> list[Sums]:
    """Sums of a block whose labels are given, as those of every block."""
    return [sum_by_labels(counts, labels[index], n_clusters, groups, prior)]


def sum_placed(
    fitted: Fitted,
    profile: Profile,
    outliers: bool,  # noqa: FBT001
    n_clusters: int,
    groups: NDArray[np.int8],
    prior: float,
    _: int,
    counts: Counts,
) -> list[Sums]:
    """Sums of a block by the labels that a fitted model gives it."""
    rows = describe(counts, profile, SERIAL)
    labels = fitted.labels(rows) if outliers else rows.nearest
    labels = inner_labels(labels, n_clusters)
    return [sum_by_labels(counts, labels, n_clusters, groups, prior)]


def x_log_x_above(prior: float, _: int, counts: Counts) -> NDArray[np.float64]:
    return seeding.x_log_x_above(counts, prior)


def add_each(a: list[Sums], b: list[Sums]) -> list[Sums]:
    for own, other in zip(a, b, strict=True):
        own.add(other)
    return a


def take_rows(
    rows: Sequence[NDArray[np.int64]], index: int, counts: Counts
) -> list[Counts]:
    """Chosen rows of a block, as those of every block."""
    return [counts.rows(rows[index])] if len(rows[index]) else []


def sample(
    engine: Engine, look: Look, n_sampled: int, seed: np.random.SeedSequence
) -> Counts:
    """Rows drawn by their number, in their order: the same for any cut into blocks."""
    firsts = look.first_rows
    rng = np.random.default_rng(seed)
    drawn = rng.choice(int(firsts[-1]), n_sampled, replace=False, shuffle=False)
    drawn.sort()
    cuts = np.searchsorted(drawn, firsts)
    rows = [
        drawn[a:b] - first
        for a, b, first in zip(cuts[:-1], cuts[1:], firsts[:-1], strict=True)
    ]
    parts = engine.fold(partial(take_rows, rows), list.__add__)
    return stacked(parts)
