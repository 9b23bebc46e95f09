"""Merging of clusters, the cheapest pair first, from the sums alone; their tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .batch_model import margin_effects
from .codes import NOWHERE, OUTLIER, RELEVANT, SHARED
from .loops import distances as distance_loops
from .loops.distances import Merging
from .loops.simd import LANES
from .model import weight_of
from .workers import SERIAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .codes import Floats, Groups, Ints
    from .run import Settings
    from .sums import Sums
    from .workers import Workers

# How many times K there are clusters to come down from, in turns, and how many at
# least; if they have fewer rows than this on average, there are fewer of them.
TIMES_MORE = (3, 4)
AT_LEAST = 12
ROWS_PER_CLUSTER = 30
# One logarithm for each so many columns is taken ahead, for small counts.
COLUMNS_PER_LOG = 8
VALUES_AT_ONCE = 1 << 20


def n_before_joining(n_clusters: int, n_rows: int, times: int) -> int:
    """How many clusters to come down from: enough, but not of a few rows each."""
    enough = max(times * n_clusters, AT_LEAST)
    most = n_rows // ROWS_PER_CLUSTER
    if most < enough:
        enough = most - most % LANES
    return min(n_rows, max(2 * n_clusters, enough))


def joined(
    labels: Ints, sums: Sums, groups: Groups, settings: Settings, workers: Workers
) -> tuple[Ints, Sums]:
    """Labels and sums with clusters joined to as many as the settings ask for."""
    n_clusters, prior = settings.n_clusters, settings.prior
    apart = settings.n_known
    new = merge_clusters(sums, groups, n_clusters, prior, workers, apart=apart)
    # The last two entries are what NOWHERE and OUTLIER point at.
    special = np.array([NOWHERE, OUTLIER], np.int32)
    return np.concatenate([new, special])[labels], sums.joined(new)


def without_margins(sums: Sums) -> Floats:
    """Sums of clusters with the batches' margins taken out, in whole counts."""
    if sums.n_batches == 1:
        return sums.table
    effects = margin_effects(sums.batch_totals)
    effects = np.where(effects > 0, effects, 1.0)
    return np.rint((sums.by_batch / effects).sum(axis=1))


def merge_clusters(
    sums: Sums,
    groups: Groups,
    n_clusters: int,
    prior: float,
    workers: Workers = SERIAL,
    *,
    apart: int = 0,
) -> Ints:
    """Join clusters, pair by cheapest pair, until n are left; return old to new."""
    found = join_clusters(sums, groups, n_clusters, prior, workers, apart=apart)
    return without_gaps(found.into)


def without_gaps(into: NDArray[np.int64]) -> Ints:
    """Number the clusters that are left from 0, in their order."""
    left = into == np.arange(len(into))
    return (np.cumsum(left, dtype=np.int32) - np.int32(1))[into]


def join_clusters(
    sums: Sums,
    groups: Groups,
    n_clusters: int,
    prior: float,
    workers: Workers = SERIAL,
    *,
    apart: int = 0,
) -> Merging:
    """Join clusters, pair by cheapest pair, until n are left.

    The first ``apart`` of them are never joined with each other. A union keeps the
    lower number. What a pair costs is the likelihood that their union loses: d(a, b) of
    their sums over C1 and all of C0 taken together, on which row sizes hang.
    """
    n = sums.n_clusters
    relevant, shared = groups == RELEVANT, groups == SHARED
    table, weights = without_margins(sums), sums.column_weights
    values = np.empty((n + 1, np.count_nonzero(relevant) + 1))
    values[:, :-1] = table[:, relevant]
    in_shared = table[:, shared]
    if weights is not None:
        in_shared = in_shared * weights[shared]
    values[:, -1] = in_shared.sum(axis=1)
    priors = prior * sums.weight_sums
    values[-1] = priors[-1] = 0.0  # in place of the outliers: an empty row
    n_joins = max(n - n_clusters, 0)
    merging = Merging(
        values,
        priors,
        weights=np.empty(0) if weights is None else weights[relevant],
        relevant_weight=float(weight_of(weights, relevant)),
        shared_weight=float(weight_of(weights, shared)),
        near=np.empty(values.shape[1] // COLUMNS_PER_LOG),
        own=np.empty(n),
        costs=np.full((n, n), np.inf),
        into=np.arange(n),
        pairs=np.empty((n_joins, 2), np.int64),
        lost=np.empty(n_joins),
        apart=apart,
    )
    # Many clusters take long; between the steps an interrupt is heard.
    step = max(1, VALUES_AT_ONCE // values.size)
    for first in range(0, n, step):
        workers.check()
        distance_loops.price_pairs(merging, first, min(first + step, n))
    for first in range(0, n_joins, step):
        workers.check()
        distance_loops.join_cheapest(merging, first, min(first + step, n_joins))
    return merging


class Tree(NamedTuple):
    """Joins of K clusters, two at a time, the cheapest pair first.

    ``linkage`` is scipy's: the nodes joined in each step (K and above are the unions
    of earlier steps), the height, and the number of clusters below. The branch of the
    lowest number comes first. The height is the likelihood lost per row, or that of an
    earlier step where that lost more. ``lost`` is that of each step, in nats.
    """

    linkage: Floats
    lost: Floats

    @property
    def n_clusters(self) -> int:
        return len(self.linkage) + 1

    @property
    def heights(self) -> Floats:
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
        """Clusters in the order of the drawn tree."""
        return self.members[-1]

    def cut(self, n_clusters: int) -> Ints:
        """Where each cluster goes if so many are left; a union has its lowest place."""
        into, members = np.arange(self.n_clusters), self.members
        for below in members[self.n_clusters : 2 * self.n_clusters - n_clusters]:
            into[below] = min(below)
        return without_gaps(into)


def cluster_tree(
    sums: Sums, groups: Groups, prior: float, workers: Workers = SERIAL
) -> Tree:
    """Join the clusters of these sums until one is left, the groups held."""
    found, n = join_clusters(sums, groups, 1, prior, workers), sums.n_clusters
    nodes, sizes = np.arange(n), np.ones(n)
    linkage = np.empty((len(found.pairs), 4))
    for step, (a, b) in enumerate(found.pairs.tolist()):
        sizes[a] += sizes[b]
        linkage[step] = nodes[a], nodes[b], 0.0, sizes[a]
        nodes[a] = n + step
    # Rounding can make a loss of nothing negative.
    lost = np.maximum(found.lost, 0.0)
    linkage[:, 2] = np.maximum.accumulate(lost) / sums.total_weight
    for array in (linkage, lost):
        array.setflags(write=False)
    return Tree(linkage, lost)
