"""A first look at all blocks: are these counts, how many rows, their totals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._core.codes import NOWHERE, all_relevant
from .._core.sums import Sums, sum_by_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.counts import Counts


@dataclass(frozen=True)
class FirstLook:
    """What is known of blocks: their rows, whether they are counts, sums.

    ``bad`` is the first entry that is no count: row, column and value.
    """

    n_rows: tuple[int, ...]
    n_stored: tuple[int, ...]
    checksums: tuple[int, ...]
    n_columns: frozenset[int]
    fractional: bool
    bad: tuple[int, int, float] | None
    sums: Sums

    @property
    def first_rows(self) -> NDArray[np.int64]:
        """Number of the first row of every block, and of the one after the last."""
        return np.concatenate([[0], np.cumsum(self.n_rows)]).astype(np.int64)

    def and_then(self, other: FirstLook) -> FirstLook:
        """Return this look and that at the blocks behind."""
        bad = self.bad
        if bad is None and other.bad is not None:
            row, column, value = other.bad
            bad = (row + sum(self.n_rows), column, value)
        if self.n_columns == other.n_columns:
            self.sums.add(other.sums)
        return FirstLook(
            self.n_rows + other.n_rows,
            self.n_stored + other.n_stored,
            self.checksums + other.checksums,
            self.n_columns | other.n_columns,
            self.fractional or other.fractional,
            bad,
            self.sums,
        )


def look_at(prior: float, _: int, counts: Counts) -> FirstLook:
    """First look at a block, with column totals and u of all columns."""
    bad = counts.bad_entry
    nowhere = np.full(counts.n_rows, NOWHERE, dtype=np.int32)
    everything = all_relevant(counts.n_columns)
    return FirstLook(
        (counts.n_rows,),
        (len(counts.data),),
        (counts.checksum,),
        frozenset([counts.n_columns]),
        bad is None and counts.fractional,
        bad,
        Sums.zeros(0, counts.n_columns)
        if bad
        else sum_by_labels(counts, nowhere, 0, everything, prior),
    )
