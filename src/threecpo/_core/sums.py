"""The sums that a fit needs from the data, and the pass over row blocks that adds them.

Counts are summed without the prior, so sums of whole numbers are exact and can be moved
row by row; ``Sums.smoothed`` adds the prior's share.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from .batch_sums import BatchSums
from .codes import NOISE, NOWHERE
from .loops import columns as column_loops
from .loops import rows as row_loops
from .loops.quick import NO_QUICK, quick_of
from .loops.records import Room, SumArrays, loadable, rows_of
from .model import SmoothedSums, weight_of
from .workers import SERIAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .counts import Counts
    from .loops.quick import Quick
    from .loops.records import Profile
    from .workers import Workers

# Below this total of a column, its counts times coarse logarithms add exactly.
MOST_MOVED = 2.0**25


def _nothing() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass
class Sums:
    """Sums over the rows of each cluster, without the prior.

    ``table`` has a row of column sums for each cluster and, last, for the outliers;
    ``members`` counts their rows and ``masses`` adds up their weights. ``log_sizes`` is
    u_j = Σ_i Y_ij log r_i and ``log_size_total`` Σ_i log r_i, each in two parts that
    add exactly (see ``rows.COARSE``). ``totals``, ``n_rows`` and ``mass`` are of all
    rows, in a cluster or not. With several batches ``batches`` is what loops add to,
    and ``settle`` brings all else up to date. Counts are summed without the
    ``column_weights``, row sizes with them; ``smoothed`` puts them in.
    """

    table: NDArray[np.float64]
    members: NDArray[np.int64]
    log_sizes: NDArray[np.float64]
    log_size_total: NDArray[np.float64]
    totals: NDArray[np.float64]
    n_rows: int = 0
    # Where nothing is said of weights, every row counts once.
    masses: NDArray[np.float64] = field(default_factory=_nothing)
    total_mass: float | None = None
    batches: BatchSums | None = None
    column_weights: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.masses.shape != self.members.shape:
            self.masses = self.members.astype(np.float64)

    @classmethod
    def zeros(cls, n_clusters: int, n_columns: int, n_batches: int = 1) -> Sums:
        """Sums of no rows."""
        return cls(
            table=np.zeros((n_clusters + 1, n_columns)),
            members=np.zeros(n_clusters + 1, dtype=np.int64),
            log_sizes=np.zeros((n_columns, 2)),
            log_size_total=np.zeros(2),
            totals=np.zeros(n_columns),
            batches=None
            if n_batches == 1
            else BatchSums.zeros(n_clusters, n_columns, n_batches),
        )

    @classmethod
    def zeros_for(cls, counts: Counts, n_clusters: int) -> Sums:
        """Sums of none of these rows."""
        sums = cls.zeros(n_clusters, counts.n_columns, counts.n_batches)
        sums.column_weights = counts.column_weights
        return sums

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
    def cluster_masses(self) -> NDArray[np.float64]:
        """Weight of the rows in each cluster."""
        return self.masses[:-1]

    @property
    def mass(self) -> float:
        """Weight of all rows."""
        return self.n_rows if self.total_mass is None else self.total_mass

    @property
    def arrays(self) -> SumArrays:
        """The arrays as loops add to them."""
        sizes = self.log_sizes, self.log_size_total
        if self.batches is not None:
            cells = self.batches
            lines = cells.cells, cells.members, cells.masses
            return SumArrays(*lines, *sizes, cells.totals)
        lines = self.table, self.members, self.masses
        return SumArrays(*lines, *sizes, self.totals.reshape(1, -1))

    def __sizeof__(self) -> int:
        """Bytes of the arrays, which is how Dask weighs what it moves."""
        own = 0 if self.batches is None else self.table.nbytes + self.totals.nbytes
        return own + sum(array.nbytes for array in self.arrays)

    def settle(self) -> None:
        """Bring sums over the batches up to date."""
        if self.batches is not None:
            shape = (len(self.members), self.batches.n_batches)
            self.table = self.batches.of_clusters.sum(axis=1)
            self.members = self.batches.members.reshape(shape).sum(axis=1)
            self.masses = self.batches.masses.reshape(shape).sum(axis=1)
            self.totals = self.batches.totals.sum(axis=0)

    def add(self, other: Sums) -> None:
        """Add the sums of other rows."""
        self.table += other.table
        self.members += other.members
        self.masses += other.masses
        self.log_sizes += other.log_sizes
        self.log_size_total += other.log_size_total
        self.totals += other.totals
        self.n_rows += other.n_rows
        if other.total_mass is not None:
            self.total_mass = (self.total_mass or 0) + other.total_mass
        if self.batches is not None and other.batches is not None:
            self.batches.add(other.batches)

    def clear(self) -> None:
        """Take all rows out of the clusters."""
        for array in self.arrays[:3]:
            array[:] = 0

    def of_all_rows(self, data: Sums) -> None:
        """Take over from other sums what does not depend on labels and groups."""
        self.totals, self.n_rows = data.totals, data.n_rows
        self.total_mass = data.total_mass
        if self.batches is not None and data.batches is not None:
            self.batches.totals = data.batches.totals
            self.batches.row_masses = data.batches.row_masses

    def copy(self) -> Sums:
        """Own sums of the clusters; what does not depend on the labels is shared."""
        return replace(
            self,
            table=self.table.copy(),
            members=self.members.copy(),
            masses=self.masses.copy(),
            batches=self.batches and self.batches.copy(),
        )

    def take(self, clusters: NDArray[np.intp]) -> Sums:
        """Keep these clusters, in this order, and the outliers."""
        order = np.append(clusters, self.n_clusters)
        return replace(
            self,
            table=self.table[order],
            members=self.members[order],
            masses=self.masses[order],
            batches=self.batches and self.batches.take(order),
        )

    def joined(self, new: NDArray[np.int32]) -> Sums:
        """Add up the clusters that get the same new number; outliers stay."""
        numbers = np.append(new, new.max() + 1)
        table = np.zeros((numbers[-1] + 1, self.table.shape[1]))
        members = np.zeros(len(table), dtype=np.int64)
        masses = np.zeros(len(table))
        np.add.at(members, numbers, self.members)
        np.add.at(masses, numbers, self.masses)
        for number, row in zip(numbers.tolist(), self.table, strict=True):
            table[number] += row
        return replace(
            self,
            table=table,
            members=members,
            masses=masses,
            batches=self.batches and self.batches.joined(numbers),
        )

    @property
    def unweighted(self) -> Sums:
        """The same, each column with weight 1."""
        return replace(self, column_weights=None)

    def smoothed(self, prior: float) -> SmoothedSums:
        """Add the prior's share, and multiply columns by their weights."""
        table, log_sizes = np.empty_like(self.table), np.empty(len(self.log_sizes))
        plain_sums = self.table, self.masses, self.log_sizes, self.log_size_total
        column_loops.smooth(*plain_sums, prior, table, log_sizes)
        plain = SmoothedSums(
            clusters=table[:-1],
            outliers=table[-1],
            totals=self.totals + prior * self.mass,
            log_sizes=log_sizes,
            masses=self.masses,
            n_rows=self.mass,
            prior=prior,
            batches=None if self.batches is None else self.batches.smoothed(prior),
        )
        weights = self.column_weights
        return plain if weights is None else plain.weighted(weights)


