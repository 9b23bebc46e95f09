"""How far the clusters of a fit, and the joins of their tree, can be trusted.

Two questions, for each node of the tree. Is it found again in other rows? Halves of the
rows are clustered afresh, and each node is compared with the nearest one of the half.
(From the labels of the fit even halves of one cluster would be found again.) And is the
division below a join more than chance would give? See ``distinct``. Divisions are
tested from the top of the tree down, those below one that is not distinct not at
all, at a level in proportion to the clusters below: the chance to call any division
distinct that is not is then at most the level (Meinshausen, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .._core.codes import NOISE, all_relevant
from .._core.merging import cluster_tree
from .._core.overlaps import best_jaccards, shared_rows
from .._core.sums import sum_by_labels
from .._core.workers import Workers
from . import driver
from .distinct import division_result, label_result, thinned, work_of
from .plan import Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .._core.codes import Floats, Ints
    from .._core.counts import Counts
    from .._core.merging import Tree
    from .._core.split_test import SplitResult
    from .plan import Plan, Progress
    from .record import FitRecord

    Heard = Callable[[], None]

# Runs from which each half of the rows is clustered: with two, halves of clear clusters
# end in poor local minima.
RUNS_OF_HALF = 4
# A division is tested on at most so many counts, or on fewer if all divisions together
# would then read the table more than this often.
MOST_COUNTS = 100_000
FEWER_COUNTS = 20_000
READ_TIMES = 0.6
# Permutations are quick, so that they have this many times as many.
TIMES_MORE = 10


@dataclass(frozen=True, eq=False)
class Stability:
    """What was measured of the nodes of a tree: the clusters, then the joins.

    ``members`` are the clusters below each node. ``jaccards`` has a line for each half
    of the rows. ``splits`` is None for clusters and where nothing was tested.
    ``adjusted`` are p-values for the whole tree, nan where there is none: a cluster has
    that of the lowest join above it that was tested.
    """

    members: list[list[int]]
    sizes: NDArray[np.int64]
    jaccards: Floats
    splits: list[SplitResult | None]
    adjusted: Floats
    level: float

    @property
    def distinct(self) -> NDArray[np.bool_]:
        """Joins: is the division below distinct? Clusters: that which sets it apart."""
        return np.nan_to_num(self.adjusted, nan=1.0) <= self.level


def measure(
    record: FitRecord,
    counts: Counts,
    plan: Plan,
    *,
    n_resamples: int,
    level: float,
    progress: Progress | None = None,
) -> Stability:
    """Measure the clusters and joins of a fit on its own rows.

    ``plan`` is that of the fit, with the seed of this; its threads share the work.
    """
    assert record.rows is not None
    labels, members = record.labels_of_rates, record.tree.members
    heard = _counted(progress, record, n_resamples + record.n_clusters - 1)
    resampling, testing = np.random.SeedSequence(plan.entropy).spawn(2)
    with Workers(plan.n_jobs) as workers:
        one = partial(_half, record, counts, plan)
        jaccards = []
        for found in workers.map(one, resampling.spawn(n_resamples)):
            jaccards.append(found)
            heard()
        used = counts.with_column_weights(record.sums.column_weights)
        used = used.columns(record.groups != NOISE)
        splits, adjusted = top_down_tests(
            *(record.tree, labels, used, level, testing),
            lambda rows, _, inside, level, seed: division_result(
                rows, inside, plan, level, seed, workers
            ),
            heard=heard,
        )
    rows = np.bincount(labels[labels >= 0], minlength=record.n_clusters)
    return Stability(
        members=members,
        sizes=np.array([rows[below].sum() for below in members]),
        jaccards=np.array(jaccards).reshape(n_resamples, len(members)),
        splits=splits,
        adjusted=adjusted,
        level=level,
    )


def measure_labels(
    counts: Counts, labels: Ints, plan: Plan, *, independent: bool, level: float
) -> tuple[Tree, list[SplitResult | None], Floats]:
    """Join given groups of rows, all columns relevant, and test the joins."""
    columns, prior = all_relevant(counts.n_columns), plan.settings.prior
    sums = sum_by_labels(counts, labels, int(labels.max()) + 1, columns, prior)
    tree = cluster_tree(sums, columns, prior)
    seed = np.random.SeedSequence(plan.entropy)
    with Workers(plan.n_jobs) as workers:
        splits, adjusted = top_down_tests(
            *(tree, labels, counts, level, seed),
            partial(label_result, plan, workers, independent=independent),
            times=TIMES_MORE if independent else 1,
        )
    return tree, splits, adjusted


def _counted(progress: Progress | None, record: FitRecord, total: int) -> Heard:
    """Return what is called after each of so many pieces of work."""
    if progress is None:
        return lambda: None
    progress.start(total)
    line = {name: float(values[-1]) for name, values in record.history.items()}
    numbers = iter(range(total))
    n_clusters = record.n_clusters

    def heard() -> None:
        progress.step(Step(n_clusters, next(numbers), 1, line, finished=True))

    return heard


def _half(
    record: FitRecord, counts: Counts, plan: Plan, seed: np.random.SeedSequence
) -> Floats:
    """Cluster half of the rows; compare each node with the nearest of that tree."""
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(counts.n_rows)[: max(1, counts.n_rows // 2)])
    labels, members = record.labels_of_rates[chosen], record.tree.members
    plan = plan.with_column_weights(record.sums.column_weights)
    plan = plan.with_clusters(min(record.n_clusters, len(chosen)))
    plan = replace(plan, n_init=RUNS_OF_HALF, with_confidence=False, calibrated=False)
    entropy = rng.integers(2**32, size=4).tolist()
    half = driver.fit_alone(plan, counts.rows(chosen), entropy)
    shape = record.n_clusters, half.n_clusters
    shared = shared_rows(labels, half.labels_of_rates, shape)
    found = best_jaccards(shared, members, half.tree.members)
    found[[not shared[below].any() for below in members]] = np.nan
    return found


def top_down_tests(
    tree: Tree,
    labels: Ints,
    counts: Counts,
    level: float,
    seed: np.random.SeedSequence,
    test: Callable[..., SplitResult],
    *,
    times: float = 1.0,
    heard: Heard = lambda: None,
) -> tuple[list[SplitResult | None], Floats]:
    """Results and adjusted p-values of the divisions, from the top of the tree down.

    ``test`` is given the counts of a sample of the joined rows (``times`` as many as
    else), their labels, which of them are in the left branch, a level and a seed.
    """
    members, n = tree.members, tree.n_clusters
    splits: list[SplitResult | None] = [None] * len(members)
    adjusted = np.full(len(members), np.nan)
    most = READ_TIMES * len(counts.data) / max(1, n - 1)
    most = times * min(MOST_COUNTS, max(FEWER_COUNTS, most))
    above = np.zeros(len(members))  # adjusted p-value of the join above each node
    for node in range(len(members) - 1, n - 1, -1):
        left, right = tree.linkage[node - n, :2].astype(int)
        above[[left, right]] = np.inf
        if above[node] <= level and counts.n_columns:
            share = len(members[node]) / n
            own = np.random.SeedSequence(
                seed.entropy, spawn_key=(*seed.spawn_key, node)
            )
            inside = np.isin(labels, members[left])
            rows = np.flatnonzero(np.isin(labels, members[node]))
            stored = int((counts.indptr[rows + 1] - counts.indptr[rows]).sum())
            work = work_of(stored, len(rows), counts.n_columns)
            rng = np.random.default_rng(own)
            rows = thinned(rows, inside, most / max(1, work), rng)
            part = counts.rows(rows), labels[rows], inside[rows]
            result = test(*part, level * share, own)
            splits[node] = result
            # NaN where there are too few counts to tell, and nothing below is tested.
            adjusted[node] = np.maximum(
                above[node], np.minimum(1.0, result.p_value / share)
            )
            above[[left, right]] = adjusted[members[node]] = adjusted[node]
        heard()
    return splits, adjusted
