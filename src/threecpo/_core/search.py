"""The best of several runs, for one number of clusters or several.

A search takes settings that differ in K alone and yields, for each of them in turn, one
run for every seed:

``restarts``
    A run from each seed starts as ``Starts`` says and goes to convergence.

``merges``
    1. Every seed makes a trial (``SeedRuns.trial``). It begins with several times K
       clusters from random rows, for a few iterations (without a price where that
       leaves too little); joins clusters until K are left (every third seed in three
       steps); and takes a few more iterations. Where many clusters do not stay apart,
       it starts as in ``restarts``.
    2. Trials are crossed in the order of the seeds, each with the best run before it.
       What is lower than the best runs to convergence (``crossing.Crossings``).

A K has the same runs alone and among others. Runs are made side by side where there
are enough of them, else rows are shared out, as they are in crossings; both give the
same bits.

``adaptive_restarts`` and ``adaptive_merges`` differ in the number of runs alone: a
search that ends after m runs has found what m seeds would have found. Restarts agree
where two of them share the lowest loss. Merging runs are crossed, so that each knows of
those before it. There a trial is also taken to convergence by itself (unless that is
hopeless), which is not used for anything else: it agrees where it arrives at the loss
of the best of the runs before it.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, islice, product
from typing import TYPE_CHECKING, Literal

import numpy as np

from .codes import RELEVANT, all_relevant, free, with_fixed
from .counts import BLOCK_COUNTS
from .crossing import (
    Crossings,
    best_of,
    between,
    crossed_runs,
    few_iterations,
    finished,
)
from .merging import TIMES_MORE, joined, n_before_joining
from .run import hopeless, run
from .seeding import random_centers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .codes import Groups, Ints
    from .counts import Counts
    from .run import Run, Settings
    from .seeding import Start
    from .sums import Sums
    from .workers import Workers

    FirstColumns = Callable[[np.random.Generator], Groups]
    MakeStart = Callable[[Counts], Start]
    # The K asked for, the number of the run, its iteration, the line of its history,
    # and whether it is the last.
    Report = Callable[[int, int, int, dict[str, float], bool], None]
    Found = Iterator[list[Run]]

# Relevant columns are too few only below this share of all columns.
SMALL_PART = 0.25
# Which seeds come down in three steps, each by a quarter: of 41 fits to labelled data
# 25 have a lower loss for it, 10 a higher one.
SLOWLY_EVERY = 3
# Of few runs: numbers of clusters up to the first start from no others, as the choice
# of K begins with their dispersions; those up to the second have all of their trials,
# as they are quick and differ most. Others have so many trials, less one for each
# neighbouring K, which is at most so many times as large or small.
ALONE_TO, ALL_TRIALS_TO = 4, 8
MOST_TRIALS = 2
FARTHEST = 2


class Starts:
    """Where runs start: groups of columns, and labels made inside the first C1."""

    def __init__(
        self,
        counts: Counts,
        first_columns: FirstColumns | Groups,
        make_start: MakeStart,
        *,
        also_all_columns: bool = False,
        fixed_groups: tuple[tuple[int, int], ...] = (),
        of_one_cluster: Callable[[], Groups] | None = None,
    ) -> None:
        self.counts = counts
        self.first_columns = first_columns
        self.make_start = make_start
        self.also_all_columns = also_all_columns
        self.fixed_groups = fixed_groups
        # First groups of one cluster, where they are not given as those of others.
        self._of_one_cluster = of_one_cluster and cache(of_one_cluster)
        self._ready: Start | None = None

    def columns(self, rng: np.random.Generator, n_clusters: int) -> Groups:
        """First groups of a run."""
        if n_clusters == 1 and self._of_one_cluster is not None:
            return self._of_one_cluster()
        return first_groups(self.first_columns, rng, self.fixed_groups)

    def wide_columns(
        self, rng: np.random.Generator, n_clusters: int, index: int
    ) -> Groups:
        """First groups of a run with many clusters.

        Columns of pure noise can be those with the most information, and a start that
        has no others never comes back. So, if that is allowed, two runs in four have
        all columns.
        """
        if self.also_all_columns and index // 2 % 2 == 1:
            return self.all_columns()
        return self.columns(rng, n_clusters)

    def all_columns(self) -> Groups:
        """Groups with every column in C1 that is not fixed elsewhere."""
        return with_fixed(all_relevant(self.counts.n_columns), self.fixed_groups)

    def labels(
        self,
        rng: np.random.Generator,
        groups: Groups,
        n_clusters: int,
        workers: Workers,
    ) -> Ints:
        """First labels of a run."""
        start = self._ready or self.make_start(self.counts.columns(groups == RELEVANT))
        return start(rng, n_clusters, workers)

    def prepare(self) -> None:
        """Make the start once where its columns are the same for all runs."""
        if isinstance(self.first_columns, np.ndarray):
            relevant = with_fixed(self.first_columns, self.fixed_groups) == RELEVANT
            self._ready = self.make_start(self.counts.columns(relevant))


def first_groups(
    first_columns: FirstColumns | Groups,
    rng: np.random.Generator,
    fixed_groups: tuple[tuple[int, int], ...] = (),
) -> Groups:
    """First groups that are given, or drawn."""
    if not isinstance(first_columns, np.ndarray):
        first_columns = first_columns(rng)
    return with_fixed(first_columns, fixed_groups)


@dataclass
class SeedRuns:
    """What one seed does: runs of its own, numbered ``index`` in reports."""

    starts: Starts
    index: int
    rng: np.random.Generator
    workers: Workers
    report: Report | None = None

    def start(self, settings: Settings) -> Run:
        """Run from columns and rows that the seed draws."""
        groups = self.starts.columns(self.rng, settings.n_clusters)
        drawn = self.rng, groups, settings.n_clusters
        labels = self.starts.labels(*drawn, self.workers)
        return self._run(groups, labels, settings)

    def trial(self, settings: Settings) -> Run:
        """Come down from more clusters to K, and take a few iterations there."""
        few = few_iterations(settings)
        if few.n_clusters == 1:
            return self._of_one_cluster(few)
        many, wide = self.begin(few)
        between = -(-4 * few.n_clusters // 3)
        slowly = self.index % SLOWLY_EVERY == 0
        for n_clusters in (-(-4 * between // 3), between) if slowly else ():
            if many.sums.n_clusters > n_clusters:
                step = replace(wide, n_clusters=n_clusters)
                labels, sums = self._joined(many, step)
                start = self.starts.counts, many.groups, labels
                many = run(*start, step, self.workers, None, sums)
        if many.sums.n_clusters < few.n_clusters:
            return self.start(few)
        labels, sums = self._joined(many, few)
        return self._run(many.groups, labels, few, sums)

    def _joined(self, many: Run, settings: Settings) -> tuple[Ints, Sums]:
        return joined(many.labels, many.sums, many.groups, settings, self.workers)

    def _of_one_cluster(self, settings: Settings) -> Run:
        """Run with all rows in one cluster: seeds for it would take distances."""
        labels = np.zeros(self.starts.counts.n_rows, dtype=np.int32)
        return self._run(self.starts.columns(self.rng, 1), labels, settings)

    def begin(self, few: Settings) -> tuple[Run, Settings]:
        """Run with many clusters from random rows for a few iterations.

        Their columns cost more than those of K. Where that leaves fewer clusters than
        K, or so few relevant columns, all are in use and cost nothing until K clusters
        are left.
        """
        counts, times = self.starts.counts, TIMES_MORE[self.index % len(TIMES_MORE)]
        n_clusters = n_before_joining(few.n_clusters, counts.n_copies, times)
        wide = replace(few, n_clusters=n_clusters, outliers=None)
        labels = random_centers(counts)(self.rng, n_clusters, self.workers)
        groups = self.starts.wide_columns(self.rng, n_clusters, self.index)
        found = run(counts, groups, labels, wide, self.workers)
        n_relevant = int((found.groups == RELEVANT).sum())
        too_few = n_relevant < min(few.n_clusters, SMALL_PART * counts.n_columns)
        too_few |= found.sums.n_clusters < few.n_clusters
        if too_few and self.starts.also_all_columns:
            wide, groups = replace(wide, price=free), self.starts.all_columns()
            found = run(counts, groups, labels, wide, self.workers)
        return found, wide

    def _run(
        self, groups: Groups, labels: Ints, settings: Settings, sums: Sums | None = None
    ) -> Run:
        report = self.report and partial(self.report, settings.n_clusters, self.index)
        start = self.starts.counts, groups, labels
        return run(*start, settings, self.workers, report, sums)


def restarts(
    starts: Starts,
    each_settings: Sequence[Settings],
    seeds: Sequence[np.random.SeedSequence],
    workers: Workers,
    report: Report | None = None,
) -> Found:
    """Run from every seed to convergence."""
    starts.prepare()
    n_runs = len(each_settings) * len(seeds)
    inner, outer = shared_out(workers, starts.counts, n_runs)
    start = partial(restart, starts, inner, report)
    runs = outer.map(start, product(each_settings, enumerate(seeds)))
    for _ in each_settings:
        yield list(islice(runs, len(seeds)))


def restart(
    starts: Starts,
    workers: Workers,
    report: Report | None,
    task: tuple[Settings, tuple[int, np.random.SeedSequence]],
) -> Run:
    """Run from one seed to convergence."""
    settings, (index, seed) = task
    rng = np.random.default_rng(seed)
    return SeedRuns(starts, index, rng, workers, report).start(settings)


def merges(
    starts: Starts,
    each_settings: Sequence[Settings],
    seeds: Sequence[np.random.SeedSequence],
    workers: Workers,
    report: Report | None = None,
) -> Found:
    """Come down from many clusters, from every seed."""
    return _merged(crossed_runs, starts, each_settings, seeds, workers, report)


@dataclass
class FewRuns:
    """Few runs for each K, most of which start from those of neighbouring K.

    ``found`` has the best run of each K so far.
    """

    n_runs: int | Literal["auto"]
    found: dict[int, Run] = field(default_factory=dict, repr=False)

    def neighbours(self, n_clusters: int) -> list[Run]:
        """Runs of the next larger and the next smaller K; none without a larger one."""
        if n_clusters <= ALONE_TO:
            return []
        runs, n = self.found, n_clusters
        above = [k for k in runs if n < k <= FARTHEST * n and runs[k].n_clusters >= n]
        below = [k for k in runs if k < n <= FARTHEST * k]
        if not above:
            return []
        return [runs[min(above)], *(runs[k] for k in sorted(below)[-1:])]

    def crossed(
        self,
        counts: Counts,
        trials: Iterable[Run],
        settings: Settings,
        workers: Workers,
    ) -> list[Run]:
        """Cross runs that start from neighbouring K with trials."""
        near = self.neighbours(settings.n_clusters)
        begun = between(counts, near, settings, workers) if near else ()
        runs = crossed_runs(counts, chain(begun, trials), settings, workers)
        self.found[settings.n_clusters] = best_of(runs)
        return runs


def few_merges(
    few: FewRuns,
    starts: Starts,
    each_settings: Sequence[Settings],
    seeds: Sequence[np.random.SeedSequence],
    workers: Workers,
    report: Report | None = None,
) -> Found:
    """Make few runs for each K; those of the largest come first."""
    for settings in each_settings:
        n_trials = MOST_TRIALS - len(few.neighbours(settings.n_clusters))
        some = seeds if settings.n_clusters <= ALL_TRIALS_TO else seeds[:n_trials]
        yield from _merged(few.crossed, starts, [settings], some, workers, report)


def _merged(
    crossed: Callable[..., list[Run]],
    starts: Starts,
    each_settings: Sequence[Settings],
    seeds: Sequence[np.random.SeedSequence],
    workers: Workers,
    report: Report | None,
) -> Found:
    """Make trials from the seeds for each K, as many as are crossed."""
    counts = starts.counts
    inner, outer = shared_out(workers, counts, len(seeds))
    alone = crossing_workers(inner, outer)
    for settings in each_settings:
        each_seed = [
            SeedRuns(starts, i, np.random.default_rng(seed), inner, report)
            for i, seed in enumerate(seeds)
        ]
        trial = partial(SeedRuns.trial, settings=settings)
        with closing(outer.map(trial, each_seed)) as trials:
            yield crossed(counts, trials, settings, alone)


def shared_out(
    workers: Workers, counts: Counts, n_runs: int
) -> tuple[Workers, Workers]:
    """Threads inside a run, and threads over runs."""
    serial = workers.serial()
    if len(counts.data) < BLOCK_COUNTS:  # threads would only wait for each other
        return serial, serial
    side_by_side = n_runs >= workers.n_jobs or len(counts.shares(workers.n_jobs)) == 1
    return (serial, workers) if side_by_side else (workers, serial)


def crossing_workers(inner: Workers, outer: Workers) -> Workers:
    """Threads inside a crossing: all, since there is one crossing at a time."""
    return outer if outer.n_jobs > 1 else inner


# Two runs agree early on a poor optimum more often than on the best one.
LEAST_RUNS = 6
MOST_RUNS = 20
# Losses are equal if they differ by less than this part.
SAME_LOSS = 1e-9


def agree(a: float, b: float) -> bool:
    """Whether two losses are those of the same optimum."""
    return abs(a - b) <= SAME_LOSS * min(abs(a), abs(b))


def adaptive_restarts(
    starts: Starts,
    each_settings: Sequence[Settings],
    seeds: Sequence[np.random.SeedSequence],
    workers: Workers,
    report: Report | None = None,
) -> Found:
    """Run from one seed after the other, until two share the lowest loss."""
    starts.prepare()
    inner, outer = shared_out(workers, starts.counts, len(seeds))
    start = partial(restart, starts, inner, report)
    for settings in each_settings:
        runs: list[Run] = []
        tasks = [(settings, each) for each in enumerate(seeds)]
        with closing(outer.map(start, tasks)) as found:
            for run in found:
                runs.append(run)
                lowest = sorted(each.loss for each in runs)[:2]
                if len(runs) >= LEAST_RUNS and agree(*lowest):
                    break
        yield runs


def adaptive_merges(
    starts: Starts,
    each_settings: Sequence[Settings],
    seeds: Sequence[np.random.SeedSequence],
    workers: Workers,
    report: Report | None = None,
) -> Found:
    """Come down from many clusters, from one seed after the other.

    Trials that were begun ahead and not needed leave no trace.
    """
    return _merged(_runs_until_agreed, starts, each_settings, seeds, workers, report)


def _runs_until_agreed(
    counts: Counts, trials: Iterable[Run], settings: Settings, workers: Workers
) -> list[Run]:
    """Cross trials until one that was left alone has arrived at the best loss."""
    crossings = Crossings(counts, settings, workers)
    arrived = np.inf
    for trial in trials:
        if crossings.runs:
            best = best_of(crossings.runs)
            beyond = not trial.converged and hopeless(trial.lines, best.loss)
            if not agree(arrived, best.loss) and not beyond:
                alone = finished(counts, trial, settings, workers)
                if agree(alone.loss, best.loss):
                    arrived = best.loss
        crossings.add(trial)
        enough = len(crossings.runs) >= LEAST_RUNS
        if enough and agree(arrived, best_of(crossings.runs).loss):
            break
    return crossings.runs