def assign(
    counts: Counts,
    profile: Profile,
    labels: NDArray[np.int32],
    sums: Sums,
    workers: Workers,
    *,
    with_sizes: bool,
    row_sizes: NDArray[np.float64] | None = None,
) -> int:
    """Put every row in its best cluster; bring labels and sums up to date.

    Sums are moved where that is exact, by a part of the rows for each thread, and
    otherwise added up from zero, by blocks in their order; so is u when ``with_sizes``.
    ``row_sizes`` keeps the sizes that are in u for the next pass. Returns how many rows
    moved.
    """
    fresh = not counts.whole
    blocks = counts.blocks if fresh else counts.shares(workers.n_jobs)
    in_place = workers.n_jobs == 1 and not fresh
    if len(blocks) == 1 and not fresh:
        workers, in_place = workers.serial(), True
    rows, profile = rows_of(counts), loadable(profile)
    quick = _quick(counts, profile)
    if fresh:
        sums.clear()
    sizes = np.empty(0) if fresh or row_sizes is None else row_sizes
    if with_sizes:
        _begin_log_sizes(sums, sizes)

    def one(block: tuple[int, int]) -> tuple[int, Sums]:
        part = sums
        if not in_place:
            part = Sums.zeros_for(counts, sums.n_clusters)
        room = Room.of(counts.longest, profile, len(quick.offsets))
        how = profile, quick, room, fresh, with_sizes
        moved = row_loops.assign_rows(rows, block, *how, labels, sizes, part.arrays)
        return moved, part

    n_moved = 0
    for moved, part in workers.map(one, blocks):
        n_moved += moved
        if not in_place:
            sums.add(part)
    sums.settle()
    return n_moved


