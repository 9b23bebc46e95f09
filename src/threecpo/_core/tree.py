"""The tree of clusters: which belong together, from their sums alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .merging import join_clusters, without_gaps
from .workers import SERIAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .sums import Sums
    from .workers import Workers


class Tree(NamedTuple):
    """Joins of K clusters, two at a time, the cheapest pair first.

    ``linkage`` is scipy's: the nodes joined in each step (K and above are the unions
    of earlier steps), the height, and the number of clusters below. The branch of the
    lowest number comes first. The height is the likelihood lost per row, or that of an
    earlier step where that lost more. ``lost`` is that of each step, in nats.
    """

    linkage: NDArray[np.float64]
    lost: NDArray[np.float64]

    @property
    def n_clusters(self) -> int:
        return len(self.linkage) + 1

    @property
    def heights(self) -> NDArray[np.float64]:
        return self.linkage[:, 2]

    @property
    def members(self) -> list[list[int]]:
        """Clusters below each node, in the order of the drawn tree."""
        below = [[k] for k in range(self.n_clusters)]
        for left, right in self.linkage[:, :2].astype(int).tolist():
            below.append(below[left] + below[right])
        return below

    @property
    def leaves(self) -> list[int]:
        """Clusters by kinship: in the order of the drawn tree."""
        return self.members[-1]

    def cut(self, n_clusters: int) -> NDArray[np.int32]:
        """Where each cluster goes if so many are left; a union has its lowest place."""
        into, members = np.arange(self.n_clusters), self.members
        for below in members[self.n_clusters : 2 * self.n_clusters - n_clusters]:
            into[below] = min(below)
        return without_gaps(into)


def cluster_tree(
    sums: Sums, groups: NDArray[np.int8], prior: float, workers: Workers = SERIAL
) -> Tree:
    """Join the clusters of these sums until one is left, the groups held."""
    pairs, lost, _ = join_clusters(sums, groups, 1, prior, workers)
    n = sums.n_clusters
    nodes, sizes = np.arange(n), np.ones(n)
    linkage = np.empty((len(pairs), 4))
    for step, (a, b) in enumerate(pairs.tolist()):
        sizes[a] += sizes[b]
        linkage[step] = nodes[a], nodes[b], 0.0, sizes[a]
        nodes[a] = n + step
    # Rounding can make a loss of nothing negative.
    lost = np.maximum(lost, 0.0)
    linkage[:, 2] = np.maximum.accumulate(lost) / sums.mass
    for array in (linkage, lost):
        array.setflags(write=False)
    return Tree(linkage, lost)
