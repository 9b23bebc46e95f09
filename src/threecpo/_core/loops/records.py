"""Arrays as compiled loops take them: inspected, and in records of one type each.

A loop is compiled for one type of each record, and numba converts no array inside of a
NamedTuple: where the type is read-only, the array must be so too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import types

from ..counts import EXACT
from ..rows import read_only
from . import array_type, compiled, f4, f8, i4, i8, record_type, u8
from .simd import LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..codes import Floats, Ints
    from ..counts import Counts

LINE = 8 * LANES  # bytes of a vector, and of a cache line
# What ``inspect`` may find; several of them are added up.
POINTERS, OUTSIDE, UNSORTED, ODD_VALUES = 1, 2, 4, 8
ROW_FACTOR = 0x5851F42D4C957F2D


class CsrRows(NamedTuple):
    """Stored counts by rows, or by columns where ``indices`` are rows.

    ``weights`` and ``batches`` of the rows and ``column_weights`` are empty where all
    are 1, and where there is one batch. ``held`` is the cluster that a row stays in,
    below 0 for any; empty where no row is held.
    """

    indptr: NDArray[np.int64]
    indices: Ints
    data: Floats
    weights: Floats
    batches: Ints
    column_weights: Floats
    held: Ints


class SumArrays(NamedTuple):
    """The arrays of ``Sums``, to add to.

    Each cluster has a line of ``table``, ``members`` and ``weight_sums`` for every
    batch, and ``totals`` a line for every batch.
    """

    table: Floats
    members: NDArray[np.int64]
    weight_sums: Floats
    count_log_sizes: Floats
    log_size_total: Floats
    totals: Floats


class Profile(NamedTuple):
    """What scores a row, whichever assignment rule it stands for.

    The score of row i in cluster k is the sum over C1 of Y_ij (``linear`` + ``square``
    Y_ij) ``log_rates[slot, k]``, plus ``offsets[k]`` for the prior's share of it, plus
    ``shared_weights[k]`` times the row's sum over C0, plus ``size_weights[b, k]`` r_i
    with b the row's batch. There is a rank for each cluster; where ``background`` is
    set, all else has one more entry for each batch behind the clusters. ``log_rates``
    is made by ``padded_rates``.
    """

    slots: Ints
    log_rates: Floats
    offsets: Floats
    shared_weights: Floats
    size_weights: Floats
    ranks: Ints
    background: bool = False
    prior_shared: float = 0.0
    prior_size: float = 0.0
    threshold: float = 0.0
    linear: float = 1.0
    square: float = 0.0

    @property
    def n_clusters(self) -> int:
        return len(self.ranks)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return self[:6]

    @property
    def writeable(self) -> bool:
        """Whether some array is."""
        return any(array.flags.writeable for array in self.arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, tuple(self)


class Workspace(NamedTuple):
    """Memory for the places and values of the longest row, and for its scores."""

    places: NDArray[np.uint64]
    values: Floats
    scores: Floats
    quick_scores: NDArray[np.float32]

    @classmethod
    def of(cls, longest: int, profile: Profile, n_quick: int = 0) -> Workspace:
        return cls(
            np.empty(longest + 1, np.uint64),
            np.empty(longest + 1),
            np.empty(profile.log_rates.shape[1]),
            np.empty(n_quick, np.float32),
        )


class RatioSums(NamedTuple):
    """Sums of X²/μ and X/μ of each column, and by cluster of rows and their 1/r_i.

    Rows without counts in use are apart: they say nothing about columns in use.
    """

    squares: Floats
    ratios: Floats
    inverse_sizes: Floats
    rows: Floats
    empty_rows: Floats


_IN, _OUT = array_type(f8), array_type(f8, write=True)
_IN_TABLE, _OUT_TABLE = array_type(f8, 2), array_type(f8, 2, write=True)
_MEMBERS = array_type(i8, write=True)

ROWS = record_type(
    CsrRows,
    *(array_type(i8), array_type(i4), _IN, _IN, array_type(i4), _IN),
    array_type(i4),
)
SUMS = record_type(SumArrays, _OUT_TABLE, _MEMBERS, _OUT, _OUT_TABLE, _OUT, _OUT_TABLE)
PROFILE = record_type(
    Profile,
    *(array_type(i4), _IN_TABLE, _IN, _IN, _IN_TABLE, array_type(i4)),
    *(types.boolean, f8, f8, f8, f8, f8),
)
RATIOS = record_type(RatioSums, *[_OUT] * 5)
WORKSPACE = record_type(
    *(Workspace, array_type(u8, write=True), _OUT, _OUT, array_type(f4, write=True))
)


def rows_of(counts: Counts) -> CsrRows:
    """Counts as loops read them: their arrays are read-only already."""
    weights = _NO_WEIGHTS if counts.weights is None else counts.weights
    batches = _NO_BATCHES if counts.batches is None else counts.batches
    columns = counts.column_weights
    return CsrRows(
        *(counts.indptr, counts.indices, counts.data, weights, batches),
        _NO_WEIGHTS if columns is None else columns,
        _NO_BATCHES if counts.known is None else counts.known,
    )


def padded_rates(n_slots: int, n_profiles: int) -> tuple[Floats, Floats]:
    """Zeros for the log rates of a profile, and the part of them to be filled.

    Rows are padded to whole vectors, none across cache lines, and behind the last slot
    is one more row of zeros, which stands for no column.
    """
    width = -(-n_profiles // LANES) * LANES
    whole = _aligned_zeros(n_slots + 1, width)
    return whole, whole[:n_slots, :n_profiles]


def frozen(profile: Profile) -> Profile:
    """Make the arrays of a new profile read-only, as loops take them."""
    for array in profile.arrays:
        array.setflags(write=False)
    return profile


def loadable(profile: Profile) -> Profile:
    """Return a profile as loops take it, whoever has made it.

    With log rates across cache lines a pass takes 15 to 25 % longer.
    """
    if not profile.writeable:
        return profile
    rates = profile.log_rates
    if rates.ctypes.data % LINE:
        aligned = _aligned_zeros(*rates.shape)
        aligned[:] = rates
        profile = profile._replace(log_rates=aligned)
    views: Any = map(read_only, profile.arrays)
    return Profile._make([*views, *profile[len(profile.arrays) :]])


def _unpickled(*fields: Any) -> Profile:
    """Profile from another process, with its log rates aligned again."""
    profile = Profile(*fields)
    return loadable(profile._replace(log_rates=profile.log_rates.copy()))


def _aligned_zeros(n_rows: int, width: int) -> Floats:
    memory = np.zeros(n_rows * width + LANES)
    start = -memory.ctypes.data % LINE // 8
    return memory[start : start + n_rows * width].reshape(n_rows, width)


_NO_WEIGHTS = read_only(np.empty(0))
_NO_BATCHES = read_only(np.empty(0, np.int32))


@compiled(array_type(i8), array_type(i4), array_type(f8), i8)
def inspect(indptr: Any, indices: Any, data: Any, n_indexed: int) -> Any:
    """Sum of the flags of what is not as it is in canonical whole counts.

    Nothing is read outside the arrays, whatever they hold. Loops go over slices and
    without branches, which makes vector instructions of them.
    """
    n_pointed, stored = len(indptr) - 1, min(len(indices), len(data))
    if n_pointed < 0 or indptr[0] != 0 or indptr[n_pointed] > stored:
        return POINTERS
    for i in range(n_pointed):
        if indptr[i + 1] < indptr[i]:
            return POINTERS
    outside = unsorted = odd = np.int32(0)
    for i in range(n_pointed):
        row = indices[indptr[i] : indptr[i + 1]]
        if len(row) > 0:
            # Of sorted indices the first is the smallest and the last the largest.
            outside |= np.int32((row[0] < 0) | (row[len(row) - 1] >= n_indexed))
        for p in range(1, len(row)):
            unsorted |= np.int32(row[p] <= row[p - 1])
    for p in range(indptr[n_pointed]):
        value = data[p]
        plain = (value > 0.0) & (value < EXACT) & (value == np.floor(value))
        odd |= np.int32(not plain)
    return OUTSIDE * outside + UNSORTED * unsorted + ODD_VALUES * odd


@compiled(array_type(i8), array_type(i4), array_type(i8))
def checksum(indptr: Any, indices: Any, bits: Any) -> Any:
    """Sum over rows of the sum of their entries, each times a number of its own.

    ``bits`` are the values as whole numbers. Both halves of a value and its column are
    mixed into 32 bits, whose products with 32 bits are vector instructions; the sum
    wraps round at 64 bits. That of rows below each other follows from those of both
    parts: see ``chained_checksum``.
    """
    half = np.int64(0xFFFFFFFF)
    total = np.int64(0)
    for i in range(len(indptr) - 1):
        first, last = indptr[i], indptr[i + 1]
        row = last - first + 1
        for p in range(first, last):
            entry = bits[p] ^ (bits[p] >> 32) ^ (np.int64(indices[p]) << 3)
            row += (entry & half) * ((2 * (p - first) + 1) & half)
        total = total * np.int64(ROW_FACTOR) + (row ^ (row >> 29))
    return total


def chained_checksum(first: int, second: int, n_second: int) -> int:
    """Checksum of rows and so many others below them: the same for any cut."""
    wrapped = first * pow(ROW_FACTOR, n_second, 1 << 64) + second
    return wrapped % (1 << 64)
