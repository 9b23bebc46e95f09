"""The sums that a fit needs from the data, and the pass over row blocks that adds them.

Counts are summed without the prior, so sums of whole numbers are exact and can be moved
row by row; ``Sums.smoothed`` adds the prior's share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .codes import NOWHERE
from .loops import columns as column_loops
from .loops import rows as row_loops
from .loops.records import SumArrays, loadable, rows_of
from .model import SmoothedSums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .counts import Counts
    from .loops.records import Profile
    from .workers import Workers


@dataclass
class Sums:
    """Sums over the rows of each cluster, without the prior.

    ``table`` has a row of column sums for each cluster and, last, for the outliers;
    ``members`` counts their rows. ``log_sizes`` is u_j = Σ_i Y_ij log r_i and
    ``log_size_total`` Σ_i log r_i, each in two parts that add exactly (see
    ``rows.COARSE``). ``totals`` and ``n_rows`` are of all rows, in a cluster or not.
    """

    table: NDArray[np.float64]
    members: NDArray[np.int64]
    log_sizes: NDArray[np.float64]
    log_size_total: NDArray[np.float64]
    totals: NDArray[np.float64]
    n_rows: int = 0

    @classmethod
    def zeros(cls, n_clusters: int, n_columns: int) -> Sums:
        """Sums of no rows."""
        return cls(
            table=np.zeros((n_clusters + 1, n_columns)),
            members=np.zeros(n_clusters + 1, dtype=np.int64),
            log_sizes=np.zeros((n_columns, 2)),
            log_size_total=np.zeros(2),
            totals=np.zeros(n_columns),
        )

    @property
    def n_clusters(self) -> int:
        return len(self.members) - 1

    @property
    def clusters(self) -> NDArray[np.float64]:
        """Column sums of each cluster."""
        return self.table[:-1]

    @property
    def outliers(self) -> NDArray[np.float64]:
        """Column sums of the outliers."""
        return self.table[-1]

    @property
    def cluster_sizes(self) -> NDArray[np.int64]:
        """Number of rows in each cluster."""
        return self.members[:-1]

    @property
    def n_outliers(self) -> int:
        return int(self.members[-1])

    @property
    def arrays(self) -> SumArrays:
        """The arrays as loops add to them."""
        return SumArrays(
            self.table,
            self.members,
            self.log_sizes,
            self.log_size_total,
            self.totals,
        )

    def __sizeof__(self) -> int:
        """Bytes of the arrays, which is how Dask weighs what it moves."""
        return sum(array.nbytes for array in self.arrays)

    def add(self, other: Sums) -> None:
        """Add the sums of other rows."""
        self.table += other.table
        self.members += other.members
        self.log_sizes += other.log_sizes
        self.log_size_total += other.log_size_total
        self.totals += other.totals
        self.n_rows += other.n_rows

    def copy(self) -> Sums:
        """Own table and members; what does not depend on the labels is shared."""
        return self._with(self.table.copy(), self.members.copy())

    def take(self, clusters: NDArray[np.intp]) -> Sums:
        """Keep these clusters, in this order, and the outliers."""
        order = np.append(clusters, self.n_clusters)
        return self._with(self.table[order], self.members[order])

    def joined(self, new: NDArray[np.int32]) -> Sums:
        """Add up the clusters that get the same new number; outliers stay."""
        numbers = np.append(new, new.max() + 1)
        table = np.zeros((numbers[-1] + 1, self.table.shape[1]))
        members = np.zeros(len(table), dtype=np.int64)
        np.add.at(members, numbers, self.members)
        for number, row in zip(numbers.tolist(), self.table, strict=True):
            table[number] += row
        return self._with(table, members)

    def smoothed(self, prior: float) -> SmoothedSums:
        """Add the prior's share."""
        table = self.table + prior * self.members[:, None]
        log_sizes = self.log_sizes[:, 0] + self.log_sizes[:, 1]
        if prior:
            log_sizes += prior * (self.log_size_total[0] + self.log_size_total[1])
        return SmoothedSums(
            clusters=table[:-1],
            outliers=table[-1],
            totals=self.totals + prior * self.n_rows,
            log_sizes=log_sizes,
            members=self.members,
            n_rows=self.n_rows,
            prior=prior,
        )

    def _with(self, table: NDArray[np.float64], members: NDArray[np.int64]) -> Sums:
        shared = self.log_sizes, self.log_size_total, self.totals
        return Sums(table, members, *shared, self.n_rows)


def assign(
    counts: Counts,
    profile: Profile,
    labels: NDArray[np.int32],
    sums: Sums,
    workers: Workers,
    *,
    with_sizes: bool,
) -> int:
    """Put every row in its best cluster; bring labels and sums up to date.

    Sums are moved where that is exact and otherwise added anew, always by blocks in
    their order; u is added anew when ``with_sizes``. Returns the number of rows moved.
    """
    fresh = not counts.whole
    in_place = workers.n_jobs == 1 and not fresh
    rows, profile = rows_of(counts), loadable(profile)
    if fresh:
        sums.table[:] = 0.0
        sums.members[:] = 0
    if with_sizes:
        # New arrays, as copies share them.
        sums.log_sizes = np.zeros_like(sums.log_sizes)
        sums.log_size_total = np.zeros_like(sums.log_size_total)

    def one(block: tuple[int, int]) -> tuple[int, Sums]:
        part = sums
        if not in_place:
            part = Sums.zeros(sums.n_clusters, counts.n_columns)
        into = labels, part.arrays
        moved = row_loops.assign_rows(rows, block, profile, fresh, with_sizes, *into)
        return moved, part

    n_moved = 0
    for moved, part in workers.map(one, counts.blocks):
        n_moved += moved
        if not in_place:
            sums.add(part)
    return n_moved


def sums_by_profile(counts: Counts, profile: Profile, *, with_sizes: bool) -> Sums:
    """Sums of the clusters that a profile puts these rows in."""
    total = Sums.zeros(profile.n_clusters, counts.n_columns)
    labels = np.full(counts.n_rows, NOWHERE, dtype=np.int32)
    rows, everything, into = rows_of(counts), (0, counts.n_rows), (labels, total.arrays)
    fresh = True
    row_loops.assign_rows(rows, everything, loadable(profile), fresh, with_sizes, *into)
    return total


def sum_by_labels(
    counts: Counts,
    labels: NDArray[np.int32],
    n_clusters: int,
    groups: NDArray[np.int8],
    prior: float,
) -> Sums:
    """Sums of given labels (``NOWHERE`` for rows to leave out of the sums)."""
    slots = np.empty(len(groups), dtype=np.int32)
    prior_size = prior * sum(column_loops.fill_slots(groups, slots))
    total = Sums.zeros(n_clusters, counts.n_columns)
    total.n_rows = counts.n_rows
    rows = rows_of(counts)
    for block in counts.blocks:
        part = total
        if not counts.whole:
            part = Sums.zeros(n_clusters, counts.n_columns)
        row_loops.sum_rows(rows, block, labels, slots, prior_size, part.arrays)
        if part is not total:
            total.add(part)
    return total
