"""Tables drawn from the model in which all rows are one cluster.

Column j of a row of size r has the mean r p_j and more variance than a Poisson count:
(1 + e) r p_j, where e is φ_j - 1 times the size of the row (over its mean) to a power
from 0 to 1. Power 0 is a variance in proportion to the mean, 1 is that of the usual
negative binomial; rows that vary in size tell them apart. Counts are negative binomial.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
class JoinedModel:
    """Sizes of rows, shares and dispersions of columns of a table without empty ones.

    ``dispersions`` are φ_j as in ``dispersion``, without a prior, and 1 at least.
    """

    sizes: NDArray[np.float64]
    shares: NDArray[np.float64]
    dispersions: NDArray[np.float64]
    power: float
    dense: bool

    @classmethod
    def of(cls, table: Table) -> JoinedModel:
        """Measure a table."""
        sizes = np.asarray(table.sum(axis=1), dtype=float)
        totals = np.asarray(table.sum(axis=0), dtype=float)
        shares = totals / totals.sum()
        squares = squared(table)
        found = _dispersions(table, squares, sizes, totals)
        power = _power(table, squares, sizes, shares, found)
        return cls(sizes, shares, found, power, isinstance(table, np.ndarray))

    @property
    def row_factors(self) -> NDArray[np.float64]:
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

    def _cells(
        self, rng: np.random.Generator, columns: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Counts of all cells of these columns: Poisson with a gamma mean."""
        means = np.outer(self.sizes, self.shares[columns])
        varying = self.dispersions[columns] > 1 + POISSON
        excess = np.outer(self.row_factors, self.dispersions[columns[varying]] - 1)
        means[:, varying] = rng.standard_gamma(means[:, varying] / excess) * excess
        return rng.poisson(means).astype(np.float64)

    def _scattered(
        self, rng: np.random.Generator, columns: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
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


def _group_rate(excess: NDArray[np.float64]) -> NDArray[np.float64]:
    """Groups for each count: log(1 + e) / e."""
    safe = np.maximum(excess, POISSON)
    return np.log1p(safe) / safe


def _dispersions(
    table: Table,
    squares: Table,
    sizes: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Pearson's statistic by degrees of freedom with Fletcher's factor, 1 at least."""
    n_rows, shares, inverse = len(sizes), totals / totals.sum(), 1.0 / sizes
    pearson = squares.T @ inverse / shares - totals
    ratios = table.T @ inverse / shares / n_rows
    return np.maximum(1.0, pearson / max(1, n_rows - 1) / ratios)


def _power(
    table: Table,
    squares: Table,
    sizes: NDArray[np.float64],
    shares: NDArray[np.float64],
    dispersions: NDArray[np.float64],
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
