"""The sums that a fit needs from the data, and the pass over row blocks that adds them.

Counts are summed without the prior, so sums of whole numbers are exact and can be moved
row by row; ``Sums.smoothed`` adds the prior's share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .codes import NOISE, NOWHERE
from .loops import columns as column_loops
from .loops import rows as row_loops
from .loops.quick import NO_QUICK, quick_of
from .loops.records import SumArrays, Workspace, loadable, rows_of
from .model import BatchCells, SmoothedSums, weight_of
from .workers import SERIAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .codes import Floats, Groups, Ints
    from .counts import Counts
    from .loops.quick import Quick
    from .loops.records import Profile
    from .workers import Workers

# Below this total of a column, its counts times coarse logarithms add exactly.
MOST_MOVED = 2.0**25


@dataclass
class Sums:
    """Sums over the rows of each cluster and batch, without the prior.

    ``cells`` has a line of column sums for every batch of each cluster and, last, of
    the outliers; ``cell_members`` counts their rows and ``cell_weights`` adds up their
    weights. ``count_log_sizes`` is u_j = Σ_i Y_ij log r_i and ``log_size_total`` Σ_i
    log r_i, each in two parts that add exactly (see ``rows.COARSE``). ``batch_totals``,
    ``batch_weights`` and ``n_rows`` are of all rows, in a cluster or not;
    ``sum_of_weights`` is None where every row counts once. Counts are summed without
    the ``column_weights``, row sizes with them; ``smoothed`` puts them in.
    """

    cells: Floats
    cell_members: NDArray[np.int64]
    cell_weights: Floats
    count_log_sizes: Floats
    log_size_total: Floats
    batch_totals: Floats
    batch_weights: Floats
    n_rows: int = 0
    sum_of_weights: float | None = None
    column_weights: Floats | None = None

    @classmethod
    def zeros(cls, n_clusters: int, n_columns: int, n_batches: int = 1) -> Sums:
        """Sums of no rows."""
        n_lines = (n_clusters + 1) * n_batches
        return cls(
            cells=np.zeros((n_lines, n_columns)),
            cell_members=np.zeros(n_lines, dtype=np.int64),
            cell_weights=np.zeros(n_lines),
            count_log_sizes=np.zeros((n_columns, 2)),
            log_size_total=np.zeros(2),
            batch_totals=np.zeros((n_batches, n_columns)),
            batch_weights=np.zeros(n_batches),
        )

    @classmethod
    def zeros_for(cls, counts: Counts, n_clusters: int) -> Sums:
        """Sums of none of these rows."""
        sums = cls.zeros(n_clusters, counts.n_columns, counts.n_batches)
        sums.column_weights = counts.column_weights
        return sums

    @property
    def n_batches(self) -> int:
        return len(self.batch_weights)

    @property
    def n_clusters(self) -> int:
        return len(self.cell_members) // self.n_batches - 1

    @property
    def by_batch(self) -> Floats:
        """Column sums by cluster (the last: outliers) and batch."""
        return self.cells.reshape(-1, *self.batch_totals.shape)

    @property
    def table(self) -> Floats:
        """Column sums of each cluster and, last, of the outliers."""
        return self.cells if self.n_batches == 1 else self.by_batch.sum(axis=1)

    @property
    def members(self) -> NDArray[np.int64]:
        """Number of rows in each cluster and, last, of outliers."""
        return self._over_batches(self.cell_members)

    @property
    def weight_sums(self) -> Floats:
        """Weight of the rows in each cluster and, last, of outliers."""
        return self._over_batches(self.cell_weights)

    @property
    def totals(self) -> Floats:
        """Column sums of all rows."""
        if self.n_batches == 1:
            return self.batch_totals[0]
        return self.batch_totals.sum(axis=0)

    def _over_batches(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add up what there is of the batches of each cluster."""
        if self.n_batches == 1:
            return values
        return values.reshape(-1, self.n_batches).sum(axis=1)

    @property
    def clusters(self) -> Floats:
        """Column sums of each cluster."""
        return self.table[:-1]

    @property
    def outliers(self) -> Floats:
        """Column sums of the outliers."""
        return self.table[-1]

    @property
    def cluster_sizes(self) -> NDArray[np.int64]:
        """Number of rows in each cluster."""
        return self.members[:-1]

    @property
    def cluster_weights(self) -> Floats:
        """Weight of the rows in each cluster."""
        return self.weight_sums[:-1]

    @property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return self.n_rows if self.sum_of_weights is None else self.sum_of_weights

    @property
    def arrays(self) -> SumArrays:
        """The arrays as loops add to them."""
        return SumArrays(
            *(self.cells, self.cell_members, self.cell_weights),
            *(self.count_log_sizes, self.log_size_total, self.batch_totals),
        )

    @property
    def adds_exactly(self) -> bool:
        """Whether u of whole counts has the same bits in any order of rows."""
        return float(self.totals.max(initial=0.0)) < MOST_MOVED

    def __sizeof__(self) -> int:
        """Bytes of the arrays, which is how Dask weighs what it moves."""
        return sum(array.nbytes for array in self.arrays)

    def add(self, other: Sums) -> None:
        """Add the sums of other rows."""
        for own, more in zip(self.arrays, other.arrays, strict=True):
            np.add(own, more, out=own)
        self.batch_weights += other.batch_weights
        self.n_rows += other.n_rows
        if other.sum_of_weights is not None:
            self.sum_of_weights = (self.sum_of_weights or 0) + other.sum_of_weights

    def clear(self) -> None:
        """Take all rows out of the clusters."""
        for array in self.arrays[:3]:
            array[:] = 0

    def copy_totals_from(self, data: Sums) -> None:
        """Take over from other sums what does not depend on labels and groups."""
        self.batch_totals, self.batch_weights = data.batch_totals, data.batch_weights
        self.n_rows, self.sum_of_weights = data.n_rows, data.sum_of_weights

    def copy(self) -> Sums:
        """Own sums of the clusters; what does not depend on the labels is shared."""
        return self._with_lines(*(each.copy() for each in self.arrays[:3]))

    def take(self, clusters: NDArray[np.intp]) -> Sums:
        """Keep these clusters, in this order, and the outliers."""
        lines = self._lines(np.append(clusters, self.n_clusters))
        return self._with_lines(*(each[lines] for each in self.arrays[:3]))

    def joined(self, new: Ints) -> Sums:
        """Add up the clusters that get the same new number; outliers stay."""
        numbers = np.append(new, new.max() + 1)
        lines = self._lines(numbers)
        out = Sums.zeros(int(numbers[-1]), self.cells.shape[1], self.n_batches)
        np.add.at(out.cell_members, lines, self.cell_members)
        np.add.at(out.cell_weights, lines, self.cell_weights)
        for line, row in zip(lines.tolist(), self.cells, strict=True):
            out.cells[line] += row
        return self._with_lines(*out.arrays[:3])

    def _lines(self, clusters: NDArray[Any]) -> NDArray[Any]:
        """Lines of the batches of these clusters."""
        n_batches = self.n_batches
        return (clusters[:, None] * n_batches + np.arange(n_batches)).ravel()

    def _with_lines(self, cells: Any, members: Any, weights: Any) -> Sums:
        """Return the same with other sums of the clusters."""
        # Not ``replace``, which takes twice as long: a pass of a small table is short.
        return Sums(
            *(cells, members, weights, self.count_log_sizes, self.log_size_total),
            *(self.batch_totals, self.batch_weights, self.n_rows),
            *(self.sum_of_weights, self.column_weights),
        )

    @property
    def unweighted(self) -> Sums:
        """The same, each column with weight 1."""
        return replace(self, column_weights=None)

    def smoothed(self, prior: float) -> SmoothedSums:
        """Add the prior's share, and multiply columns by their weights."""
        table, weight_sums = self.table, self.weight_sums
        out, out_log_sizes = np.empty_like(table), np.empty(table.shape[1])
        plain_sums = table, weight_sums, self.count_log_sizes, self.log_size_total
        column_loops.smooth(*plain_sums, prior, out, out_log_sizes)
        plain = SmoothedSums(
            clusters=out[:-1],
            outliers=out[-1],
            totals=self.totals + prior * self.total_weight,
            count_log_sizes=out_log_sizes,
            weight_sums=weight_sums,
            n_rows=self.total_weight,
            prior=prior,
            batches=None if self.n_batches == 1 else self._smoothed_batches(prior),
        )
        weights = self.column_weights
        return plain if weights is None else plain.weighted(weights)

    def _smoothed_batches(self, prior: float) -> BatchCells:
        weights = self.cell_weights.reshape(-1, self.n_batches)
        cells = self.by_batch + prior * weights[:, :, None]
        return BatchCells(
            clusters=cells[:-1],
            outliers=cells[-1],
            totals=self.batch_totals + prior * self.batch_weights[:, None],
            weight_sums=weights[:-1],
            batch_weights=self.batch_weights,
        )


