"""Searches on planted counts, and all runs that they make."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from planted_runs import settings_of

from strategies import planted
from threecpo._core import crossing, search, seeding
from threecpo._core.codes import all_relevant
from threecpo._core.crossing import best_of
from threecpo._core.matrices import from_dense
from threecpo._core.run import Run, Settings, run
from threecpo._core.search import Starts, merges, restarts
from threecpo._core.workers import Workers

SEARCHES = [restarts, merges]
PLAIN = settings_of(3)
each_search = pytest.mark.parametrize("find", SEARCHES)


def settings_for(*n_clusters, **changes):
    if "outliers" in changes:
        changes["outliers"] = "iterative" if changes["outliers"] else None
    return [replace(PLAIN, n_clusters=k, **changes) for k in n_clusters]


def starts_of(Y, first_columns=None):
    counts = from_dense(Y)
    if first_columns is None:
        information = seeding.column_information(counts, 1e-3)
        first_columns = seeding.most_informative(information)
    make = partial(seeding.poisson_plus_plus, prior=1e-3)
    every = partial(all_relevant, Y.shape[1])
    return Starts(counts, first_columns, make, of_one_cluster=every)


def found_by(find, Y, settings, n_seeds=4, n_jobs=1, seed=0, report=None, **start):
    seeds = np.random.SeedSequence(seed).spawn(n_seeds)
    with Workers(n_jobs) as workers:
        found = find(starts_of(Y, **start), settings, seeds, workers, report)
        return [(best_of(runs), [run.loss for run in runs]) for runs in found]


def hard(seed, n_rows=200, **options):
    """Counts on which runs from different seeds end differently."""
    return planted(np.random.default_rng(seed), n_rows, 6, **options)[0]


def random_columns(rng):
    return rng.permutation(np.array([1, 1, 1, 1, -1, -1, -1, -1], dtype=np.int8))


@dataclass
class Started:
    """A run that a search has made, and where it started."""

    groups: np.ndarray
    labels: np.ndarray
    settings: Settings
    result: Run


def recorded(monkeypatch):
    """Every run that a search makes, in their order."""
    runs = []

    def recording(counts, groups, labels, settings, *others, **known):
        result = run(counts, groups, labels, settings, *others, **known)
        runs.append(Started(groups.copy(), labels.copy(), settings, result))
        return result

    for module in (search, crossing):
        monkeypatch.setattr(module, "run", recording)
    return runs
