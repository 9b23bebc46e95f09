"""Columns that one cluster is best without: those that do not follow the row sizes.

With one cluster, the columns S in use lower the loss of none in use by

    G(S) = Σ_i w_i u_i log(u_i / ū),   u_i = Σ_{j ∈ S} x_ij,

with the mean ū of the row's batch. G is convex in u, so that column steps end in a
local optimum, and a column with a large part in u stays because of itself. Here
columns are moved one at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .codes import NOISE, RELEVANT
from .model import log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .codes import Floats, Groups
    from .counts import Counts

# Stored counts that are worked on, a column as so many: a larger table is left alone, a
# smaller one searched from all columns and from single ones, as often as it fits.
MOST_WORK = 2**21
WORK_OF_COLUMN = 2**10
MOST_STARTS = 12


def columns_of_one_cluster(
    counts: Counts, groups: Groups, fixed: Sequence[int]
) -> Groups:
    """Groups of one cluster with columns moved into C- and out, but for fixed ones."""
    work = len(counts.data) + WORK_OF_COLUMN * counts.n_columns
    if work > MOST_WORK or not counts.n_columns:
        return groups
    gain = _Gain(counts)
    free = np.ones(counts.n_columns, dtype=bool)
    free[list(fixed)] = False
    columns = np.flatnonzero(free)
    starts = [groups != NOISE]
    largest = columns[np.argsort(-gain.totals[free], kind="stable")]
    for column in largest[: min(MOST_STARTS, MOST_WORK // work - 1)]:
        start = starts[0] & ~free
        start[column] = True
        starts.append(start)
    inside, _ = max(
        (gain.climb(each, columns) for each in starts), key=lambda at: at[1]
    )
    return np.where(free, np.where(inside, RELEVANT, NOISE), groups).astype(np.int8)


class _Gain:
    """G of the columns of a table, without the prior: all of it is stored counts."""

    def __init__(self, counts: Counts) -> None:
        matrix = counts.matrix().tocsc()
        values, places = matrix.data.astype(np.float64), matrix.indptr[1:-1]
        if counts.column_weights is not None:
            values *= np.repeat(counts.column_weights, np.diff(matrix.indptr))
        ones, one_batch = np.ones(counts.n_rows), np.zeros(counts.n_rows, np.int32)
        self.weights = ones if counts.weights is None else counts.weights
        batches = one_batch if counts.batches is None else counts.batches
        self.rows = np.split(matrix.indices, places)
        self.values = np.split(values, places)
        # Rows of each batch; what each column has there.
        of_batch = np.eye(batches.max(initial=0) + 1)[:, batches] * self.weights
        self.n_rows = np.maximum(of_batch.sum(axis=1), np.finfo(float).tiny)
        matrix.data = values
        self.sums = (of_batch @ matrix).T
        self.totals = self.sums.sum(axis=1)

    def climb(
        self, inside: NDArray[np.bool_], columns: NDArray[np.intp]
    ) -> tuple[NDArray[np.bool_], float]:
        """Move these columns in and out, in turns, until none of them raises G."""
        inside, sizes = inside.copy(), np.zeros(len(self.weights))
        for column in np.flatnonzero(inside):
            sizes[self.rows[column]] += self.values[column]
        sums = self.sums[inside].sum(axis=0)
        best = float(self.weights @ (sizes * log(sizes)) - self._mean_part(sums))
        since = 0
        while since < len(columns):
            for column in columns:
                rows, sign = self.rows[column], -1.0 if inside[column] else 1.0
                before = sizes[rows]
                after = np.maximum(before + sign * self.values[column], 0.0)
                moved = sums + sign * self.sums[column]
                gain = self.weights[rows] @ (after * log(after) - before * log(before))
                gain += self._mean_part(sums) - self._mean_part(moved)
                since += 1
                if gain > 1e-9 * abs(best):
                    inside[column] ^= True
                    sizes[rows], sums = after, moved
                    best, since = best + gain, 0
        return inside, best

    def _mean_part(self, sums: Floats) -> float:
        sums = np.maximum(sums, 0.0)
        return float(sums @ log(sums / self.n_rows))