def assign(
    counts: Counts,
    profile: Profile,
    labels: Ints,
    sums: Sums,
    workers: Workers,
    *,
    with_sizes: bool,
    row_sizes: Floats | None = None,
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
        workspace = Workspace.of(counts.longest, profile, len(quick.offsets))
        how = profile, quick, workspace, fresh, with_sizes
        moved = row_loops.assign_rows(rows, block, *how, labels, sizes, part.arrays)
        return moved, part

    n_moved = 0
    for moved, part in workers.map(one, blocks):
        n_moved += moved
        if not in_place:
            sums.add(part)
    return n_moved


def _begin_log_sizes(sums: Sums, sizes: Floats) -> None:
    """Make new arrays for u, as copies share them.

    They go on from the old ones where each row is in u with a size that is kept, and
    differences of logarithms add exactly; otherwise from nothing.
    """
    if sums.adds_exactly and len(sizes) > 0 and sizes.min() > 0:  # not where one is NaN
        sums.count_log_sizes = sums.count_log_sizes.copy()
        sums.log_size_total = sums.log_size_total.copy()
    else:
        sizes[:] = np.nan
        sums.count_log_sizes = np.zeros_like(sums.count_log_sizes)
        sums.log_size_total = np.zeros_like(sums.log_size_total)


def sums_by_profile(
    counts: Counts, profile: Profile, *, with_sizes: bool, labels: Ints | None = None
) -> Sums:
    """Sums of the clusters that a profile puts these rows in, which ``labels`` take."""
    total = Sums.zeros_for(counts, profile.n_clusters)
    if labels is None:
        labels = np.empty(counts.n_rows, dtype=np.int32)
    labels[:] = NOWHERE
    rows, everything, profile = rows_of(counts), (0, counts.n_rows), loadable(profile)
    quick = _quick(counts, profile)
    workspace = Workspace.of(counts.longest, profile, len(quick.offsets))
    how = profile, quick, workspace, True, with_sizes
    row_loops.assign_rows(rows, everything, *how, labels, np.empty(0), total.arrays)
    return total


def _quick(counts: Counts, profile: Profile) -> Quick:
    """Quick scores by a profile, where counts allow them."""
    if not counts.short_rows or counts.column_weights is not None:
        return NO_QUICK
    return quick_of(profile, len(counts.data))


def sum_by_labels(
    counts: Counts,
    labels: Ints,
    n_clusters: int,
    groups: Groups,
    prior: float,
    workers: Workers = SERIAL,
    like: Sums | None = None,
) -> Sums:
    """Sums of given labels (``NOWHERE`` for rows to leave out of the sums).

    ``like`` are sums of the same rows and groups by other labels, from which totals and
    u are taken where these are exact.
    """
    slots = np.empty(len(groups), dtype=np.int32)
    column_loops.fill_slots(groups, slots)
    prior_size = prior * weight_of(counts.column_weights, groups != NOISE)
    total = Sums.zeros_for(counts, n_clusters)
    total.n_rows = counts.n_rows
    if counts.weights is not None:
        total.sum_of_weights = counts.total_weight
    total.batch_weights[:] = counts.total_weight
    if counts.batches is not None and counts.n_batches > 1:
        each = np.bincount(counts.batches, counts.weights, counts.n_batches)
        total.batch_weights[:] = each
    rows = rows_of(counts)
    blocks = counts.shares(workers.n_jobs) if counts.whole else counts.blocks
    in_place = counts.whole and (workers.n_jobs == 1 or len(blocks) == 1)

    known = like is not None and counts.whole and like.adds_exactly

    def one(block: tuple[int, int]) -> Sums:
        part = total if in_place else Sums.zeros_for(counts, n_clusters)
        how = labels, slots, prior_size, known
        row_loops.sum_rows(rows, block, *how, part.arrays)
        return part

    for part in (workers.serial() if in_place else workers).map(one, blocks):
        if not in_place:
            total.add(part)
    if known and like is not None:
        total.copy_totals_from(like)
        total.count_log_sizes = like.count_log_sizes
        total.log_size_total = like.log_size_total
    return total
