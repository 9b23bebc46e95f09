"""What is given of the rows of all blocks, cut: weights, batches, known clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import FREE
from .._core.row_checks import check_batches, check_weights
from .held_back import product

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .engine import Engine, Reader, T, Work


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Weights, batches and known clusters of all rows; None where there are none."""

    weights: NDArray[np.float64] | None
    batches: NDArray[np.int32] | None
    batch_names: tuple[str, ...]
    known: NDArray[np.int32] | None = None
    known_names: tuple[str, ...] = ()

    @classmethod
    def of(cls, sample_weight: Any, batch: Any, n_rows: int) -> BlockRows:
        weights = check_weights(sample_weight, n_rows)
        if batch is None:
            return cls(weights, None, ())
        codes, names = check_batches(batch, n_rows)
        return cls(weights, codes if len(names) > 1 else None, names)

    def with_known(self, known: NDArray[np.int32], names: tuple[str, ...]) -> BlockRows:
        """Return the same with these known clusters."""
        return replace(self, known=known, known_names=names)

    def held_back(self, weights: NDArray[np.float64] | None) -> BlockRows:
        """Return the same with long rows held back by these weights."""
        return replace(self, weights=product(self.weights, weights))

    @property
    def given(self) -> bool:
        return any(array is not None for array in self._arrays)

    @property
    def _arrays(self) -> tuple[NDArray[Any] | None, ...]:
        return self.weights, self.batches, self.known

    @property
    def known_of_kept(self) -> NDArray[np.int32] | None:
        """Known clusters of the rows that a fit is made of."""
        if self.known is None or self.kept is None:
            return self.known
        return self.known[self.kept]

    @property
    def only_started_from(self) -> bool:
        """Whether rows of known clusters may leave them."""
        return self.known is not None and bool((self.known < FREE).any())

    @property
    def kept(self) -> NDArray[np.intp] | None:
        """Rows that a fit is made of; None for all."""
        if self.weights is None or self.weights.all():
            return None
        return np.flatnonzero(self.weights)

    @property
    def digest(self) -> str | None:
        """What stands for them in the parameters of a checkpoint."""
        if not self.given:
            return None
        arrays = [a for a in self._arrays if a is not None]
        return blake2b(b"".join(a.tobytes() for a in arrays), digest_size=8).hexdigest()

    def readers(
        self, readers: Sequence[Reader], n_rows: Sequence[int]
    ) -> Sequence[Reader]:
        """Readers of the same blocks with their rows' weights and batches."""
        if not self.given:
            return readers
        ends = np.cumsum(n_rows)[:-1]
        cut: list[list[Any]] = [
            [None] * len(n_rows) if array is None else np.split(array, ends)
            for array in self._arrays
        ]
        names = self.batch_names, self.known_names
        return [
            BlockReader(reader, BlockRows(weights, batches, names[0], known, names[1]))
            for reader, weights, batches, known in zip(readers, *cut, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class BlockReader:
    """Reads a block and gives its rows what is given of them."""

    reader: Reader
    rows: BlockRows

    @property
    def futures(self) -> Sequence[Any]:
        """What the reader itself needs on a Dask cluster."""
        return getattr(self.reader, "futures", ())

    def __call__(self) -> Counts:
        counts, rows = self.reader(), self.rows
        lengths = {len(array) for array in rows._arrays if array is not None}
        if lengths != {counts.n_rows}:
            return counts  # a block that has changed, which is found out elsewhere
        counts = counts.with_rows(rows.weights, rows.batches, rows.batch_names)
        if rows.known is None:
            return counts
        return counts.with_known(rows.known, rows.known_names)


class WeightedRows:
    """An engine that leaves out rows of weight 0."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        return self._engine.fold(partial(_without_zeros, work), combine)


def _without_zeros(work: Work[T], index: int, counts: Counts) -> T:
    if counts.weights is not None and not counts.weights.all():
        counts = counts.rows(np.flatnonzero(counts.weights))
    return work(index, counts)


class HeldRows:
    """An engine that holds all rows of known clusters, those that may leave, too."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        return self._engine.fold(partial(_all_held, work), combine)


def _all_held(work: Work[T], index: int, counts: Counts) -> T:
    return work(index, counts.all_held)
