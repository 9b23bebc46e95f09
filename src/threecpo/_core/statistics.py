"""The sums that a fit needs from the data, and the pass over row blocks that adds them.

Counts are summed without the prior, so sums of whole numbers are exact and can be moved
row by row; ``model.Sums`` adds the prior's share.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar, cast

import numpy as np

from . import column_kernels, kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from .counts import Counts
    from .kernels import Profile

T = TypeVar("T")
S = TypeVar("S")


@dataclass
class Statistics:
    """Sums over the rows of each cluster; the last row of ``sums`` is the outliers'.

    ``log_scales`` is u in two parts that add exactly (see ``kernels.COARSE``), without
    the prior's share, which is the prior times its last row, the sum over rows of log
    r_i. ``totals`` and ``n_rows`` are of all rows, in a cluster yet or not.
    """

    sums: NDArray[np.float64]
    sizes: NDArray[np.int64]
    log_scales: NDArray[np.float64]
    totals: NDArray[np.float64]
    n_rows: int = 0

    @classmethod
    def zeros(cls, n_clusters: int, n_columns: int) -> Statistics:
        return cls(
            sums=np.zeros((n_clusters + 1, n_columns)),
            sizes=np.zeros(n_clusters + 1, dtype=np.int64),
            log_scales=np.zeros((n_columns + 1, 2)),
            totals=np.zeros(n_columns),
        )

    @property
    def n_clusters(self) -> int:
        return len(self.sizes) - 1

    def __sizeof__(self) -> int:
        """Bytes of the arrays, which is how Dask weighs what it moves."""
        arrays = (self.sums, self.sizes, self.log_scales, self.totals)
        return sum(array.nbytes for array in arrays)

    def add(self, other: Statistics) -> None:
        """Add the sums of other rows."""
        self.sums += other.sums
        self.sizes += other.sizes
        self.totals += other.totals
        self.n_rows += other.n_rows
        self.log_scales += other.log_scales

    def copy(self) -> Statistics:
        """Own sums and sizes; what does not depend on the labels is shared."""
        return self._with(self.sums.copy(), self.sizes.copy())

    def take(self, clusters: NDArray[np.intp]) -> Statistics:
        """Keep these clusters, in this order, and the outliers."""
        order = np.append(clusters, self.n_clusters)
        return self._with(self.sums[order], self.sizes[order])

    def joined(self, new: NDArray[np.int32]) -> Statistics:
        """Add up the clusters that get the same new number; outliers stay."""
        numbers = np.append(new, new.max() + 1)
        sums = np.zeros((numbers[-1] + 1, self.sums.shape[1]))
        sizes = np.zeros(len(sums), dtype=np.int64)
        np.add.at(sizes, numbers, self.sizes)
        for number, row in zip(numbers.tolist(), self.sums, strict=True):
            sums[number] += row
        return self._with(sums, sizes)

    def _with(self, sums: NDArray[np.float64], sizes: NDArray[np.int64]) -> Statistics:
        return Statistics(sums, sizes, self.log_scales, self.totals, self.n_rows)


class Stopped(Exception):  # noqa: N818 - a request, not an error
    """Raised inside worker threads after an interrupt."""


class Workers:
    """Our own threads: an ordered map whose results do not depend on their number."""

    def __init__(self, n_jobs: int, stop: threading.Event | None = None) -> None:
        self.n_jobs = n_jobs
        self._stop = stop or threading.Event()
        self._pool = ThreadPoolExecutor(n_jobs) if n_jobs > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def serial(self) -> Workers:
        """One thread, the caller's, that obeys the same stop signal."""
        return Workers(1, self._stop)

    def check(self) -> None:
        """Leave this thread where another one has been interrupted."""
        if self._stop.is_set():
            raise Stopped

    def map(self, function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
        """Yield results in the order of the items, working a few items ahead."""
        waiting: deque[Future[T]] = deque()
        for item in items:
            self.check()
            if self._pool is None:
                yield function(item)
                continue
            waiting.append(self._pool.submit(function, item))
            if len(waiting) >= 2 * self.n_jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def ahead(self, items: Iterator[T]) -> Iterator[T]:
        """Yield the items; each is in the making while the one before is in use."""
        pool = self._pool
        if pool is None:
            return items
        end = object()

        def draw() -> T | object:
            self.check()
            return next(items, end)

        def drawn(coming: Future[T | object]) -> Iterator[T]:
            while (item := coming.result()) is not end:
                coming = pool.submit(draw)
                yield cast("T", item)

        return drawn(pool.submit(draw))


SERIAL = Workers(1)


def assign(
    counts: Counts,
    profile: Profile,
    labels: NDArray[np.int32],
    statistics: Statistics,
    workers: Workers,
    *,
    with_scales: bool,
) -> int:
    """Put every row in its best cluster; bring labels and sums up to date.

    Sums are moved where that is exact and otherwise added anew, always by blocks in
    their order; u is added anew when ``with_scales``. Returns the number of rows moved.
    """
    fresh = not counts.whole
    in_place = workers.n_jobs == 1 and not fresh
    if fresh:
        statistics.sums[:] = 0.0
        statistics.sizes[:] = 0
    if with_scales:
        statistics.log_scales = np.zeros_like(statistics.log_scales)  # may be shared

    def one(block: tuple[int, int]) -> tuple[int, Statistics]:
        part = statistics
        if not in_place:
            part = Statistics.zeros(statistics.n_clusters, counts.n_columns)
        options = {"fresh": fresh, "with_scales": with_scales}
        return _assign_block(counts, block, profile, labels, part, **options), part

    n_moved = 0
    for moved, part in workers.map(one, counts.blocks):
        n_moved += moved
        if not in_place:
            statistics.add(part)
    return n_moved


def sums_from_nothing(
    counts: Counts, profile: Profile, *, with_scales: bool
) -> Statistics:
    """Sums of the clusters that a profile puts these rows in."""
    total = Statistics.zeros(len(profile.ranks), counts.n_columns)
    labels = np.full(counts.n_rows, kernels.NOWHERE, dtype=np.int32)
    everything, options = (0, counts.n_rows), {"with_scales": with_scales}
    _assign_block(counts, everything, profile, labels, total, fresh=True, **options)
    return total


def _assign_block(
    counts: Counts,
    block: tuple[int, int],
    profile: Profile,
    labels: NDArray[np.int32],
    into: Statistics,
    *,
    fresh: bool,
    with_scales: bool,
) -> int:
    return kernels.assign_rows(
        counts.indptr,
        counts.indices,
        counts.data,
        *block,
        profile,
        fresh,
        with_scales,
        labels,
        into.sums,
        into.sizes,
        into.log_scales,
    )


def sum_by_labels(
    counts: Counts,
    labels: NDArray[np.int32],
    n_clusters: int,
    groups: NDArray[np.int8],
    prior: float,
) -> Statistics:
    """Statistics of given labels (``NOWHERE`` for rows to leave out of the sums)."""
    slots = np.empty(len(groups), dtype=np.int32)
    prior_scale = prior * sum(column_kernels.fill_slots(groups, slots))
    total = Statistics.zeros(n_clusters, counts.n_columns)
    total.n_rows = counts.n_rows
    for block in counts.blocks:
        part = total
        if not counts.whole:
            part = Statistics.zeros(n_clusters, counts.n_columns)
        kernels.sum_rows(
            counts.indptr,
            counts.indices,
            counts.data,
            *block,
            labels,
            slots,
            prior_scale,
            part.sums,
            part.sizes,
            part.log_scales,
            part.totals,
        )
        if part is not total:
            total.add(part)
    return total
