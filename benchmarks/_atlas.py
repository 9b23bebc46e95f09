"""Cells with planted clusters: profiles and sizes of real cells, as many as asked for.

The clusters are the cell types of pbmc_kang, each changed in some of its genes as often
as more clusters are wanted; sizes fall geometrically to 0.1 % of the cells. The counts
of a cell are negative binomial: as many molecules as a real cell has come in bursts,
whose genes are drawn from the profile and whose lengths are log-series numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numba import njit

from _common import load, missing_data, say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

CELLS = "pbmc_kang"
# Of a gene, variance over mean in one cluster.
DISPERSION = 1.5
# Part of the genes that a cluster has more or less of than its cell type, how much so
# (standard deviation of the logarithm), and the smallest cluster's part of the cells.
CHANGED, CHANGE = 0.03, 1.5
SMALLEST = 0.001
BLOCK_ROWS = 4096
# Entries of the table that lengths of bursts are drawn from.
LENGTHS = 4096


@dataclass(frozen=True)
class RealCells:
    """What is taken from real cells: counts by type, and their sizes."""

    by_type: NDArray[np.float64]
    sizes: NDArray[np.float64]

    @classmethod
    def of(cls, X: sp.csr_array, labels: NDArray[np.int64]) -> RealCells:
        types = np.unique(labels)
        sums = [np.asarray(X[labels == t].sum(axis=0)).ravel() for t in types]
        return cls(np.array(sums, dtype=float), np.asarray(X.sum(axis=1)).ravel())

    @classmethod
    def read(cls, folder: Path) -> RealCells:
        """Those of a folder of data; ends the program if it does not have them."""
        if missing := missing_data(folder, [CELLS]):
            say(missing)
            raise SystemExit(2)
        real = load(folder, CELLS)
        return cls.of(real.matrix, real.labels)


@dataclass(frozen=True)
class Atlas:
    """A table of cells, whose blocks follow from a seed one by one."""

    cells: RealCells
    n_rows: int = 1_306_127
    n_columns: int = 27_998
    n_clusters: int = 20
    stored_in_row: float = 1990.0
    seed: int = 0
    rare: tuple[float, ...] = ()

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Part of the cells in each cluster, falling to the smallest or the rare."""
        n_common = self.n_clusters - len(self.rare)
        steps = np.arange(n_common) / max(1, n_common - 1)
        smallest = 0.02 if self.rare else SMALLEST
        falling = np.exp(steps * np.log(smallest * n_common / 4))
        rest = falling / falling.sum()
        if self.rare:
            return np.append(rest * (1 - sum(self.rare)), self.rare)
        rest[-1] = SMALLEST
        return rest / rest.sum()

    @cached_property
    def changed(self) -> NDArray[np.bool_]:
        """Which genes each cluster has more or less of than its type."""
        rng = np.random.default_rng([self.seed, 1])
        return rng.random((self.n_clusters, self.n_columns)) < CHANGED

    @cached_property
    def profiles(self) -> NDArray[np.float64]:
        """Part of the bursts of a cell of each cluster that each gene has."""
        rng = np.random.default_rng([self.seed, 2])
        n_types, n_real = self.cells.by_type.shape
        # Real genes as often as needed, first each of them once.
        genes = np.arange(self.n_columns) % n_real
        shift = rng.lognormal(0.0, 0.5, self.n_columns)
        types = np.arange(self.n_clusters) % n_types
        rates = (self.cells.by_type[types][:, genes] + 0.5) * shift
        factors = rng.lognormal(0.0, CHANGE, rates.shape)
        rates *= np.where(self.changed, factors, 1.0)
        return rates / rates.sum(axis=1, keepdims=True)

    @cached_property
    def labels(self) -> NDArray[np.int32]:
        rng = np.random.default_rng([self.seed, 3])
        drawn = rng.choice(self.n_clusters, self.n_rows, p=self.shares)
        return drawn.astype(np.int32)

    @cached_property
    def bursts(self) -> NDArray[np.int32]:
        """Bursts of each cell: sizes of real cells, for as many stored counts."""
        rng = np.random.default_rng([self.seed, 4])
        sizes = rng.choice(self.cells.sizes, self.n_rows)
        sizes = sizes / self.cells.sizes.mean()
        middle = np.average(
            [self._bursts_for(p) for p in self.profiles], weights=self.shares
        )
        return np.maximum(1, np.rint(sizes * middle)).astype(np.int32)

    def _bursts_for(self, profile: NDArray[np.float64]) -> float:
        """Bursts that hit as many different genes as are to be stored, on average."""
        sizes = self.cells.sizes / self.cells.sizes.mean()
        quantiles = np.quantile(sizes, np.linspace(0.01, 0.99, 25))
        low, high = 1.0, 1e7
        while high / low > 1.001:
            middle = np.sqrt(low * high)
            hits = np.mean([-np.expm1(-profile * middle * q).sum() for q in quantiles])
            low, high = (middle, high) if hits < self.stored_in_row else (low, middle)
        return float(low)

    def block(self, index: int) -> sp.csr_array:
        """Rows of one block."""
        first = index * BLOCK_ROWS
        rows = slice(first, min(self.n_rows, first + BLOCK_ROWS))
        state = np.random.SeedSequence([self.seed, 5, index]).generate_state(2, "u8")
        indptr, indices, data = _draw(
            self._reaches, self.labels[rows], self.bursts[rows], self._lengths, state
        )
        shape = (len(indptr) - 1, self.n_columns)
        return sp.csr_array((data, indices, indptr), shape=shape)

    @property
    def n_blocks(self) -> int:
        return -(-self.n_rows // BLOCK_ROWS)

    def blocks(self, start: int = 0) -> Iterator[sp.csr_array]:
        for index in range(start, self.n_blocks):
            yield self.block(index)

    @cached_property
    def _reaches(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Tables that draw a gene in constant time (Walker's alias method)."""
        tables = [_alias(profile) for profile in self.profiles]
        return np.array([t[0] for t in tables]), np.array([t[1] for t in tables])

    @cached_property
    def _lengths(self) -> NDArray[np.uint8]:
        """Lengths 1, 2, … of bursts, each as often as drawn: log-series numbers."""
        # Variance over mean of a sum of such bursts is 1 / (1 - p).
        p = 1 - 1 / DISPERSION
        k = np.arange(1, 64)
        reach = np.cumsum(p**k / k) / -np.log1p(-p)
        places = (np.arange(LENGTHS) + 0.5) / LENGTHS
        return (1 + np.searchsorted(reach, places)).astype(np.uint8)


@njit(cache=True)
def _alias(profile):
    """Chance to stay, and where to go otherwise, for each gene."""
    n = len(profile)
    stay, other = profile * n, np.arange(n).astype(np.int32)
    small = [i for i in range(n) if stay[i] < 1.0]
    large = [i for i in range(n) if stay[i] >= 1.0]
    while small and large:
        a, b = small.pop(), large[-1]
        other[a] = b
        stay[b] -= 1.0 - stay[a]
        if stay[b] < 1.0:
            small.append(large.pop())
    for i in small:
        stay[i] = 1.0
    for i in large:
        stay[i] = 1.0
    return stay.astype(np.float32), other


@njit(cache=True, nogil=True)
def _draw(tables, labels, bursts, lengths, state):
    """Counts of some rows, sorted by column; random numbers by xoroshiro128+."""
    stay, other = tables
    n_columns = stay.shape[1]
    row = np.zeros(n_columns, dtype=np.int32)
    indptr = np.zeros(len(labels) + 1, dtype=np.int64)
    room = np.int64(bursts.sum())
    indices = np.empty(room, dtype=np.int32)
    data = np.empty(room, dtype=np.int32)
    at = 0
    s0, s1 = state[0], state[1]
    low = np.uint64(0xFFFFFFFF)
    for i in range(len(labels)):
        stays, others = stay[labels[i]], other[labels[i]]
        for _ in range(bursts[i]):
            drawn = s0 + s1
            s1 ^= s0
            s0 = (
                ((s0 << np.uint64(24)) | (s0 >> np.uint64(40)))
                ^ s1
                ^ (s1 << np.uint64(16))
            )
            s1 = (s1 << np.uint64(37)) | (s1 >> np.uint64(27))
            # 40 bits for the gene and whether it stays, 12 others for the length.
            place = (drawn >> np.uint64(24)) * np.uint64(n_columns)
            j = np.int64(place >> np.uint64(40))
            rest = (place >> np.uint64(8)) & low
            if np.float32(rest) * np.float32(2.0**-32) >= stays[j]:
                j = np.int64(others[j])
            row[j] += lengths[(drawn >> np.uint64(12)) & np.uint64(LENGTHS - 1)]
        for j in range(n_columns):
            if row[j]:
                indices[at] = j
                data[at] = row[j]
                row[j] = 0
                at += 1
        indptr[i + 1] = at
    return indptr, indices[:at].copy(), data[:at].copy()
