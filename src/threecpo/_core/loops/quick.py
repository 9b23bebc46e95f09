"""Quick scores: the best cluster in half the digits, where rounding cannot change it.

Every column has a row of a table, less a number that is the same for all clusters, so
that the scores are small and so are their errors. Behind the clusters are two lanes:
half the range of the column over the clusters, whose sum bounds the errors, and 1 for
a column in use, whose sum is the size of the row, exact for whole counts. All columns
of C0 share one row, and so do those of C-. The weights of a row's size, in its batch,
are less a number that is the same for all clusters too.

No label differs from that of full scores. A quick score is a sum of the row's entries,
of its size times a weight, and of an offset. Each term is a value in half the digits
times a count, and goes through at most as many additions as the row has entries and a
few more, so that it is off by ``length`` times 2^-24 of its own size, with length 16
more than the number of entries. The absolute terms add up to at most ``abs_sum``: half
the range of each column, times the count; half the range of the weights, times the size
of the row; and the spread of the offsets. A full score is off by length times 2^-53 of
its terms, which add up to at most 2 (size + 1) ``max_abs_weight``. What is best by more
than the errors of two scores of both kinds, the ``error_bound``, is best in full
scores. Values so small that they have fewer digits are off by at most 2^-125 for each
count; ``max_abs_weight`` is kept large enough for its part of the bound to cover that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..codes import SHARED_SLOT
from ..rows import read_only
from . import array_type, compiled, f4, f8, inlined, record_type, u4
from .records import PROFILE
from .simd import (
    PAIR_LANES,
    QUICK_LANES,
    add_offsets,
    add_one_vector,
    add_two_vectors,
    only_above,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..codes import Floats
    from .records import Profile

U = np.uint64
# Of a value, a product, a sum and so on: each is off by at most this part.
_ROUNDING = 2.0**-24
_EXACT_ROUNDING = 2.0**-53
# Roundings of an entry or a score outside the sum over entries, generously.
_ROUNDINGS = 16.0
_LEAST_WEIGHT = 2.0**-60
# Beyond this, products with counts may be infinite.
_LARGEST = 2.0**96


class Quick(NamedTuple):
    """A profile for quick scores; an empty table where there is none.

    ``places`` says where in the table the row of each column begins. ``offsets`` are
    minus infinity in lanes behind the clusters. ``size_weights`` has a row for every
    batch, and ``size_ranges`` half its range. ``spread`` is the largest of the other
    offsets in size, and ``max_abs_weight`` the largest log rate, offset or size weight.
    """

    places: NDArray[np.uint32]
    table: NDArray[np.float32]
    offsets: NDArray[np.float32]
    size_weights: NDArray[np.float32]
    size_ranges: Floats
    spread: float
    max_abs_weight: float


QUICK = record_type(
    *(Quick, array_type(u4), array_type(f4, 2), array_type(f4), array_type(f4, 2)),
    *(array_type(f8), f8, f8),
)
NO_QUICK = Quick(
    read_only(np.empty(0, np.uint32)),
    read_only(np.empty((0, 0), np.float32)),
    read_only(np.empty(0, np.float32)),
    read_only(np.empty((0, 0), np.float32)),
    read_only(np.empty(0)),
    *(0.0, 0.0),
)


def quick_of(profile: Profile, n_entries: int) -> Quick:
    """Return quick scores that stand for a profile, if it is worth it for so many."""
    n_clusters = profile.n_clusters
    width = n_clusters + 2
    lanes = QUICK_LANES if width <= QUICK_LANES else PAIR_LANES
    width = -(-width // lanes) * lanes
    size = len(profile.log_rates) + 1, width
    plain = (profile.linear, profile.square, profile.background) == (1.0, 0.0, False)
    if not plain or n_entries < size[0] * width:
        return NO_QUICK
    n_batches = len(profile.size_weights)
    arrays = (
        np.empty(len(profile.slots), np.uint32),
        np.empty(size, np.float32),
        np.empty(width, np.float32),
        np.empty((n_batches, width), np.float32),
        np.empty(n_batches),
    )
    spread, max_abs_weight = fill_quick(profile, *arrays)
    if not spread + max_abs_weight < _LARGEST:
        return NO_QUICK
    for array in arrays:
        array.setflags(write=False)
    return Quick(*arrays, spread, max_abs_weight)


@inlined
def _rate(profile, row, n_slots, k):
    """Score of a count in a row of the table: of C1 by slots, then of C0 and of C-."""
    if row < n_slots:
        return profile.log_rates[row, k]
    return profile.shared_weights[k] if row == n_slots else 0.0


@inlined
def _fill_offsets(profile, offsets):
    """Write offsets above the first; return the largest in size."""
    spread = 0.0
    first = profile.offsets[0] + profile.prior_shared * profile.shared_weights[0]
    for k in range(len(offsets)):
        offsets[k] = -np.inf
    for k in range(len(profile.ranks)):
        offset = profile.offsets[k] + profile.prior_shared * profile.shared_weights[k]
        offsets[k] = offset - first
        spread = max(spread, abs(offset - first))
    return spread


@inlined
def _fill_size_weights(profile, size_weights, size_ranges):
    """Write what a row's size counts in each batch; return the largest in size."""
    max_abs_weight = 0.0
    for b in range(len(size_weights)):
        low, high = np.inf, -np.inf
        for k in range(len(profile.ranks)):
            value = profile.size_weights[b, k]
            low = value if value < low else low
            high = value if value > high else high
        for k in range(size_weights.shape[1]):
            size_weights[b, k] = 0.0
        for k in range(len(profile.ranks)):
            size_weights[b, k] = profile.size_weights[b, k] - 0.5 * (low + high)
        size_ranges[b] = 0.5 * (high - low)
        max_abs_weight = max(max_abs_weight, abs(low), abs(high))
    return max_abs_weight


