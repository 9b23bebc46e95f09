"""Whether two parts of some rows are more than the best that chance would divide.

The statistic is the likelihood that a division of the rows in two gains, with counts in
units of their dispersion. Clusters were found on the same rows, and any rows can be
divided with a gain. So it is compared with what the best divisions of tables gain that
are drawn from the null model, which is one cluster, measured on each in the same way,
with the same sizes of the two parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy import stats

from .model import log

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .codes import Floats
    from .workers import Workers

    # A numpy array, or a sparse one in rows.
    Table = Any

# Tables of few cells, not many of them zero, are dense.
MOST_DENSE_CELLS = 1 << 22
DENSE_SHARE = 0.15
POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Columns with more counts than this per row are drawn cell by cell.
MANY_COUNTS = 0.5
POISSON = 1e-9
# Rows are drawn from a list of at most about so many places, or so many for each.
MOST_PLACES = 1 << 20
PLACES_PER_ROW = 64


def as_table(matrix: sp.csr_array) -> Table:
    """Return the counts in the form that is quicker to work with."""
    n_cells = matrix.shape[0] * matrix.shape[1]
    if matrix.nnz > DENSE_SHARE * n_cells and n_cells <= MOST_DENSE_CELLS:
        return matrix.toarray()
    return matrix


def without_empty(table: Table) -> tuple[Table, NDArray[np.bool_]]:
    """Drop rows and columns without counts; also return which rows are left."""
    rows = np.asarray(table.sum(axis=1)) > 0
    columns = np.asarray(table.sum(axis=0)) > 0
    if not rows.all():
        table = table[np.flatnonzero(rows)]
    if not columns.all():
        table = table[:, np.flatnonzero(columns)]
    return table, rows


def squared(table: Table) -> Table:
    """Squares of the counts."""
    return table * table if isinstance(table, np.ndarray) else table.power(2)


@dataclass(frozen=True)
class NullModel:
    """Sizes of rows, shares and dispersions of columns of a table without empty ones.

    ``dispersions`` are φ_j as in ``dispersion``, without a prior, and 1 at least.
    """

    sizes: Floats
    shares: Floats
    dispersions: Floats
    power: float
    dense: bool

    @classmethod
    def of(cls, table: Table) -> NullModel:
        """Measure a table."""
        sizes = np.asarray(table.sum(axis=1), dtype=float)
        totals = np.asarray(table.sum(axis=0), dtype=float)
        shares = totals / totals.sum()
        squares = squared(table)
        found = _dispersions(table, squares, sizes, totals)
        power = _power(table, squares, sizes, shares, found)
        return cls(sizes, shares, found, power, isinstance(table, np.ndarray))

    @property
    def row_factors(self) -> Floats:
        """How many times the mean excess of a column the rows have; 1 on average."""
        factors = (self.sizes / self.sizes.mean()) ** self.power
        return factors / factors.mean()

    def draw(self, rng: np.random.Generator) -> Table:
        """Draw a table of the same shape."""
        if self.dense:
            return self._cells(rng, np.arange(len(self.shares)))
        totals = self.shares * self.sizes.sum()
        many = totals > MANY_COUNTS * len(self.sizes)
        few = self._scattered(rng, np.flatnonzero(~many))
        cells = sp.coo_array(self._cells(rng, np.flatnonzero(many)))
        columns = np.flatnonzero(many)[cells.col]
        parts = [few, (cells.data, cells.row, columns)]
        data, row, column = (np.concatenate(each) for each in zip(*parts, strict=True))
        shape = len(self.sizes), len(self.shares)
        return sp.coo_array((data, (row, column)), shape=shape).tocsr()

    def _cells(self, rng: np.random.Generator, columns: NDArray[np.intp]) -> Floats:
        """Counts of all cells of these columns: Poisson with a gamma mean."""
        means = np.outer(self.sizes, self.shares[columns])
        varying = self.dispersions[columns] > 1 + POISSON
        excess = np.outer(self.row_factors, self.dispersions[columns[varying]] - 1)
        means[:, varying] = rng.standard_gamma(means[:, varying] / excess) * excess
        return rng.poisson(means).astype(np.float64)

    def _scattered(
        self, rng: np.random.Generator, columns: NDArray[np.intp]
    ) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
        """Counts of columns with few: a Poisson number of groups of counts.

        A negative binomial count is a sum of groups whose sizes have the logarithmic
        distribution, so that only cells with counts are visited.
        """
        excess, factors = self.dispersions[columns] - 1, self.row_factors
        most = _group_rate(excess * factors.min())
        means = self.shares[columns] * self.sizes.sum()
        place = np.repeat(np.arange(len(columns)), rng.poisson(means * most))
        row = self._places[rng.integers(len(self._places), size=len(place))]
        own = excess[place] * factors[row]
        kept = rng.random(len(place)) * most[place] < _group_rate(own)
        place, row, own = place[kept], row[kept], own[kept]
        groups = np.ones(len(place))
        several = own > POISSON
        groups[several] = rng.logseries(own[several] / (1 + own[several]))
        return groups, row, columns[place]

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """Each row as often as it has counts, or in proportion to its size."""
        times, total = self.sizes, self.sizes.sum()
        if total > MOST_PLACES or (times != np.floor(times)).any():
            n_places = max(MOST_PLACES, PLACES_PER_ROW * len(times))
            times = np.maximum(1.0, np.round(times * (n_places / total)))
        return np.repeat(np.arange(len(times)), times.astype(np.intp))


def _group_rate(excess: Floats) -> Floats:
    """Groups for each count: log(1 + e) / e."""
    safe = np.maximum(excess, POISSON)
    return np.log1p(safe) / safe


def _dispersions(table: Table, squares: Table, sizes: Floats, totals: Floats) -> Floats:
    """Pearson's statistic by degrees of freedom with Fletcher's factor, 1 at least.

    Equal to ``dispersion.dispersions`` of one cluster without a prior, for tables that
    are drawn dense or sparse and never become counts.
    """
    n_rows, shares, inverse = len(sizes), totals / totals.sum(), 1.0 / sizes
    pearson = squares.T @ inverse / shares - totals
    ratios = table.T @ inverse / shares / n_rows
    return np.maximum(1.0, pearson / max(1, n_rows - 1) / ratios)


def _power(
    table: Table, squares: Table, sizes: Floats, shares: Floats, dispersions: Floats
) -> float:
    """Power of the size with which the excess of the rows grows, by least squares."""
    means = shares * sizes.mean()
    weights = means / (1 + means) / dispersions**2
    observed = (
        squares @ (weights / shares) / sizes
        - 2 * (table @ weights)
        + sizes * (weights @ shares)
        - weights.sum()
    )
    expected = weights @ (dispersions - 1)
    relative = sizes / sizes.mean()

    def misfit(power: float) -> float:
        factors = relative**power
        return float(((observed - expected * factors / factors.mean()) ** 2).sum())

    return min(POWERS, key=misfit)


# Tables that are drawn at first; if they leave a doubt, there are as many as below.
FIRST_DRAWS = 4
ALL_DRAWS = 20
# After the first tables a division is no longer in doubt if its p-value is above the
# one, or below this part of the level.
NO_DOUBT = 0.3
CLEAR_PART = 0.05
# Directions of most variance, on both sides of which divisions start.
DIRECTIONS = 2
POWER_STEPS = 3
MOST_STEPS = 10
# Steps end that gain less than this part.
LEAST_GAIN = 1e-3
# Part of the overall shares in those of each side, so that logarithms exist.
SMOOTHING = 1e-3


@dataclass(frozen=True)
class SplitResult:
    """Gain of a division and of the best ones of drawn tables, all in nats.

    ``z`` is how far it lies above them in standard deviations, ``p_value`` that of a
    t-test for one more value.
    """

    gain: float
    null_mean: float
    z: float
    p_value: float


def split_result(
    matrix: sp.csr_array,
    inside: NDArray[np.bool_],
    level: float,
    seed: np.random.SeedSequence,
    workers: Workers,
) -> SplitResult:
    """Test the division of the rows into those inside and the rest."""
    table, kept = without_empty(as_table(matrix))
    inside = inside[kept]
    if inside.sum() * 2 > len(inside):
        inside = ~inside
    n_inside = int(inside.sum())
    if n_inside == 0 or table.shape[1] < 2:
        return SplitResult(0.0, 0.0, 0.0, 1.0)
    model = NullModel.of(table)
    found = _refined_gains(_in_units(table, model), inside[:, None].astype(float))
    gain = float(found.max())
    seeds = seed.spawn(ALL_DRAWS)
    one = partial(_null_gain, model, n_inside)
    nulls = list(workers.map(one, seeds[:FIRST_DRAWS]))
    result = _compared(gain, nulls)
    if CLEAR_PART * level < result.p_value < NO_DOUBT:
        nulls += workers.map(one, seeds[FIRST_DRAWS:])
        result = _compared(gain, nulls)
    return result


def _compared(gain: float, nulls: list[float]) -> SplitResult:
    n, mean, sd = len(nulls), float(np.mean(nulls)), float(np.std(nulls, ddof=1))
    spread = max(sd * np.sqrt(1 + 1 / n), np.finfo(float).tiny)
    z = (gain - mean) / spread
    return SplitResult(gain, mean, z, float(stats.t.sf(z, n - 1)))


def _null_gain(model: NullModel, n_inside: int, seed: np.random.SeedSequence) -> float:
    """Gain of the best division of a drawn table."""
    rng = np.random.default_rng(seed)
    table, _ = without_empty(model.draw(rng))
    n_inside = min(n_inside, table.shape[0] // 2)
    if n_inside == 0 or table.shape[1] < 2:
        return 0.0
    units = _in_units(table, NullModel.of(table))
    return float(_refined_gains(units, _starts(units, n_inside, rng)).max())


def _in_units(table: Table, model: NullModel) -> Table:
    """Counts over the dispersions of their columns."""
    if isinstance(table, np.ndarray):
        return table / model.dispersions
    units = table.copy()
    units.data = units.data / model.dispersions[units.indices]
    return units


def _starts(units: Table, n_inside: int, rng: np.random.Generator) -> Floats:
    """Divisions by the directions of most variance: the rows at either end."""
    sizes, totals = np.asarray(units.sum(axis=1)), np.asarray(units.sum(axis=0))
    root_shares = np.sqrt(totals / totals.sum())
    directions = rng.standard_normal((len(totals), DIRECTIONS))
    for _ in range(POWER_STEPS):
        # Residuals over their deviations, X - r p over root r p, are never formed.
        places = units @ (directions / root_shares[:, None])
        places -= sizes[:, None] * (root_shares @ directions)
        places /= sizes[:, None]
        back = (units.T @ places) / root_shares[:, None]
        back -= np.outer(root_shares, sizes @ places)
        directions, _ = np.linalg.qr(back)
    scores = units @ (directions / root_shares[:, None])
    scores -= sizes[:, None] * (root_shares @ directions)
    return np.hstack([_ends(scores, n_inside), _ends(-scores, n_inside)])


def _ends(scores: Floats, n_inside: int) -> Floats:
    """Mark the rows of the largest scores in each column."""
    inside = np.zeros_like(scores)
    best = np.argpartition(-scores, n_inside - 1, axis=0)[:n_inside]
    np.put_along_axis(inside, best, 1.0, axis=0)
    return inside


def _refined_gains(units: Table, inside: Floats) -> Floats:
    """Move rows to the side that they fit until that gains nothing; return the gains.

    Each column of ``inside`` is a division, whose sizes are kept.
    """
    totals, n_inside = np.asarray(units.sum(axis=0)), int(inside[:, 0].sum())
    background = SMOOTHING * n_inside / len(inside) * totals
    gains = np.full(inside.shape[1], -np.inf)
    for _ in range(MOST_STEPS):
        sums = np.clip((units.T @ inside).T, 0.0, totals)
        now = _gains(sums, totals)
        if (now <= gains * (1 + LEAST_GAIN)).all():
            break
        gains = np.maximum(gains, now)
        near, far = sums + background, totals - sums + background
        weights = np.log(near / near.sum(axis=1, keepdims=True))
        weights -= np.log(far / far.sum(axis=1, keepdims=True))
        inside = _ends(units @ weights.T, n_inside)
    return gains


def _gains(sums: Floats, totals: Floats) -> Floats:
    """Likelihood that divisions gain, from the sums of one side."""

    def value(parts: Floats) -> Floats:
        whole = parts.sum(axis=-1)
        return (parts * log(parts)).sum(axis=-1) - whole * log(whole)

    return value(sums) + value(totals - sums) - value(totals[None])
