"""Searches that make runs until two agree that do not know of each other.

They differ from ``search.restarts`` and ``search.merges`` in the number of runs alone:
for one K a search that ends after m runs has found what m seeds would have found.

Restarts agree where two of them share the lowest loss. Merging runs are crossed, so
that each knows of those before it. There a trial is also taken to convergence by itself
(unless that is hopeless), which is not used for anything else: it agrees where it
arrives at the loss of the best of the runs before it.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .crossing import Crossings, best_of, finished
from .run import hopeless
from .search import SeedRuns, crossing_workers, restart, shared_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .counts import Counts
    from .run import Run, Settings
    from .search import Found, Report, Starts
    from .workers import Workers

# Two runs agree early on a poor optimum more often than on the best one.
LEAST_RUNS = 6
MOST_RUNS = 20
# Losses are equal if they differ by less than this part.
SAME_LOSS = 1e-9


def agree(a: float, b: float) -> bool:
    """Whether two losses are those of the same optimum."""
    return abs(a - b) <= SAME_LOSS * min(abs(a), abs(b))


def restarts_until_agreed(
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


def merges_until_agreed(
    starts: Starts,
    each_settings: Sequence[Settings],
    seeds: Sequence[np.random.SeedSequence],
    workers: Workers,
    report: Report | None = None,
) -> Found:
    """Come down from many clusters, from one seed after the other; the K fall.

    Trials that were begun ahead and not needed leave no trace: for every K a seed has a
    generator of its own.
    """
    counts = starts.counts
    runs: list[Run] = []
    inner, outer = shared_out(workers, counts, len(seeds))
    alone = crossing_workers(inner, outer)
    for place, settings in enumerate(each_settings):
        each_seed = [
            SeedRuns(starts, i, _generator(seed, place), inner, report)
            for i, seed in enumerate(seeds)
        ]
        for seed, run in zip(each_seed, runs, strict=False):
            seed.above = run if seed.goes_on else None
        trial = partial(SeedRuns.trial, settings=settings)
        again = len(each_settings) == 1
        with closing(outer.map(trial, each_seed)) as trials:
            crossings = Crossings(counts, settings, alone, again=again)
            runs = _runs_until_agreed(counts, trials, settings, alone, crossings)
        yield runs


def _generator(seed: np.random.SeedSequence, place: int) -> np.random.Generator:
    """That of the seed itself for the first K, others for those that follow."""
    if place:
        key = (*seed.spawn_key, place)
        seed = np.random.SeedSequence(seed.entropy, spawn_key=key)
    return np.random.default_rng(seed)


def _runs_until_agreed(
    counts: Counts,
    trials: Iterable[Run],
    settings: Settings,
    workers: Workers,
    crossings: Crossings,
) -> list[Run]:
    """Cross trials until one that was left alone has arrived at the best loss."""
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