@compiled(
    PROFILE,
    array_type(u4, write=True),
    array_type(f4, 2, write=True),
    array_type(f4, write=True),
    array_type(f4, 2, write=True),
    array_type(f8, write=True),
)
def fill_quick(profile, places, table, offsets, size_weights, size_ranges):
    """Write quick scores of a profile; return their spread and max_abs_weight."""
    n_slots, width = len(table) - 2, table.shape[1]
    n_clusters = len(profile.ranks)
    for j in range(len(places)):
        slot = profile.slots[j]
        places[j] = width * (slot if slot >= 0 else n_slots + SHARED_SLOT - slot)
    max_abs_weight = _fill_size_weights(profile, size_weights, size_ranges)
    max_abs_weight = max(max_abs_weight, _LEAST_WEIGHT)
    for k in range(n_clusters):
        max_abs_weight = max(max_abs_weight, abs(profile.offsets[k]))
    for row in range(len(table)):
        low, high = np.inf, -np.inf
        for k in range(n_clusters):
            value = _rate(profile, row, n_slots, k)
            low = value if value < low else low
            high = value if value > high else high
        for k in range(width):
            table[row, k] = 0.0
        for k in range(n_clusters):
            table[row, k] = _rate(profile, row, n_slots, k) - 0.5 * (low + high)
        table[row, n_clusters] = 0.5 * (high - low)
        table[row, n_clusters + 1] = 1.0 if row <= n_slots else 0.0
        max_abs_weight = max(max_abs_weight, abs(low), abs(high))
    return _fill_offsets(profile, offsets), max_abs_weight


@inlined
def quick_label(rows, row, batch, profile, quick, scores):
    """Return a row's best cluster, -1 if rounding could change it, and its size."""
    n_clusters = len(profile.ranks)
    first, end = U(rows.indptr[row]), U(rows.indptr[row + U(1)])
    table, places = quick.table.reshape(quick.table.size), quick.places
    indices, data, width = rows.indices, rows.data, U(len(scores))
    if width == U(QUICK_LANES):
        add_one_vector(table, places, indices, data, scores, first, end, U(0))
    else:
        for lane in range(U(0), width, U(PAIR_LANES)):
            add_two_vectors(table, places, indices, data, scores, first, end, lane)
    length = np.float64(end - first) + _ROUNDINGS
    size = np.float64(scores[n_clusters + 1]) + profile.prior_size
    abs_sum = np.float64(scores[n_clusters]) + quick.spread
    abs_sum += size * quick.size_ranges[batch]
    largest = add_offsets(
        scores, quick.offsets, quick.size_weights[batch], np.float32(size)
    )
    error_bound = length * (2.0 * _ROUNDING) * abs_sum
    exact_sum = 2.0 * (size + 1.0) * quick.max_abs_weight
    error_bound += length * (2.0 * _EXACT_ROUNDING) * exact_sum
    return only_above(scores, np.float32(largest - error_bound)), size
