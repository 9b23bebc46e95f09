"""Rows as often as their weights say, for draws among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .counts import Counts

# Beyond so many copies, or where weights are no whole numbers, rows are drawn in
# proportion to their weights.
MOST_COPIES = 1 << 24


@dataclass(frozen=True)
class Copies:
    """Rows to draw from: copies of whole weights, or rows in proportion to others.

    Copies of a row are neighbours, so that draws are those from a table that repeats
    its rows.
    """

    n_copies: int
    row_of_copy: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, counts: Counts) -> Copies:
        weights = counts.weights
        if weights is None:
            return cls(counts.n_rows)
        if n_copies_of(counts) == counts.total_weight:
            times = weights.astype(np.int64)
            return cls(
                int(counts.total_weight), np.repeat(np.arange(counts.n_rows), times)
            )
        return cls(counts.n_rows, weights=weights)

    def rows(self, copies: Any) -> Any:
        """Row of each copy."""
        return copies if self.row_of_copy is None else self.row_of_copy[copies]

    def spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
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


def n_copies_of(counts: Counts) -> int:
    """Number of rows to draw from."""
    if counts.weights is not None and counts.whole_weights:
        total = int(counts.total_weight)
        if total <= MOST_COPIES:
            return total
    return counts.n_rows
