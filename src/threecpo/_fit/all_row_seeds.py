"""Rows to start from, drawn from all rows over several readings, as in k-means||.

Every reading draws rows with odds in proportion to their distance from those drawn so
far: row i has the key E_i / d_i, with E_i exponential, from a hash of its number, and
the rows of the smallest keys are taken (Efraimidis and Spirakis, 2006). So blocks need
not know each other, and the same rows are drawn for any cut and any workers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._core import seeding
from .._core.codes import RELEVANT
from .._core.counts import stacked
from .._core.sums import sum_by_labels
from .._core.workers import SERIAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.sums import Sums
    from .engine import Engine

# Readings that draw rows, and how many times K rows each of them draws.
ROUNDS = 4
TIMES_CLUSTERS = 2


class DrawnRows(NamedTuple):
    """Rows with the smallest keys: numbers and counts, in the order of the keys."""

    keys: NDArray[np.float64]
    numbers: NDArray[np.int64]
    counts: Counts


@dataclass(frozen=True, eq=False)
class AllRowSeeds:
    """Draws rows of all blocks, far from each other inside the first C1.

    ``first_rows`` are the numbers of the first row of each block.
    """

    engine: Engine
    first_rows: NDArray[np.int64]
    groups: NDArray[np.int8]
    n_clusters: int
    prior: float
    entropy: int

    def candidates(self) -> Counts:
        """Rows that were drawn; the weight of each is how many rows it is next to."""
        found: Counts | None = None
        for turn in range(ROUNDS + 1):
            n_rows = 1 if found is None else TIMES_CLUSTERS * self.n_clusters
            keys = _Keys(self.entropy + turn, n_rows, self.first_rows)
            drawn = self.engine.fold(
                partial(_draw, keys, self._distances(found)), partial(_nearest, n_rows)
            )
            found = drawn.counts if found is None else stacked([found, drawn.counts])
        assert found is not None
        near = self._distances(found)
        assert near is not None
        members = self.engine.fold(partial(_members, near), np.add)
        # Parts of 1 are what rows are drawn in proportion to.
        return replace(found, weights=members / members.sum())

    def _distances(self, rows: Counts | None) -> Nearest | None:
        if rows is None:
            return None
        inside = seeding.without_margins(rows.columns(self.groups == RELEVANT))
        return Nearest(inside, self.groups, self.prior)


def seed_sums(
    candidates: Counts,
    groups: NDArray[np.int8],
    n_clusters: int,
    prior: float,
    seed: np.random.SeedSequence,
) -> Sums:
    """Sums of one row in each cluster, drawn from candidates by k-means++."""
    inside = candidates.columns(groups == RELEVANT)
    start = seeding.poisson_plus_plus(inside, prior)
    labels = start(np.random.default_rng(seed), n_clusters, SERIAL)
    once = candidates.with_rows(None)
    return sum_by_labels(once, labels, n_clusters, groups, prior)


@dataclass(frozen=True, eq=False)
class Nearest:
    """Finds the nearest of some rows, given inside C1."""

    rows: Counts
    groups: NDArray[np.int8]
    prior: float

    def __call__(self, counts: Counts) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Which of them is nearest to each row of a block, and how far it is."""
        inside = seeding.without_margins(counts.columns(self.groups == RELEVANT))
        distances = seeding.RowDistances.of(inside, self.prior)
        others = seeding.RowTerms.of(self.rows, self.prior)
        nearest = np.zeros(counts.n_rows, dtype=np.intp)
        closest = distances.to(others, 0)
        for k in range(1, self.rows.n_rows):
            further = distances.to(others, k)
            nearer = further < closest
            nearest[nearer], closest[nearer] = k, further[nearer]
        return nearest, closest


@dataclass(frozen=True, eq=False)
class _Keys:
    seed: int
    n_rows: int
    first_rows: NDArray[np.int64]

    def of_block(
        self, index: int, n_rows: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Numbers of the rows of a block, and an exponential of each."""
        numbers = self.first_rows[index] + np.arange(n_rows)
        return numbers, -np.log1p(-uniforms(self.seed, numbers))


def uniforms(seed: int, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """A number in [0, 1) for each row, by its number alone (SplitMix64)."""
    with np.errstate(over="ignore"):
        x = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x += np.uint64(seed % 2**64) * np.uint64(0xD1342543DE82EF95)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _draw(keys: _Keys, near: Nearest | None, index: int, counts: Counts) -> DrawnRows:
    """Rows of a block with the smallest keys."""
    numbers, exponentials = keys.of_block(index, counts.n_rows)
    odds = np.ones(counts.n_rows) if near is None else near(counts)[1]
    if counts.weights is not None:
        odds = odds * counts.weights
    found = np.full(counts.n_rows, np.inf)
    np.divide(exponentials, odds, out=found, where=odds > 0)
    order = np.lexsort((numbers, found))[: keys.n_rows]
    return DrawnRows(found[order], numbers[order], counts.rows(order))


def _nearest(n_rows: int, a: DrawnRows, b: DrawnRows) -> DrawnRows:
    """Rows with the smallest keys of two parts; equal ones by their numbers."""
    keys, numbers = (np.concatenate(pair) for pair in zip(a[:2], b[:2], strict=True))
    order = np.lexsort((numbers, keys))[:n_rows]
    parts = [part.counts for part in (a, b) if part.counts.n_rows]
    rows = stacked(parts or [a.counts]).rows(order)
    return DrawnRows(keys[order], numbers[order], rows)


def _members(near: Nearest, _: int, counts: Counts) -> NDArray[np.float64]:
    """Rows of a block that are next to each of some rows."""
    nearest, _distances = near(counts)
    return np.bincount(nearest, counts.weights, near.rows.n_rows).astype(np.float64)
