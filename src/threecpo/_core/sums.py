"""The sums that a fit needs from the data, and the pass over row blocks that adds them.

Counts are summed without the prior, so sums of whole numbers are exact and can be moved
row by row; ``model.SmoothedSums`` adds the prior's share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .loops import columns as column_loops
from .loops import rows as row_loops

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .counts import Counts
    from .loops.rows import Profile
    from .workers import Workers


@dataclass
class Sums:
    """Sums over the rows of each cluster; the last row of ``sums`` is the outliers'.

    ``log_scales`` is u in two parts that add exactly (see ``rows.COARSE``), without the
    prior's share, which is the prior times its last row, the sum over rows of log
    r_i. ``totals`` and ``n_rows`` are of all rows, in a cluster yet or not.
    """

    sums: NDArray[np.float64]
    sizes: NDArray[np.int64]
    log_scales: NDArray[np.float64]
    totals: NDArray[np.float64]
    n_rows: int = 0

    @classmethod
    def zeros(cls, n_clusters: int, n_columns: int) -> Sums:
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

    def add(self, other: Sums) -> None:
        """Add the sums of other rows."""
        self.sums += other.sums
        self.sizes += other.sizes
        self.totals += other.totals
        self.n_rows += other.n_rows
        self.log_scales += other.log_scales

    def copy(self) -> Sums:
        """Own sums and sizes; what does not depend on the labels is shared."""
        return self._with(self.sums.copy(), self.sizes.copy())

    def take(self, clusters: NDArray[np.intp]) -> Sums:
        """Keep these clusters, in this order, and the outliers."""
        order = np.append(clusters, self.n_clusters)
        return self._with(self.sums[order], self.sizes[order])

    def joined(self, new: NDArray[np.int32]) -> Sums:
        """Add up the clusters that get the same new number; outliers stay."""
        numbers = np.append(new, new.max() + 1)
        sums = np.zeros((numbers[-1] + 1, self.sums.shape[1]))
        sizes = np.zeros(len(sums), dtype=np.int64)
        np.add.at(sizes, numbers, self.sizes)
        for number, row in zip(numbers.tolist(), self.sums, strict=True):
            sums[number] += row
        return self._with(sums, sizes)

    def _with(self, sums: NDArray[np.float64], sizes: NDArray[np.int64]) -> Sums:
        return Sums(sums, sizes, self.log_scales, self.totals, self.n_rows)


def assign(
    counts: Counts,
    profile: Profile,
    labels: NDArray[np.int32],
    statistics: Sums,
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

    def one(block: tuple[int, int]) -> tuple[int, Sums]:
        part = statistics
        if not in_place:
            part = Sums.zeros(statistics.n_clusters, counts.n_columns)
        options = {"fresh": fresh, "with_scales": with_scales}
        return _assign_block(counts, block, profile, labels, part, **options), part

    n_moved = 0
    for moved, part in workers.map(one, counts.blocks):
        n_moved += moved
        if not in_place:
            statistics.add(part)
    return n_moved


def sums_from_nothing(counts: Counts, profile: Profile, *, with_scales: bool) -> Sums:
    """Sums of the clusters that a profile puts these rows in."""
    total = Sums.zeros(len(profile.ranks), counts.n_columns)
    labels = np.full(counts.n_rows, row_loops.NOWHERE, dtype=np.int32)
    everything, options = (0, counts.n_rows), {"with_scales": with_scales}
    _assign_block(counts, everything, profile, labels, total, fresh=True, **options)
    return total


def _assign_block(
    counts: Counts,
    block: tuple[int, int],
    profile: Profile,
    labels: NDArray[np.int32],
    into: Sums,
    *,
    fresh: bool,
    with_scales: bool,
) -> int:
    return row_loops.assign_rows(
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
) -> Sums:
    """Sums of given labels (``NOWHERE`` for rows to leave out of the sums)."""
    slots = np.empty(len(groups), dtype=np.int32)
    prior_scale = prior * sum(column_loops.fill_slots(groups, slots))
    total = Sums.zeros(n_clusters, counts.n_columns)
    total.n_rows = counts.n_rows
    for block in counts.blocks:
        part = total
        if not counts.whole:
            part = Sums.zeros(n_clusters, counts.n_columns)
        row_loops.sum_rows(
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
