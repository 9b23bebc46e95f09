"""Counts with planted clusters and column groups, written to disk block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from threecpo.io.blocks import write_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

NOISE_SHARE = 0.2


@dataclass(frozen=True)
class Planted:
    """A quarter of the columns relevant, a half shared, a quarter noise."""

    n_rows: int
    n_columns: int
    n_clusters: int
    row_counts: int = 1100
    block_rows: int = 4000
    seed: int = 0

    @property
    def groups(self) -> NDArray[np.int8]:
        quarter = self.n_columns // 4
        sizes = [quarter, self.n_columns - 2 * quarter, quarter]
        return np.repeat(np.array([1, 0, -1], dtype=np.int8), sizes)

    def labels(self) -> NDArray[np.int64]:
        rng = np.random.default_rng([self.seed, 1])
        weights = rng.dirichlet(np.full(self.n_clusters, 5.0))
        return rng.choice(self.n_clusters, self.n_rows, p=weights)

    def blocks(self) -> Iterator[sp.csr_array]:
        """Blocks one by one, each from its own seed."""
        rng = np.random.default_rng([self.seed, 0])
        groups, labels = self.groups, self.labels()
        base = rng.gamma(0.7, size=self.n_columns) + 0.05
        reaches = []
        for _ in range(self.n_clusters):
            rates = np.where(groups == -1, 0.0, base)
            own = groups == 1
            rates[own] *= rng.lognormal(0.0, 1.0, size=own.sum())
            rates[own] *= base[own].sum() / rates[own].sum()
            reaches.append(np.cumsum(rates / rates.sum()))
        noise = np.cumsum(np.where(groups == -1, base, 0.0))
        for first in range(0, self.n_rows, self.block_rows):
            part = labels[first : first + self.block_rows]
            yield self._block(part, reaches, noise / noise[-1], first)

    def _block(
        self,
        labels: NDArray[np.int64],
        reaches: list[NDArray[np.float64]],
        noise: NDArray[np.float64],
        first: int,
    ) -> sp.csr_array:
        rng = np.random.default_rng([self.seed, 2, first])
        n_rows = len(labels)
        mean = self.row_counts * (1 - NOISE_SHARE)
        sizes = rng.poisson(rng.gamma(4.0, mean / 4.0, size=n_rows))
        extra = rng.poisson(self.row_counts * NOISE_SHARE, size=n_rows)
        rows, columns = [], []
        for reach, numbers in [
            *((r, np.where(labels == k, sizes, 0)) for k, r in enumerate(reaches)),
            (noise, extra),
        ]:
            rows.append(np.repeat(np.arange(n_rows, dtype=np.int32), numbers))
            draws = rng.random(int(numbers.sum()))
            found = np.searchsorted(reach, draws, side="right")
            columns.append(np.minimum(found, self.n_columns - 1).astype(np.int32))
        places = (np.concatenate(rows), np.concatenate(columns))
        ones = np.ones(len(places[0]), dtype=np.int32)
        shape = (n_rows, self.n_columns)
        return sp.coo_array((ones, places), shape=shape).tocsr()

    def write(self, folder: Path) -> None:
        write_blocks(self.blocks(), folder)
