"""A search in all rows for clusters too rare for the sample of a fit.

1. A reading scores how badly rows fit their clusters under the best run; of each
   cluster the worst are kept, and a second reading brings them into memory.
2. They are divided by themselves, cluster by cluster. The parts are clusters beside
   those of the run, of which the cheapest pairs are joined until twice K are left.
3. Two passes over all rows follow, and these are joined to K.
4. That is the start of one more run, which counts if its loss is the lowest.

Rows are chosen by what each of them is, equal ones by their number; so the same ones
are kept for any cut into blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core.codes import FREE, NOWHERE
from .._core.crossing import best_of
from .._core.loops.records import rows_of as loop_rows
from .._core.loops.rows import misfit_rows
from .._core.merging import merge_clusters
from .._core.run import RunState
from .._core.sums import sum_by_labels, sums_by_profile
from .engine import rows_of
from .shared_pass import PendingRun, SharedPass, finish_together
from .starting import MERGE, runs_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.codes import Floats, Groups, Ints
    from .._core.counts import Counts
    from .._core.loops.records import Profile
    from .._core.sums import Sums
    from .._core.workers import Workers
    from .engine import BlockSummary, Engine
    from .plan import Plan
    from .shared_pass import Pass

# Looks of a fit at most; one that has lowered the loss by less than this part of it is
# the last.
MOST_SEARCHES = 3
LEAST_GAIN = 1e-5
# One row is kept for so many of the sample, but so many of each cluster at least.
SAMPLE_PER_ROW = 2
ROWS_OF_CLUSTER = 32
# Nats that a count may be too large by, as noise often makes it.
NOISE_NATS = 4.0
# Parts that the rows of one cluster are divided into.
PARTS = 6
# How many times K clusters there are in some passes after that.
TIMES_CLUSTERS = 2
WIDE_PASSES = 2


class Misfits(NamedTuple):
    """Rows that fit their clusters worst: labels, how badly they fit, numbers."""

    labels: Ints
    keys: Floats
    numbers: NDArray[np.int64]

    def worst(self, n_kept: NDArray[np.int64]) -> Misfits:
        """So many rows of each cluster, from the worst one, cluster by cluster."""
        order = np.lexsort((self.numbers, -self.keys, self.labels))
        labels = self.labels[order]
        firsts = np.searchsorted(labels, np.arange(len(n_kept)))
        places = np.arange(len(order)) - firsts[labels]
        kept = (places < n_kept[labels]) & (self.keys[order] > 0)
        return self._take(order[kept])

    def beside(self, other: Misfits) -> Misfits:
        both: Any = zip(self, other, strict=True)
        return Misfits._make(map(np.concatenate, both))

    def by_number(self) -> Misfits:
        return self._take(np.argsort(self.numbers))

    def _take(self, rows: NDArray[np.intp]) -> Misfits:
        return Misfits._make(each[rows] for each in self)


@dataclass(frozen=True, eq=False)
class MisfitFinder:
    """Finds the rows of a block that fit their clusters worst, and sums all of them.

    ``shares`` of the columns in each cluster, and last in the outliers, are what is
    expected there; ``n_kept`` is how many rows of each are kept.
    """

    profile: Profile
    shares: Floats
    n_kept: NDArray[np.int64]
    first_rows: NDArray[np.int64]

    @classmethod
    def of(
        cls, sums: Sums, profile: Profile, n_rows: int, first_rows: NDArray[np.int64]
    ) -> MisfitFinder:
        # One count, shared out as all counts are, makes every share more than 0.
        table = sums.table + sums.totals / max(float(sums.totals.sum()), 1.0)
        shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
        n_kept = np.ceil(sums.members * (n_rows / max(1, sums.n_rows)))
        n_kept = np.maximum(n_kept, ROWS_OF_CLUSTER).astype(np.int64)
        return cls(profile, shares, n_kept, first_rows)

    def __call__(self, index: int, counts: Counts) -> tuple[Sums, Misfits]:
        labels = np.empty(counts.n_rows, dtype=np.int32)
        sums = sums_by_profile(counts, self.profile, with_sizes=True, labels=labels)
        keys = np.empty(counts.n_rows)
        misfit_rows(loop_rows(counts), labels, self.shares, NOISE_NATS, keys)
        if counts.known is not None:
            keys[counts.known > FREE] = 0.0
        numbers = self.first_rows[index] + np.arange(counts.n_rows)
        return sums, Misfits(labels, keys, numbers).worst(self.n_kept)


@dataclass(frozen=True, eq=False)
class RareClusters:
    """Looks for clusters that a run has missed, in at most about ``n_rows`` rows."""

    engine: Engine
    summary: BlockSummary
    plan: Plan
    one_pass: Pass
    n_rows: int

    def start(self, run: RunState, workers: Workers) -> PendingRun | None:
        """Return a run from what another may have missed; None for nothing."""
        sums, misfits = self._misfits(run)
        if np.bincount(misfits.labels, minlength=1).max() < ROWS_OF_CLUSTER:
            return None
        counts = rows_of(self.engine, self.summary.first_rows, misfits.numbers)
        settings, labels = self.plan.settings, misfits.labels
        parts = self._divided(labels, counts, sums.n_clusters, workers)
        sums = with_parts(sums, counts, labels, parts, run.groups, settings.prior)
        n_clusters = settings.n_clusters
        sums = self._joined(sums, run.groups, TIMES_CLUSTERS * n_clusters, workers)
        wide = replace(settings, n_clusters=sums.n_clusters, max_iter=WIDE_PASSES)
        begun = PendingRun(run.groups, running=RunState(sums, run.groups, wide))
        shared = SharedPass([begun], wide, self.summary.sums)
        finish_together([shared], self.one_pass, None)
        found = shared.best_running.result()
        sums = self._joined(found.sums, found.groups, n_clusters, workers)
        again = RunState(sums, found.groups, settings)
        return PendingRun(found.groups, running=again)

    def _misfits(self, run: RunState) -> tuple[Sums, Misfits]:
        """Sums over all rows by the profile of a run, and the rows that fit worst."""
        settings = self.plan.settings
        profile = settings.profile(run.sums.smoothed(settings.prior), run.groups)
        rows = self.n_rows, self.summary.first_rows
        finder = MisfitFinder.of(run.sums, profile, *rows)
        sums, found = self.engine.fold(finder, partial(_added, finder.n_kept))
        sums.copy_totals_from(self.summary.sums)
        return sums, found.by_number()

    def _divided(
        self, labels: Ints, counts: Counts, n_clusters: int, workers: Workers
    ) -> Ints:
        """Parts of rows: those of a cluster are divided alone, unless they are few."""
        settings = self.plan.settings
        settings = replace(settings, n_clusters=PARTS, outliers=None, n_known=0)
        alone = replace(self.plan, settings=settings, init=MERGE, n_init=1)
        counts = counts.with_rows(counts.row_info.unlabelled)
        parts, n_parts = np.full(len(labels), NOWHERE, dtype=np.int32), 0
        for k in range(n_clusters + 1):
            rows = np.flatnonzero(labels == k)
            if len(rows) >= ROWS_OF_CLUSTER:
                (runs,) = runs_of([alone], counts.rows(rows), workers)
                found = best_of(runs).labels
                parts[rows] = n_parts + found
                n_parts += int(found.max()) + 1
        return parts

    def _joined(
        self, sums: Sums, groups: Groups, n_clusters: int, workers: Workers
    ) -> Sums:
        """Sums with the cheapest pairs of clusters joined until so many are left."""
        settings = self.plan.settings
        how = sums, groups, n_clusters, settings.prior, workers
        return sums.joined(merge_clusters(*how, apart=settings.n_known))


def is_due(shared: SharedPass) -> bool:
    """Whether a search may find something: the first, or one after it has paid."""
    if not 0 < shared.n_extra_searches < MOST_SEARCHES:
        return shared.n_extra_searches == 0
    *others, last = (run.loss for run in shared.runs)
    before = min(others)
    return before - last > LEAST_GAIN * abs(before)


def with_parts(
    sums: Sums, counts: Counts, labels: Ints, parts: Ints, groups: Groups, prior: float
) -> Sums:
    """Sums with some rows taken out of their clusters, into parts behind these."""
    inside = np.where(parts == NOWHERE, np.int32(NOWHERE), labels)
    n_parts = int(parts.max(initial=-1)) + 1
    gone = sum_by_labels(counts, inside, sums.n_clusters, groups, prior)
    new = sum_by_labels(counts, parts, n_parts, groups, prior)

    def lines(name: str) -> Any:
        rest = np.maximum(getattr(sums, name) - getattr(gone, name), 0)
        return np.concatenate([rest[:-1], getattr(new, name)[:-1], rest[-1:]])

    names = "cells", "cell_members", "cell_weights"
    return replace(sums, **{name: lines(name) for name in names})


def _added(
    n_kept: NDArray[np.int64], a: tuple[Sums, Misfits], b: tuple[Sums, Misfits]
) -> tuple[Sums, Misfits]:
    a[0].add(b[0])
    return a[0], a[1].beside(b[1]).worst(n_kept)
