"""The compiled loop over rows that scores each in its own cluster without itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import types

from ..codes import SHARED_SLOT
from .compiling import array_type, compiled, f8, i4, record_type
from .records import ROWS
from .rows import _BLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

U = np.uint64


class LeftOut(NamedTuple):
    """Sums of each cluster in C1 and C0, and what a row without counts leaves of them.

    ``sums`` has a column for each slot of C1 and ``shared`` the sum over C0, prior
    included. A row of nothing but the prior leaves numerators with these logarithms
    times the prior, ``terms``; ``above`` is their sum and ``totals`` that of the
    numerators. ``priors`` is that of each slot, ``shared_prior`` and ``size_prior``
    those of C0 and of C0 and C1. ``floor`` is the least numerator.
    """

    slots: NDArray[np.int32]
    sums: NDArray[np.float64]
    shared: NDArray[np.float64]
    terms: NDArray[np.float64]
    above: NDArray[np.float64]
    totals: NDArray[np.float64]
    priors: NDArray[np.float64]
    shared_prior: float
    size_prior: float
    has_shared: bool
    floor: float


_IN = array_type(f8)
_LEFT_OUT = record_type(
    LeftOut,
    array_type(i4),
    array_type(f8, 2),
    _IN,
    array_type(f8, 2),
    *(_IN, _IN, _IN),
    *(f8, f8, types.boolean, f8),
)


@compiled(
    ROWS,
    _BLOCK,
    array_type(i4),
    _LEFT_OUT,
    array_type(f8, write=True),
    array_type(f8, write=True),
)
def score_left_out(rows, block, labels, sums, sizes, scores):
    """Write the size of each row, and its score in its own cluster without it.

    Labels below 0 have no cluster; their scores are left as they are.
    """
    floor = sums.floor
    weights = rows.column_weights
    weighted = len(weights) > 0
    for i in range(U(block[0]), U(block[1])):
        k = labels[i]
        shared, size = sums.shared_prior, sums.size_prior
        above = total = 0.0
        if k >= 0:
            above, total = sums.above[k], sums.totals[k]
        for t in range(U(rows.indptr[i]), U(rows.indptr[i + U(1)])):
            j, value = U(rows.indices[t]), rows.data[t]
            slot = sums.slots[j]
            if weighted:
                value *= weights[j]
            if slot >= SHARED_SLOT:
                size += value
            if slot == SHARED_SLOT:
                shared += value
            elif slot >= 0 and k >= 0:
                whole, prior = sums.sums[k, slot], sums.priors[slot]
                without = max(whole - prior, floor)
                left = max(whole - prior - value, floor)
                above += (prior + value) * np.log(left) - sums.terms[k, slot]
                total += left - without
        sizes[i] = size
        if k < 0:
            continue
        if sums.has_shared:
            left = max(sums.shared[k] - shared, floor)
            above += shared * np.log(left)
            total += left
        scores[i] = above - size * np.log(total) if total > 0.0 else 0.0
