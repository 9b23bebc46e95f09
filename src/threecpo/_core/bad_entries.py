"""Values that are no counts, and where they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .counts import Counts


def first_bad_entry(
    counts: Counts, below: float = np.inf
) -> tuple[int, int, float] | None:
    """Row, column and value of the first entry that is no count below a bound.

    The bound is 2**53 or more: values that are not odd lie below it.
    """
    if not counts.odd_values:
        return None
    start = 0
    for part in some_at_a_time(counts.data):
        bad = ~((part >= 0) & (part < below))
        if bad.any():
            at = start + int(np.argmax(bad))
            row = int(np.searchsorted(counts.indptr, at, side="right")) - 1
            return row, int(counts.indices[at]), float(counts.data[at])
        start += len(part)
    return None


def some_at_a_time(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Views of at most a million values, so that checks need little memory."""
    step = 1 << 20
    return [values[i : i + step] for i in range(0, len(values), step)]
