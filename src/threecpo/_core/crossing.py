"""Crossing of runs: what two runs agree on is the start of a third.

Rows that are together in both runs form parts; the largest are joined to K clusters,
the other rows go where they score best, and a few iterations follow. What comes out
counts if it is lower than the other of the two runs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .codes import NOWHERE, OUTLIER, inner_labels
from .merging import TIMES_MORE, joined, n_before_joining
from .run import run
from .sums import sum_by_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .codes import Floats, Groups, Ints
    from .counts import Counts
    from .run import Run, Settings
    from .sums import Sums
    from .workers import Task, Workers

# A trial is as long as this.
TRIAL_ITERATIONS = 5


def few_iterations(settings: Settings) -> Settings:
    """Settings of a trial, which shows what a run is worth."""
    return replace(settings, max_iter=min(TRIAL_ITERATIONS, settings.max_iter))


def finished(counts: Counts, trial: Run, settings: Settings, workers: Workers) -> Run:
    """Go on with a trial to convergence; the history is that of both parts."""
    n_before = len(trial.lines)
    if trial.converged or n_before >= settings.max_iter:
        return trial
    rest = replace(settings, max_iter=settings.max_iter - n_before)
    start = counts, trial.groups, trial.labels
    result = run(*start, rest, workers, sums=trial.sums)
    return replace(result, lines=trial.lines + result.lines)


def best_of(runs: Sequence[Run]) -> Run:
    """Return the run of the lowest loss: the first, or the first that has converged."""
    return min(runs, key=lambda each: (each.loss, not each.converged))


def crossed_runs(
    counts: Counts,
    trials: Iterable[Run],
    settings: Settings,
    workers: Workers,
) -> list[Run]:
    """Cross trials in their order; return one run for each."""
    crossings = Crossings(counts, settings, workers)
    for trial in trials:
        crossings.add(trial)
    return crossings.runs


class Crossings:
    """Runs for one K: each trial is crossed with the best run before it.

    What comes out lower than the best runs to convergence; then the best is crossed
    with an earlier run. ``runs`` has one run for each trial, that does not depend on
    later ones: more trials never give a worse result.
    """

    def __init__(self, counts: Counts, settings: Settings, workers: Workers) -> None:
        self.runs: list[Run] = []
        self._counts = counts
        self._settings = settings
        self._workers = workers
        # Numbers of earlier runs that the best has been crossed with.
        self._met: set[int] = set()

    def add(self, trial: Run) -> None:
        """Cross a trial with the best, and the best with the lowest it has not met."""
        if not self.runs:
            self.runs.append(self._finished(trial))
            return
        best = best_of(self.runs)
        # Another thread may make this one meanwhile; a new best does not need it.
        earlier = self._begin_earlier(best)
        new = self._cross(best, trial)
        if new.loss < best.loss:
            if earlier is not None:
                earlier.drop()
            best, self._met = new, set()
            earlier = self._begin_earlier(best)
        elif new is trial:
            self._met.add(len(self.runs))
        child = None if earlier is None else earlier.result()
        if child is not None and child.loss < best.loss:
            new, self._met = child, set()
        self.runs.append(new)

    def _begin_earlier(self, best: Run) -> Task[Run] | None:
        """Begin to cross the best with the lowest earlier run that it has not met."""
        others = [
            i
            for i, each in enumerate(self.runs)
            if each is not best and i not in self._met
        ]
        if not others:
            return None
        lowest = min(others, key=lambda i: self.runs[i].loss)
        self._met.add(lowest)
        return self._workers.begin(partial(self._cross, best, self.runs[lowest]))

    def _cross(self, best: Run, other: Run) -> Run:
        few = few_iterations(self._settings)
        child = crossed(self._counts, best, other, few, self._workers)
        return self._finished(child) if child.loss < best.loss else child

    def _finished(self, trial: Run) -> Run:
        return finished(self._counts, trial, self._settings, self._workers)


def crossed(
    counts: Counts, best: Run, other: Run, settings: Settings, workers: Workers
) -> Run:
    """Run from the largest common parts of two runs; return it or the other."""
    if np.array_equal(best.labels, other.labels):
        return other
    child = child_of(counts, best, other, settings, workers)
    return child if child is not None and child.loss < other.loss else other


def between(
    counts: Counts, runs: Sequence[Run], settings: Settings, workers: Workers
) -> Iterator[Run]:
    """Yield a run from merged clusters of a larger K, and one from common parts.

    ``runs`` are of the next larger K and, where there is one, the next smaller K.
    """
    few, above = few_iterations(settings), runs[0]
    yield _from_parts(counts, above.labels, above.sums, above.groups, few, workers)
    for below in runs[1:]:
        child = child_of(counts, above, below, few, workers)
        if child is not None:
            yield child


def child_of(
    counts: Counts, best: Run, other: Run, settings: Settings, workers: Workers
) -> Run | None:
    """Run from the largest common parts of two runs; None where they are too few."""
    parts = common_parts(
        *(best.labels, other.labels, counts.n_copies, settings.n_clusters),
        weights=counts.weights,
        n_known=settings.n_known,
    )
    n_parts = int(parts.max()) + 1
    if n_parts <= settings.n_clusters:
        return None
    groups, inside = best.groups, inner_labels(parts, n_parts)
    given = inside, n_parts, groups, settings.prior, workers
    sums = sum_by_labels(counts, *given, like=best.sums)
    return _from_parts(counts, parts, sums, groups, settings, workers)


def _from_parts(
    counts: Counts,
    parts: Ints,
    sums: Sums,
    groups: Groups,
    settings: Settings,
    workers: Workers,
) -> Run:
    """Run from parts that are joined to K clusters."""
    labels, sums = joined(parts, sums, groups, settings, workers)
    return run(counts, groups, labels, settings, workers, sums=sums)


def common_parts(
    a: Ints,
    b: Ints,
    n_rows: int,
    n_clusters: int,
    weights: Floats | None = None,
    *,
    n_known: int = 0,
) -> Ints:
    """Rows together in both labelings; known clusters first, small parts nowhere."""
    width = int(max(a.max(), b.max())) + 1
    outside = width**2
    outliers = (a == OUTLIER) | (b == OUTLIER)
    pairs = np.where(outliers, outside, a.astype(np.int64) * width + b)
    part_sizes = np.bincount(pairs, weights, minlength=outside + 1)
    there = np.flatnonzero(part_sizes[:outside])
    most = n_before_joining(n_clusters, n_rows, max(TIMES_MORE))
    held = np.arange(n_known) * (width + 1)
    order = np.where(np.isin(there, held), np.inf, part_sizes[there])
    kept = there[np.argsort(-order, kind="stable")[: max(most, n_known)]]
    new = np.full(outside + 1, NOWHERE, dtype=np.int32)
    new[kept] = np.arange(len(kept))
    new[outside] = OUTLIER
    return new[pairs]
