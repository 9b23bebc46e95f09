"""Join the clusters that cost least, from the sums alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import column_kernels
from .model import RELEVANT, SHARED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .model import Sums


def merge_clusters(
    sums: Sums, groups: NDArray[np.int8], n_clusters: int
) -> NDArray[np.int32]:
    """Join clusters, pair by cheapest pair, until n are left; return old to new.

    What a pair costs is the likelihood that their union loses: d(a, b) of their sums
    over C1 and all of C0 taken together, on which row sizes hang.
    """
    relevant = sums.clusters[:, groups == RELEVANT]
    shared = sums.clusters[:, groups == SHARED].sum(axis=1, keepdims=True)
    values = np.ascontiguousarray(np.hstack([relevant, shared]))
    new = np.empty(len(values), dtype=np.int32)
    column_kernels.join_cheapest(values, n_clusters, new)
    return new
