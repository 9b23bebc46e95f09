"""Sums over the rows of each cluster and batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .model import BatchCells

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass
class BatchSums:
    """Sums over the rows of each cluster and batch, without the prior.

    The lines of a cluster stand together, one for each batch; those of the outliers are
    the last. ``totals`` and ``row_masses`` are of all rows of each batch.
    """

    cells: NDArray[np.float64]
    members: NDArray[np.int64]
    masses: NDArray[np.float64]
    totals: NDArray[np.float64]
    row_masses: NDArray[np.float64]

    @classmethod
    def zeros(cls, n_clusters: int, n_columns: int, n_batches: int) -> BatchSums:
        """Sums of no rows."""
        n_lines = (n_clusters + 1) * n_batches
        return cls(
            cells=np.zeros((n_lines, n_columns)),
            members=np.zeros(n_lines, dtype=np.int64),
            masses=np.zeros(n_lines),
            totals=np.zeros((n_batches, n_columns)),
            row_masses=np.zeros(n_batches),
        )

    @property
    def n_batches(self) -> int:
        return len(self.totals)

    @property
    def of_clusters(self) -> NDArray[np.float64]:
        """Sums by cluster (the last: outliers), batch and column."""
        return self.cells.reshape(-1, *self.totals.shape)

    def add(self, other: BatchSums) -> None:
        """Add the sums of other rows."""
        self.cells += other.cells
        self.members += other.members
        self.masses += other.masses
        self.totals += other.totals
        self.row_masses += other.row_masses

    def copy(self) -> BatchSums:
        """Own sums of the clusters; what does not depend on the labels is shared."""
        return replace(
            self,
            cells=self.cells.copy(),
            members=self.members.copy(),
            masses=self.masses.copy(),
        )

    def take(self, order: NDArray[np.intp]) -> BatchSums:
        """Keep the lines of these clusters, in this order."""
        lines = (order[:, None] * self.n_batches + np.arange(self.n_batches)).ravel()
        return replace(
            self,
            cells=self.cells[lines],
            members=self.members[lines],
            masses=self.masses[lines],
        )

    def joined(self, numbers: NDArray[np.int32]) -> BatchSums:
        """Add up the clusters that get the same new number."""
        n_batches = self.n_batches
        out = BatchSums.zeros(int(numbers[-1]), self.cells.shape[1], n_batches)
        lines = (numbers[:, None] * n_batches + np.arange(n_batches)).ravel()
        np.add.at(out.members, lines, self.members)
        np.add.at(out.masses, lines, self.masses)
        for line, row in zip(lines.tolist(), self.cells, strict=True):
            out.cells[line] += row
        return replace(out, totals=self.totals, row_masses=self.row_masses)

    def smoothed(self, prior: float) -> BatchCells:
        """Add the prior's share."""
        cells = self.of_clusters + prior * self.masses.reshape(-1, self.n_batches, 1)
        return BatchCells(
            clusters=cells[:-1],
            outliers=cells[-1],
            totals=self.totals + prior * self.row_masses[:, None],
            masses=self.masses.reshape(-1, self.n_batches)[:-1],
            row_masses=self.row_masses,
        )
