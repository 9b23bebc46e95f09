"""The best of several runs, for one number of clusters or several.

Every search yields the runs for each of the settings in turn. The settings differ in K
alone. Runs go side by side where there are enough of them, else rows are shared out;
both give the same bits.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from .codes import NOWHERE, OUTLIER, RELEVANT, all_relevant, inner_labels
from .counts import BLOCK_COUNTS
from .loops.simd import LANES
from .merging import merge_clusters
from .run import run
from .seeding import random_centers
from .sums import sum_by_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from .counts import Counts
    from .run import Run, Settings
    from .seeding import Start
    from .sums import Sums
    from .workers import Workers

    FirstColumns = Callable[[np.random.Generator], NDArray[np.int8]]
    MakeStart = Callable[[Counts], Start]
    # The K asked for, the number of the run, its iteration, the line of its history,
    # and whether it is the last.
    Report = Callable[[int, int, int, dict[str, float], bool], None]
    RunReport = Callable[[int, dict[str, float], bool], None]
    Found = Iterator[list[Run]]

# Merging runs start with three and four times as many clusters in turns, or with 12,
# for a few iterations, and take a few more before they are compared.
TIMES_MORE = (3, 4)
AT_LEAST = 12
WIDE_ITERATIONS = 5
TRIAL_ITERATIONS = 5
ROWS_PER_CLUSTER = 30


class Starts:
    """Where runs start: groups of columns, and labels made inside the first C1."""

    def __init__(
        self,
        counts: Counts,
        first_columns: FirstColumns | NDArray[np.int8],
        make_start: MakeStart,
        *,
        also_all_columns: bool = False,
    ) -> None:
        self.counts = counts
        self.first_columns = first_columns
        self.make_start = make_start
        self.also_all_columns = also_all_columns
        self._ready: Start | None = None

    def columns(self, rng: np.random.Generator, n_clusters: int) -> NDArray[np.int8]:
        n_columns = self.counts.n_columns
        return first_groups(self.first_columns, rng, n_clusters, n_columns)

    def wide_columns(
        self, rng: np.random.Generator, n_clusters: int, index: int
    ) -> NDArray[np.int8]:
        """First groups of a run with many clusters.

        Columns of pure noise can be those with the most information, and a start that
        has no others never comes back. So, if that is allowed, two runs in four have
        all columns.
        """
        if self.also_all_columns and index // 2 % 2 == 1:
            return all_relevant(self.counts.n_columns)
        return self.columns(rng, n_clusters)

    def labels(
        self,
        rng: np.random.Generator,
        groups: NDArray[np.int8],
        n_clusters: int,
        workers: Workers,
    ) -> NDArray[np.int32]:
        start = self._ready or self.make_start(self.counts.columns(groups == RELEVANT))
        return start(rng, n_clusters, workers)

    def prepare(self) -> None:
        """Make the start once where its columns are the same for all runs."""
        if isinstance(self.first_columns, np.ndarray):
            relevant = self.first_columns == RELEVANT
            self._ready = self.make_start(self.counts.columns(relevant))


def first_groups(
    first_columns: FirstColumns | NDArray[np.int8],
    rng: np.random.Generator,
    n_clusters: int,
    n_columns: int,
) -> NDArray[np.int8]:
    """First groups; one cluster has nothing to tell apart and uses all columns."""
    if n_clusters == 1:
        return all_relevant(n_columns)
    if isinstance(first_columns, np.ndarray):
        return first_columns
    return first_columns(rng)


def restarts(
    starts: Starts,
    each_settings: Sequence[Settings],
    seeds: Sequence[np.random.SeedSequence],
    workers: Workers,
    report: Report | None = None,
) -> Found:
    """Run from every seed."""
    counts = starts.counts
    starts.prepare()
    tasks = [(s, i) for s in each_settings for i in range(len(seeds))]
    inner, outer = _shared_out(workers, counts, len(tasks))

    def one(task: tuple[Settings, int]) -> Run:
        settings, index = task
        rng = np.random.default_rng(seeds[index])
        groups = starts.columns(rng, settings.n_clusters)
        labels = starts.labels(rng, groups, settings.n_clusters, inner)
        told = _of_run(report, settings, index)
        return run(counts, groups, labels, settings, inner, told)

    results = outer.map(one, tasks)
    for _ in each_settings:
        yield list(islice(results, len(seeds)))


def merges(
    starts: Starts,
    each_settings: Sequence[Settings],
    seeds: Sequence[np.random.SeedSequence],
    workers: Workers,
    report: Report | None = None,
) -> Found:
    """Come down from many clusters, from every seed; the settings' K fall.

    A few iterations with more clusters than asked for, from random rows; join clusters;
    a few more iterations show what a run is worth, and runs are crossed. Every third
    goes on to the next K from where it is and the rest begin again: clusters of a
    larger K can hold columns that those of a smaller one would leave alone. Where many
    clusters find too little to stay apart, a run starts as in ``restarts``.
    """
    counts = starts.counts
    inner, outer = _shared_out(workers, counts, len(seeds))
    generators = [np.random.default_rng(seed) for seed in seeds]
    above: list[Run | None] = [None] * len(seeds)

    def begin(settings: Settings, index: int) -> Run:
        times = TIMES_MORE[index % len(TIMES_MORE)]
        wide = replace(
            settings,
            n_clusters=_many(settings.n_clusters, counts.n_rows, times),
            max_iter=min(WIDE_ITERATIONS, settings.max_iter),
            outliers=None,
        )
        rng = generators[index]
        labels = random_centers(counts)(rng, wide.n_clusters, inner)
        groups = starts.wide_columns(rng, wide.n_clusters, index)
        return run(counts, groups, labels, wide, inner)

    def descend(settings: Settings, index: int) -> Run:
        many = above[index] or begin(settings, index)
        groups, labels, known = many.groups, many.labels, None
        if many.sums.n_clusters >= settings.n_clusters > 1:
            labels, known = _joined(labels, many.sums, groups, settings, inner)
        else:
            rng = generators[index]
            groups = starts.columns(rng, settings.n_clusters)
            labels = starts.labels(rng, groups, settings.n_clusters, inner)
        told = _of_run(report, settings, index)
        return run(counts, groups, labels, settings, inner, told, known)

    def trial(settings: Settings, index: int) -> Run:
        return descend(_few_iterations(settings), index)

    first, *others = each_settings
    trials = outer.map(partial(trial, first), range(len(seeds)))
    runs = _crossings(counts, trials, first, inner, again=not others)
    yield runs
    # Those that begin again need not wait until the runs before them are crossed.
    each = [map(partial(trial, index=i), others) for i in range(len(seeds))]
    coming = [outer.ahead(of) if i % 3 else of for i, of in enumerate(each)]
    for settings in others:
        above[::3] = runs[::3]
        runs = _crossings(counts, map(next, coming), settings, inner, again=False)
        yield runs


def _crossings(
    counts: Counts,
    trials: Iterable[Run],
    settings: Settings,
    workers: Workers,
    *,
    again: bool,
) -> list[Run]:
    """Cross each trial with the best run before it.

    What comes out lower than the best runs to convergence. One run for each trial, that
    does not depend on later ones: more trials never give a worse result. ``again`` also
    crosses the best with an earlier run each time. For one K that pays; along a path it
    takes a fifth of the time and lowers few losses.
    """
    few = _few_iterations(settings)
    runs: list[Run] = []
    met: set[int] = set()  # earlier runs that the best has been crossed with

    def cross(best: Run, other: Run) -> Run:
        child = _crossed(counts, best, other, few, workers)
        if child.loss < best.loss:
            child = _finished(counts, child, settings, workers)
        return child

    for trial in trials:
        if not runs:
            runs.append(_finished(counts, trial, settings, workers))
            continue
        best = best_of(runs)
        new = cross(best, trial)
        if new.loss < best.loss:
            best, met = new, set()
        elif new is trial:
            met.add(len(runs))
        others = [i for i, one in enumerate(runs) if one is not best and i not in met]
        if again and others:
            lowest = min(others, key=lambda i: runs[i].loss)
            met.add(lowest)
            child = cross(best, runs[lowest])
            if child.loss < best.loss:
                new, met = child, set()
        runs.append(new)
    return runs


def _of_run(report: Report | None, settings: Settings, index: int) -> RunReport | None:
    """Reports of one run of a search."""
    return None if report is None else partial(report, settings.n_clusters, index)


def _few_iterations(settings: Settings) -> Settings:
    return replace(settings, max_iter=min(TRIAL_ITERATIONS, settings.max_iter))


def _finished(counts: Counts, trial: Run, settings: Settings, workers: Workers) -> Run:
    """Go on with a trial to convergence; the history tells of both parts."""
    n_before = len(trial.lines)
    if trial.converged or n_before >= settings.max_iter:
        return trial
    rest = replace(settings, max_iter=settings.max_iter - n_before)
    known = trial.sums
    result = run(counts, trial.groups, trial.labels, rest, workers, None, known)
    return replace(result, lines=trial.lines + result.lines)


def _joined(
    labels: NDArray[np.int32],
    sums: Sums,
    groups: NDArray[np.int8],
    settings: Settings,
    workers: Workers,
) -> tuple[NDArray[np.int32], Sums]:
    """Labels with clusters joined until there are as many as the settings ask for."""
    n_clusters, prior = settings.n_clusters, settings.prior
    new = merge_clusters(sums, groups, n_clusters, prior, workers)
    special = np.array([NOWHERE, OUTLIER], np.int32)
    return np.concatenate([new, special])[labels], sums.joined(new)


def _crossed(
    counts: Counts, best: Run, other: Run, settings: Settings, workers: Workers
) -> Run:
    """Run from the largest common parts of two runs; return it or the other."""
    if np.array_equal(best.labels, other.labels):
        return other
    parts = _common_parts(best.labels, other.labels, counts.n_rows, settings.n_clusters)
    n_parts = int(parts.max()) + 1
    if n_parts <= settings.n_clusters:
        return other
    inside = inner_labels(parts, n_parts)
    sums = sum_by_labels(counts, inside, n_parts, best.groups, settings.prior)
    labels, known = _joined(parts, sums, best.groups, settings, workers)
    crossed = run(counts, best.groups, labels, settings, workers, None, known)
    return crossed if crossed.loss < other.loss else other


def _common_parts(
    a: NDArray[np.int32], b: NDArray[np.int32], n_rows: int, n_clusters: int
) -> NDArray[np.int32]:
    """Rows that are together in both labelings; those of small parts are nowhere."""
    width = int(max(a.max(), b.max())) + 1
    outside = width**2
    outliers = (a == OUTLIER) | (b == OUTLIER)
    pairs = np.where(outliers, outside, a.astype(np.int64) * width + b)
    sizes = np.bincount(pairs, minlength=outside + 1)
    there = np.flatnonzero(sizes[:outside])
    most = _many(n_clusters, n_rows, max(TIMES_MORE))
    kept = there[np.argsort(-sizes[there], kind="stable")[:most]]
    new = np.full(outside + 1, NOWHERE, dtype=np.int32)
    new[kept] = np.arange(len(kept))
    new[outside] = OUTLIER
    return new[pairs]


def _many(n_clusters: int, n_rows: int, times: int) -> int:
    """How many clusters to come down from: enough, but not of a few rows each.

    If there are too few rows, as many as a pass scores without an empty lane.
    """
    enough = max(times * n_clusters, AT_LEAST)
    most = n_rows // ROWS_PER_CLUSTER
    if most < enough:
        enough = most - most % LANES
    return min(n_rows, max(2 * n_clusters, enough))


def _shared_out(
    workers: Workers, counts: Counts, n_runs: int
) -> tuple[Workers, Workers]:
    """Threads inside a run, and threads over runs."""
    serial = workers.serial()
    if len(counts.data) < BLOCK_COUNTS:  # threads would only wait for each other
        return serial, serial
    side_by_side = n_runs >= workers.n_jobs or len(counts.blocks) == 1
    return (serial, workers) if side_by_side else (workers, serial)


def best_of(runs: Sequence[Run]) -> Run:
    """Return the run of the lowest loss: the first, or the first that has converged."""
    return min(runs, key=lambda each: (each.loss, not each.converged))
