"""Labelled counts, runs and searches of them, and when two of them are the same."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from strategies import Labelled, planted
from threecpo._core import model, seeding
from threecpo._core.codes import all_relevant, inner_labels
from threecpo._core.crossing import best_of
from threecpo._core.matrices import from_dense
from threecpo._core.rules import EXACT, PAPER, describe
from threecpo._core.run import Run, Settings, run
from threecpo._core.search import Starts, merges, restarts
from threecpo._core.sums import sum_by_labels
from threecpo._core.workers import SERIAL, Workers
from threecpo._options import resolve_penalty

ALL_GROUPS = (1, 0, -1)


def sums_of(case, prior):
    labels = inner_labels(case.labels, case.n_clusters)
    sums = sum_by_labels(
        from_dense(case.Y), labels, case.n_clusters, case.groups, prior
    )
    return sums.smoothed(prior)


def column_step(case, prior, penalty, allowed=ALL_GROUPS):
    return model.column_step(
        sums_of(case, prior), case.groups, resolve_penalty(penalty), allowed
    )


def row_scales(case, prior):
    factors = model.Scales.of(sums_of(case, prior), case.groups).row_factors
    sizes = (case.Y + prior)[:, case.groups >= 0].sum(axis=1)
    return (sizes if sizes.sum() > 0 else 1.0) * factors[case.labels]


def scores_of_profile(case, prior, *, exact, background):
    """Score of every row in every cluster, the background last."""
    counts = from_dense(case.Y)
    rule = EXACT if exact else PAPER
    profile = rule.profile(sums_of(case, prior), case.groups, background=background)
    out = np.empty((counts.n_rows, case.n_clusters + background))
    describe(counts, profile, SERIAL, row_scores=out)
    return out


def small_case(groups, labels=(0, 0, 1, 1, 2, 1), seed=0):
    Y = np.random.default_rng(seed).integers(0, 9, size=(6, 4)).astype(float)
    labels = np.array(labels)
    return Labelled(Y, labels, np.array(groups, dtype=np.int8), labels.max() + 1)


def case_without_counts_in(*empty):
    """A cluster that has no counts in the columns of these groups."""
    case = small_case([1, 0, 1, -1])
    Y = case.Y.copy()
    Y[np.ix_(case.labels == 1, np.isin(case.groups, empty))] = 0
    return Labelled(Y, case.labels, case.groups, case.n_clusters)


EDGES = {
    "all groups": small_case([1, 0, 1, -1]),
    "C0 empty": small_case([1, -1, 1, -1]),
    "C1 empty": small_case([0, -1, 0, -1]),
    "C0 and C1 empty": small_case([-1, -1, -1, -1]),
    "C- empty": small_case([1, 0, 1, 0]),
    "one cluster": small_case([1, 0, 1, -1], [0] * 6),
    "one cluster, C0 empty": small_case([1, 1, 1, -1], [0] * 6),
    "a cluster without C0": case_without_counts_in(0),
    "a cluster without C1": case_without_counts_in(1),
    "a cluster in C- only": case_without_counts_in(0, 1),
    "outliers": small_case([1, 0, 1, -1], [0, -1, 1, 1, -1, 0]),
    "outliers, C0 empty": small_case([1, -1, 1, -1], [0, -1, 1, 1, -1, 0]),
    "outliers, C1 empty": small_case([0, -1, 0, -1], [0, -1, 1, 1, -1, 0]),
    "outliers, C0 and C1 empty": small_case([-1] * 4, [0, -1, 1, 1, -1, 0]),
}


FIRST = np.array([1, 1, 1, 1, -1, 1, -1, -1], dtype=np.int8)
RULES = [(True, False), (True, True), (False, False), (False, True)]


def settings_of(n_clusters, penalty="mdl", **changes):
    options = {
        "max_iter": 100,
        "allowed": (1, 0, -1),
        "exact": True,
        "outliers": False,
        "threshold": 0.0,
        "prior": 1e-3,
    }
    options |= changes
    return Settings(
        n_clusters=n_clusters,
        price=resolve_penalty(penalty),
        groups=options.pop("allowed"),
        outliers="iterative" if options.pop("outliers") else None,
        **{"rule": EXACT if options.pop("exact") else PAPER} | options,
    )


def knowing(counts, held, n_known):
    """Counts whose rows are held in known clusters without names."""
    info = replace(counts.row_info, known=held, known_names=("",) * n_known)
    return counts.with_rows(info)


def run_of(Y, labels, groups, penalty="mdl", n_jobs=1, held=None, **changes):
    """A run from these labels; ``held`` has the known cluster of rows, or -1."""
    counts, n_clusters = from_dense(Y), max(int(np.max(labels)) + 1, 1)
    if held is not None:
        changes["n_known"] = n_known = int(held.max(initial=-1)) + 1
        counts = knowing(counts, held.astype(np.int32), n_known)
        n_clusters = max(n_clusters, n_known)
    settings = settings_of(n_clusters, penalty, **changes)
    with Workers(n_jobs) as workers:
        return run(counts, groups, np.asarray(labels), settings, workers)


def states(Y, labels, groups, penalty, **changes):
    """Labels and groups at the start and after every iteration."""
    end = run_of(Y, labels, groups, penalty, **changes)
    yield labels, groups
    for n_iter in range(1, len(end.history["loss"]) + 1):
        result = run_of(Y, labels, groups, penalty, **changes | {"max_iter": n_iter})
        yield result.labels, result.groups


def same_partition(first, second):
    """Labels agree up to the names of clusters."""
    pairs = {(a, b) for a, b in zip(first, second, strict=True)}
    return len(pairs) == len(np.unique(first)) == len(np.unique(second)) and all(
        (a == -1) == (b == -1) for a, b in pairs
    )


def start_of(seed, *, n_rows=40, fractional=False):
    """Counts, the clusters behind them with every third row astray, first groups."""
    rng = np.random.default_rng(seed)
    Y, labels = planted(rng, n_rows, fractional=fractional)
    labels[::3] = rng.integers(3, size=len(labels[::3]))
    return Y, labels, FIRST


def assert_same_bits(first, second):
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.groups, second.groups)
    np.testing.assert_array_equal(first.column_scores, second.column_scores)
    np.testing.assert_array_equal(first.sums.table, second.sums.table)
    assert first.loss == second.loss
    assert first.history.keys() == second.history.keys()
    for key, values in first.history.items():
        np.testing.assert_array_equal(values, second.history[key])


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


def assert_same_sums(first, second, *, but=()):
    """All sums of clusters, but for some that may round."""
    fields = "table", "members", "totals", "count_log_sizes", "log_size_total", "n_rows"
    for name in fields:
        if name not in but:
            np.testing.assert_array_equal(
                *(getattr(sums, name) for sums in (first, second)), err_msg=name
            )
