"""Runs of planted counts from starts partly wrong, and when two are the same."""

import numpy as np

from strategies import planted
from threecpo._core.matrices import from_dense
from threecpo._core.rules import EXACT, PAPER
from threecpo._core.run import Settings, run
from threecpo._core.workers import Workers
from threecpo._options import resolve_penalty

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
        **{"rule": rule_of(exact=options.pop("exact"))} | options,
    )


def rule_of(*, exact):
    return EXACT if exact else PAPER


def run_of(Y, labels, groups, penalty="mdl", n_jobs=1, **changes):
    settings = settings_of(max(int(np.max(labels)) + 1, 1), penalty, **changes)
    with Workers(n_jobs) as workers:
        return run(from_dense(Y), groups, np.asarray(labels), settings, workers)


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