def _begin_log_sizes(sums: Sums, sizes: NDArray[np.float64]) -> None:
    """Make new arrays for u, as copies share them.

    They go on from the old ones where each row is in u with a size that is kept, and
    differences of logarithms add exactly; otherwise from nothing.
    """
    exact = float(sums.totals.max(initial=0.0)) < MOST_MOVED
    if exact and len(sizes) > 0 and sizes.min() > 0:  # not where one is NaN
        sums.log_sizes = sums.log_sizes.copy()
        sums.log_size_total = sums.log_size_total.copy()
    else:
        sizes[:] = np.nan
        sums.log_sizes = np.zeros_like(sums.log_sizes)
        sums.log_size_total = np.zeros_like(sums.log_size_total)


def sums_by_profile(
    counts: Counts,
    profile: Profile,
    *,
    with_sizes: bool,
    labels: NDArray[np.int32] | None = None,
) -> Sums:
    """Sums of the clusters that a profile puts these rows in, which ``labels`` take."""
    total = Sums.zeros_for(counts, profile.n_clusters)
    if labels is None:
        labels = np.empty(counts.n_rows, dtype=np.int32)
    labels[:] = NOWHERE
    rows, everything, profile = rows_of(counts), (0, counts.n_rows), loadable(profile)
    quick = _quick(counts, profile)
    room = Room.of(counts.longest, profile, len(quick.offsets))
    how = profile, quick, room, True, with_sizes
    row_loops.assign_rows(rows, everything, *how, labels, np.empty(0), total.arrays)
    total.settle()
    return total


def _quick(counts: Counts, profile: Profile) -> Quick:
    """Quick scores by a profile, where counts allow them."""
    if not counts.short_rows or counts.column_weights is not None:
        return NO_QUICK
    return quick_of(profile, len(counts.data))


def sum_by_labels(
    counts: Counts,
    labels: NDArray[np.int32],
    n_clusters: int,
    groups: NDArray[np.int8],
    prior: float,
    workers: Workers = SERIAL,
) -> Sums:
    """Sums of given labels (``NOWHERE`` for rows to leave out of the sums)."""
    slots = np.empty(len(groups), dtype=np.int32)
    column_loops.fill_slots(groups, slots)
    prior_size = prior * weight_of(counts.column_weights, groups != NOISE)
    total = Sums.zeros_for(counts, n_clusters)
    total.n_rows = counts.n_rows
    if counts.weights is not None:
        total.total_mass = counts.mass
    if total.batches is not None and counts.batches is not None:
        total.batches.row_masses = np.bincount(
            counts.batches, counts.weights, counts.n_batches
        ).astype(np.float64)
    rows = rows_of(counts)
    blocks = counts.shares(workers.n_jobs) if counts.whole else counts.blocks
    in_place = counts.whole and (workers.n_jobs == 1 or len(blocks) == 1)

    def one(block: tuple[int, int]) -> Sums:
        part = total if in_place else Sums.zeros_for(counts, n_clusters)
        row_loops.sum_rows(rows, block, labels, slots, prior_size, part.arrays)
        return part

    for part in (workers.serial() if in_place else workers).map(one, blocks):
        if not in_place:
            total.add(part)
    total.settle()
    return total
