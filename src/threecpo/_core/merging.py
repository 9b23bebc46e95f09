"""Join the clusters that cost least, from the sums alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import column_kernels
from .model import RELEVANT, SHARED
from .statistics import SERIAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .model import Sums
    from .statistics import Workers


def merge_clusters(
    sums: Sums, groups: NDArray[np.int8], n_clusters: int, workers: Workers = SERIAL
) -> NDArray[np.int32]:
    """Join clusters, pair by cheapest pair, until n are left; return old to new.

    What a pair costs is the likelihood that their union loses: d(a, b) of their sums
    over C1 and all of C0 taken together, on which row sizes hang.
    """
    relevant = sums.clusters[:, groups == RELEVANT]
    shared = sums.clusters[:, groups == SHARED].sum(axis=1, keepdims=True)
    values = np.ascontiguousarray(np.hstack([relevant, shared]))
    n = len(values)
    own, costs, into = np.empty(n), np.full((n, n), np.inf), np.arange(n)
    # Many clusters take long; between the steps an interrupt is heard.
    for a in range(n):
        workers.check()
        column_kernels.price_pairs(values, a, own, costs)
    for _ in range(n - n_clusters):
        workers.check()
        column_kernels.join_cheapest(values, own, costs, into)
    left = np.flatnonzero(into == np.arange(n))
    while (into[into] != into).any():
        into = into[into]
    new = np.empty(n, dtype=np.int32)
    new[left] = np.arange(len(left))
    return new[into]
