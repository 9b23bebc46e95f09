"""Runs until two agree that do not know of each other."""

import numpy as np
import pytest
from planted_runs import assert_same_bits
from searching import found_by, hard, settings_for, starts_of

import containers
from threecpo._core import counts as counts_module
from threecpo._core import search
from threecpo._core.crossing import finished
from threecpo._core.search import (
    LEAST_RUNS,
    MOST_RUNS,
    SeedRuns,
    adaptive_merges,
    adaptive_restarts,
    agree,
    merges,
    restarts,
)
from threecpo._core.workers import SERIAL

PAIRS = [(adaptive_restarts, restarts), (adaptive_merges, merges)]
each_pair = pytest.mark.parametrize(("find", "fixed"), PAIRS, ids=["restarts", "merge"])


def until_agreed(find, Y, n_clusters, **options):
    return found_by(find, Y, settings_for(*n_clusters), MOST_RUNS, **options)


def lone_losses(Y, settings, seed, n_runs):
    """Losses of the seeds' runs, each taken to convergence by itself."""
    starts, losses = starts_of(Y), []
    for i, each in enumerate(np.random.SeedSequence(seed).spawn(n_runs)):
        runs = SeedRuns(starts, i, np.random.default_rng(each), SERIAL)
        trial = runs.trial(settings)
        losses.append(finished(starts.counts, trial, settings, SERIAL).loss)
    return losses


@each_pair
def test_the_result_is_that_of_as_many_runs(find, fixed, seed):
    Y = hard(seed)
    ((best, losses),) = until_agreed(find, Y, [4], seed=seed)
    assert LEAST_RUNS <= len(losses) <= MOST_RUNS
    ((expected, same),) = found_by(fixed, Y, settings_for(4), len(losses), seed=seed)
    assert losses == same
    assert_same_bits(best, expected)


def test_restarts_end_when_two_share_the_lowest_loss(seed):
    Y = hard(seed)
    ((_, losses),) = until_agreed(adaptive_restarts, Y, [5], seed=seed)
    ((_, most),) = found_by(restarts, Y, settings_for(5), MOST_RUNS, seed=seed)
    agreed = [
        n
        for n in range(LEAST_RUNS, MOST_RUNS + 1)
        if sum(agree(loss, min(most[:n])) for loss in most[:n]) > 1
    ]
    assert len(losses) == (agreed[0] if agreed else MOST_RUNS)


def test_merging_ends_when_a_lone_run_arrives_at_the_best(seed, monkeypatch):
    monkeypatch.setattr("threecpo._core.run.PATIENCE", np.inf)
    Y, (settings,) = hard(seed), settings_for(5)
    ((_, losses),) = until_agreed(adaptive_merges, Y, [5], seed=seed)
    ((_, most),) = found_by(merges, Y, [settings], MOST_RUNS, seed=seed)
    alone = lone_losses(Y, settings, seed, MOST_RUNS)
    arrived = [i for i in range(1, MOST_RUNS) if agree(alone[i], min(most[:i]))]
    agreed = [
        n
        for n in range(LEAST_RUNS, MOST_RUNS + 1)
        if any(i < n and agree(min(most[:i]), min(most[:n])) for i in arrived)
    ]
    assert len(losses) == (agreed[0] if agreed else MOST_RUNS)


@each_pair
def test_clear_clusters_take_the_least_and_shapeless_counts_the_most(find, fixed):
    Y, _ = containers.planted()
    ((_, losses),) = until_agreed(find, Y, [3])
    assert len(losses) == LEAST_RUNS
    rng = np.random.default_rng(0)
    shapeless = rng.poisson(rng.gamma(0.5, 10.0, (200, 30)))
    ((_, losses),) = until_agreed(find, shapeless, [8])
    assert len(losses) == MOST_RUNS


@each_pair
def test_threads_give_the_same_bits(find, fixed, seed, monkeypatch):
    monkeypatch.setattr(search, "BLOCK_COUNTS", 10)
    monkeypatch.setattr(counts_module, "BLOCK_COUNTS", 50)
    Y, n_clusters = hard(seed), (6, 4, 1)
    first = until_agreed(find, Y, n_clusters, seed=seed)
    other = until_agreed(find, Y, n_clusters, seed=seed, n_jobs=3)
    for (a, losses), (b, other_losses) in zip(first, other, strict=True):
        assert losses == other_losses
        assert_same_bits(a, b)


def test_losses_agree_within_a_part_of_their_size():
    assert agree(-1e6, -1e6 * (1 + 9e-10))
    assert not agree(-1e6, -1e6 * (1 + 2e-9))
    assert agree(0.0, 0.0)
    assert not agree(np.inf, 5.0)


def test_a_hopeless_trial_is_not_taken_to_its_end(monkeypatch):
    ends = []

    def ending(counts, trial, *others):
        ends.append(trial)
        return finished(counts, trial, *others)

    monkeypatch.setattr(search, "finished", ending)
    until_agreed(adaptive_merges, hard(0), [6])
    n_ended = len(ends)
    monkeypatch.setattr("threecpo._core.run.PATIENCE", np.inf)
    until_agreed(adaptive_merges, hard(0), [6])
    assert n_ended < len(ends) - n_ended
