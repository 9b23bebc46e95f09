"""Records of arrays that compiled loops take, and their types.

A loop is compiled for one type of each record, and numba converts no array inside of a
NamedTuple: where the type is read-only, the array must be so too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import types

from . import array_type, f4, f8, i4, i8, record_type, u8
from .simd import LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..counts import Counts

LINE = 8 * LANES  # bytes of a vector, and of a cache line


class CsrRows(NamedTuple):
    """Stored counts by rows, or by columns where ``indices`` are rows.

    ``weights`` and ``batches`` of the rows and ``column_weights`` are empty where all
    are 1, and where there is one batch. ``held`` is the cluster that a row stays in,
    below 0 for any; empty where no row is held.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]
    weights: NDArray[np.float64]
    batches: NDArray[np.int32]
    column_weights: NDArray[np.float64]
    held: NDArray[np.int32]


class SumArrays(NamedTuple):
    """The arrays of ``Sums``, to add to.

    Each cluster has a line of ``table``, ``members`` and ``weight_sums`` for every
    batch, and ``totals`` a line for every batch.
    """

    table: NDArray[np.float64]
    members: NDArray[np.int64]
    weight_sums: NDArray[np.float64]
    count_log_sizes: NDArray[np.float64]
    log_size_total: NDArray[np.float64]
    totals: NDArray[np.float64]


class Profile(NamedTuple):
    """What scores a row, whichever assignment rule it stands for.

    The score of row i in cluster k is the sum over C1 of Y_ij (``linear`` + ``square``
    Y_ij) ``log_rates[slot, k]``, plus ``offsets[k]`` for the prior's share of it, plus
    ``shared_weights[k]`` times the row's sum over C0, plus ``size_weights[b, k]`` r_i
    with b the row's batch. There is a rank for each cluster; where ``background`` is
    set, all else has one more entry for each batch behind the clusters. ``log_rates``
    is made by ``padded_rates``.
    """

    slots: NDArray[np.int32]
    log_rates: NDArray[np.float64]
    offsets: NDArray[np.float64]
    shared_weights: NDArray[np.float64]
    size_weights: NDArray[np.float64]
    ranks: NDArray[np.int32]
    background: bool
    prior_shared: float
    prior_size: float
    threshold: float
    linear: float = 1.0
    square: float = 0.0

    @property
    def n_clusters(self) -> int:
        return len(self.ranks)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return (
            self.slots,
            self.log_rates,
            self.offsets,
            self.shared_weights,
            self.size_weights,
            self.ranks,
        )

    @property
    def writeable(self) -> bool:
        """Whether some array is; asked before every pass, hence no loop."""
        return (
            self.slots.flags.writeable
            or self.log_rates.flags.writeable
            or self.offsets.flags.writeable
            or self.shared_weights.flags.writeable
            or self.size_weights.flags.writeable
            or self.ranks.flags.writeable
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, tuple(self)


class Workspace(NamedTuple):
    """Memory for the places and values of the longest row, and for its scores."""

    places: NDArray[np.uint64]
    values: NDArray[np.float64]
    scores: NDArray[np.float64]
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
    """Sums of X²/μ and X/μ of each column, and of 1/r_i in each cluster."""

    squares: NDArray[np.float64]
    ratios: NDArray[np.float64]
    inverse_sizes: NDArray[np.float64]


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
RATIOS = record_type(RatioSums, _OUT, _OUT, _OUT)
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


def read_only_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], data: NDArray[np.float64]
) -> CsrRows:
    arrays = read_only(indptr), read_only(indices), read_only(data)
    return CsrRows(*arrays, _NO_WEIGHTS, _NO_BATCHES, _NO_WEIGHTS, _NO_BATCHES)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Read-only view of an array."""
    view = array.view()
    view.setflags(write=False)
    return view


def padded_rates(
    n_slots: int, n_profiles: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
    """Return a profile as loops take it, whoever has made it."""
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
    """Profile from another process, with its log rates aligned again.

    Without that a pass takes 15 to 25 % longer.
    """
    slots, log_rates, *others = fields
    aligned = _aligned_zeros(*log_rates.shape)
    aligned[:] = log_rates
    return loadable(Profile(slots, aligned, *others))


def _aligned_zeros(n_rows: int, width: int) -> NDArray[np.float64]:
    memory = np.zeros(n_rows * width + LANES)
    start = -memory.ctypes.data % LINE // 8
    return memory[start : start + n_rows * width].reshape(n_rows, width)


_NO_WEIGHTS = read_only(np.empty(0))
_NO_BATCHES = read_only(np.empty(0, np.int32))
