"""Where a run starts: first columns, distances between rows, first rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .batch_model import margin_effects
from .codes import NOISE, NOWHERE, RELEVANT, all_relevant
from .counts import Counts
from .kmeans import lloyd
from .loops import distances as distance_loops
from .loops.records import CsrRows, rows_of
from .matrices import from_sparse
from .model import log
from .sums import sum_by_labels
from .workers import SERIAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .codes import Floats, Groups, Ints
    from .sums import Sums
    from .workers import Workers

    # From a random generator and a number of clusters to labels.
    Start = Callable[[np.random.Generator, int, Workers], Ints]

TABLE_SIZE = 1 << 18


def x_log_x_table(largest: float, prior: float) -> Floats:
    """X log X at X = 0 + prior, 1 + prior, …; larger counts take the logarithm."""
    return x_log_x(np.arange(min(largest, TABLE_SIZE - 1) + 1) + prior)


def x_log_x(x: Floats) -> Floats:
    """X log X, which is 0 at 0."""
    return x * log(x)


def column_information(counts: Counts, prior: float) -> Floats:
    """h(j): divergence of a column's rows from the rows' shares of all counts.

    Its Σ_i X_ij log r_i is the u_j of the sums with every column in use.
    """
    everything = all_relevant(counts.n_columns)
    nowhere = np.full(counts.n_rows, NOWHERE, dtype=np.int32)
    sums = sum_by_labels(counts, nowhere, 0, everything, prior)
    return information_of(sums, x_log_x_above(counts, prior), prior)


def without_margins(counts: Counts) -> Counts:
    """Counts over the share of their column in the batch, times column weights."""
    if counts.column_weights is not None:
        data = counts.data * counts.column_weights[counts.indices]
        counts = replace(counts, data=data, odd_values=True, column_weights=None)
    if counts.batches is None:
        return counts
    nowhere = np.full(counts.n_rows, NOWHERE, dtype=np.int32)
    everything = all_relevant(counts.n_columns)
    sums = sum_by_labels(counts, nowhere, 0, everything, 0.0)
    effects = margin_effects(sums.batch_totals)
    batches = np.repeat(counts.batches, np.diff(counts.indptr))
    data = counts.data / effects[batches, counts.indices]
    info = replace(counts.row_info, batches=None, batch_names=())
    return replace(counts, data=data, odd_values=True, row_info=info)


def x_log_x_above(counts: Counts, prior: float) -> Floats:
    """Sum of X log X over each column, above its value without counts."""
    above = np.zeros(counts.n_columns)
    table = x_log_x_table(float(counts.data.max(initial=0.0)), prior)
    unused = np.zeros(counts.n_rows)
    distance_loops.x_log_x_sums(rows_of(counts), prior, table, unused, above)
    return above


def information_of(sums: Sums, above: Floats, prior: float) -> Floats:
    """h(j) from the sums over all rows with every column in use."""
    smoothed = sums.smoothed(prior)
    totals, count_log_sizes = smoothed.totals, smoothed.count_log_sizes
    own = above + sums.total_weight * x_log_x(np.array([prior]))[0]
    if sums.column_weights is not None:  # X log X of counts times their weights
        own = sums.column_weights * own + smoothed.weight_terms
    used = totals > 0
    information = np.zeros(len(totals))
    information[used] = (own[used] - count_log_sizes[used]) / totals[used]
    if smoothed.batches is None:
        information[used] += np.log(totals[used].sum() / totals[used])
    else:
        own = smoothed.batches.totals
        shares = own / np.maximum(own.sum(axis=1, keepdims=True), 1.0)
        within = (own * log(shares)).sum(axis=0)
        information[used] -= within[used] / totals[used]
    return information


def most_informative(information: Floats) -> Groups:
    """Groups with the better half of the columns in C1 and the others in C-.

    At least two: a single column, and no other to compare it with, tells no rows apart.
    """
    groups = np.full(len(information), NOISE, dtype=np.int8)
    best = np.argsort(-information, kind="stable")[: max(2, len(information) // 2)]
    groups[best] = RELEVANT
    return groups


@dataclass(frozen=True)
class WeightedDraws:
    """Rows drawn by weight: copies of whole weights, or in proportion to others."""

    n_copies: int
    row_of_copy: NDArray[np.int64] | None = None
    weights: Floats | None = None

    @classmethod
    def of(cls, counts: Counts) -> WeightedDraws:
        weights = counts.weights
        if weights is None:
            return cls(counts.n_rows)
        if counts.n_copies == counts.total_weight:
            row_of_copy = np.repeat(np.arange(counts.n_rows), weights.astype(np.int64))
            return cls(len(row_of_copy), row_of_copy)
        return cls(counts.n_rows, weights=weights)

    def rows(self, copies: Any) -> Any:
        """Row of each copy."""
        return copies if self.row_of_copy is None else self.row_of_copy[copies]

    def spread(self, values: Floats) -> Floats:
        """Values of rows as those of copies; in proportion to weights without them."""
        if self.row_of_copy is not None:
            return values[self.row_of_copy]
        return values if self.weights is None else values * self.weights

    def draw(self, rng: np.random.Generator) -> int:
        """Draw one copy."""
        if self.weights is None:
            return int(rng.integers(self.n_copies))
        return int(self.draw_distinct(rng, 1)[0])

    def draw_distinct(self, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
        """Draw several copies, none twice."""
        if self.weights is None:
            return rng.choice(self.n_copies, n, replace=False)
        shares = self.weights / self.weights.sum()
        return rng.choice(self.n_copies, n, replace=False, p=shares)


@dataclass(frozen=True)
class RowTerms:
    """What one row alone adds to its distances: its entries, size and own terms."""

    rows: CsrRows
    row_sizes: Floats
    own: Floats

    @classmethod
    def of(cls, counts: Counts, prior: float) -> RowTerms:
        rows = rows_of(counts)
        largest = float(counts.data.max(initial=0.0))
        single, double = np.zeros(counts.n_rows), np.zeros(counts.n_rows)
        for p, out in ((prior, single), (2 * prior, double)):
            table, unused = x_log_x_table(largest, p), np.zeros(counts.n_columns)
            distance_loops.x_log_x_sums(rows, p, table, out, unused)
        at_zero = x_log_x(np.array([prior, 2 * prior]))
        row_sizes = counts.row_lengths(1) + prior * counts.n_columns
        own = single - double - x_log_x(row_sizes)
        own += counts.n_columns * (at_zero[0] - at_zero[1] / 2)
        return cls(rows, row_sizes, own)


@dataclass(frozen=True)
class RowDistances:
    """Likelihood-ratio distances d(a, b) to the rows of a matrix.

    With f(x) = x log x, d is the sum over columns of f(X_a) + f(X_b) - f(X_a + X_b)
    plus f(r_a + r_b) - f(r_a) - f(r_b). Only columns where both rows count need to be
    visited; what the others add is known from each row alone.
    """

    terms: RowTerms
    by_column: CsrRows
    prior: float
    table: Floats

    @classmethod
    def of(cls, counts: Counts, prior: float) -> RowDistances:
        turned = counts.matrix().tocsc()
        indptr = turned.indptr.astype(np.int64)
        indices = turned.indices.astype(np.int32, copy=False)
        by_column = Counts(indptr, indices, turned.data, counts.n_rows)
        largest = 2 * float(counts.data.max(initial=0.0))
        table = x_log_x_table(largest, 2 * prior)
        return cls(RowTerms.of(counts, prior), rows_of(by_column), prior, table)

    def to_row(self, row: int) -> Floats:
        """Distances of all rows to one of them."""
        return self.to(self.terms, row)

    def to(self, others: RowTerms, row: int) -> Floats:
        """Distances of all rows to a row of ``others``."""
        common = np.zeros(len(self.terms.row_sizes))
        rows = others.rows
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        entries = rows.indices[part], rows.data[part]
        options = 2 * self.prior, self.table
        distance_loops.add_common_columns(self.by_column, *entries, *options, common)
        both = x_log_x(self.terms.row_sizes + others.row_sizes[row])
        return np.maximum(self.terms.own + others.own[row] - common + both, 0.0)


def labels_of_rows(rows: NDArray[np.intp], counts: Counts) -> Ints:
    """Labels with one row in each cluster, known rows in theirs, the others nowhere."""
    labels, held = np.full(counts.n_rows, NOWHERE, dtype=np.int32), counts.known
    first = 0 if held is None else counts.n_known
    labels[rows[::-1]] = np.arange(first, first + len(rows), dtype=np.int32)[::-1]
    return labels if held is None else np.where(held >= 0, held, labels)


@dataclass(frozen=True)
class SquaredDistances:
    """Squared Euclidean distances to the rows of counts."""

    matrix: sp.csr_array
    squares: Floats

    @classmethod
    def of(cls, counts: Counts) -> SquaredDistances:
        return cls(counts.matrix(), counts.row_lengths(2) ** 2)

    def to_row(self, row: int) -> Floats:
        """Distances of all rows to one of them."""
        products = self.matrix @ self.matrix[[row]].toarray()[0]
        return np.maximum(self.squares + self.squares[row] - 2 * products, 0.0)


def plus_plus(
    counts: Counts,
    distances: RowDistances | SquaredDistances,
    from_known: Floats | None = None,
) -> Start:
    """k-means++: each seed the best of 2 + floor(log K) draws in proportion to d.

    Known clusters are seeds already, to which rows have the distances ``from_known``.
    """
    copies = WeightedDraws.of(counts)
    n_copies = copies.n_copies
    taken, n_known = np.empty(0, np.intp), 0
    if counts.known is not None:
        n_known = counts.n_known
        taken = np.flatnonzero(counts.known[copies.rows(np.arange(n_copies))] >= 0)

    def start(
        rng: np.random.Generator, n_clusters: int, workers: Workers = SERIAL
    ) -> Ints:
        n_draws = 2 + int(np.log(n_clusters))
        n_seeds = n_clusters - n_known
        if from_known is None:
            rows = [copies.draw(rng)]
            closest = copies.spread(distances.to_row(copies.rows(rows[0])))
        else:
            rows, closest = [], copies.spread(from_known).copy()
        while len(rows) < n_seeds:
            closest[rows] = 0.0
            cumulative = np.cumsum(closest)
            if not cumulative[-1] > 0:  # nothing but copies of the seeds is left
                rest = np.setdiff1d(np.arange(n_copies), [*taken, *rows])
                rows.extend(rng.choice(rest, n_seeds - len(rows), replace=False))
                break
            draws = rng.random(n_draws) * cumulative[-1]
            drawn = np.searchsorted(cumulative, draws, side="right")
            # Rounding can put a draw on the very end: the last row that has a distance.
            candidates = np.unique(
                np.minimum(drawn, np.searchsorted(cumulative, cumulative[-1]))
            )
            options = []
            for row in candidates:
                workers.check()
                further = copies.spread(distances.to_row(copies.rows(row)))
                options.append(np.minimum(closest, further))
            best = int(np.argmin([option.sum() for option in options]))
            rows.append(int(candidates[best]))
            closest = options[best]
        return labels_of_rows(copies.rows(np.array(rows, dtype=np.intp)), counts)

    return start


def poisson_plus_plus(counts: Counts, prior: float) -> Start:
    """Seeds by k-means++ with d(a, b)."""
    counts = without_margins(counts)
    distances = RowDistances.of(counts, prior)
    return plus_plus(counts, distances, _from_known(counts, distances, prior))


def _from_known(counts: Counts, distances: RowDistances, prior: float) -> Floats | None:
    """Distance of each row to the nearest known cluster; 0 of rows in one."""
    if counts.known is None:
        return None
    rows = np.flatnonzero(counts.known >= 0)
    weights = np.ones(len(rows)) if counts.weights is None else counts.weights[rows]
    shape = (counts.n_known, counts.n_rows)
    members = sp.csr_array((weights, (counts.known[rows], rows)), shape=shape)
    terms = RowTerms.of(from_sparse(members @ counts.matrix()), prior)
    each = (distances.to(terms, k) for k in range(counts.n_known))
    found = reduce(np.minimum, each)
    found[rows] = 0.0
    return found


def random_centers(counts: Counts) -> Start:
    """Distinct rows drawn at random; where clusters are known, from the free rows."""
    free, n_known, some = np.arange(counts.n_rows), 0, counts
    if counts.known is not None:
        free, n_known = np.flatnonzero(counts.known < 0), counts.n_known
        some = counts.rows(free)
    copies = WeightedDraws.of(some)

    def start(rng: np.random.Generator, n_clusters: int, *_: Workers) -> Ints:
        n_seeds = min(n_clusters - n_known, copies.n_copies)
        drawn = copies.rows(copies.draw_distinct(rng, n_seeds))
        return labels_of_rows(free[drawn], counts)

    return start


def random_labels(counts: Counts) -> Start:
    """Every row in a cluster drawn at random."""
    n_rows = counts.n_rows
    return lambda rng, n_clusters, *_: rng.integers(
        n_clusters, size=n_rows, dtype=np.int32
    )


def k_means(counts: Counts, *, shares: bool = False, full: bool = False) -> Start:
    """Euclidean k-means++, or k-means from there, on counts or on row shares."""
    counts = without_margins(counts)
    data = counts.scaled(1) if shares else counts
    seeds = plus_plus(data, SquaredDistances.of(data))
    if not full:
        return seeds

    def start(
        rng: np.random.Generator, n_clusters: int, workers: Workers = SERIAL
    ) -> Ints:
        first = seeds(rng, n_clusters, workers)
        return lloyd(data, first, n_clusters, workers).labels

    return start
