"""All runs share a pass: who asks, who leaves, how often blocks are read."""

import warnings

import block_fits
import numpy as np
import pytest
from block_fits import assert_same_bits, before_each_pass, counts_of, evenly
from sklearn.exceptions import ConvergenceWarning

from threecpo._core.matrices import from_sparse
from threecpo._core.rules import EXACT
from threecpo._core.run import Request, gain_below
from threecpo._core.sums import sum_by_labels
from threecpo._fit import blocks, shared_pass
from threecpo._fit.budget import MemoryBudget

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SLOW = {"init": "random-labels", "n_init": 8, "n_clusters": 4}


def fit(readers, fitting=None, **options):
    """A fit whose runs go to their ends, and no further ones."""
    alone = {"tol": 0.0, "rare_clusters": False}
    return block_fits.fit(readers, fitting=alone | (fitting or {}), **options)


@pytest.fixture
def asked(monkeypatch):
    """How many runs asked for each pass."""
    numbers = []
    before_each_pass(monkeypatch, lambda requests: numbers.append(len(requests)))
    return numbers


def test_a_block_is_read_once_a_pass_for_all_runs(asked):
    readers = evenly(counts_of()[0], 6)
    fit(readers, **SLOW)
    # The first scan, the sample, the passes and the results with how sure they are.
    assert {read.reads for read in readers} == {3 + len(asked)}
    assert asked[0] == SLOW["n_init"]


def test_runs_that_have_ended_no_longer_ask(asked, seed):
    fit(evenly(counts_of(seed)[0], 3), **SLOW)
    assert asked[0] == 8 > asked[-1]
    assert asked == sorted(asked, reverse=True)


def test_runs_that_wait_for_their_turn_end_the_same(monkeypatch, asked, seed):
    readers = evenly(counts_of(seed)[0], 3)
    expected = fit(readers, **SLOW)
    asked.clear()
    monkeypatch.setattr(MemoryBudget, "runs_at_once", lambda *_: 3)
    assert_same_bits(fit(readers, **SLOW), expected)
    assert max(asked) == 3


def test_every_run_ends_as_it_would_alone(seed):
    readers = evenly(counts_of(seed)[0], 3)
    together = fit(readers, **SLOW)
    for n_init in (1, 5):
        fewer = fit(readers, **SLOW | {"n_init": n_init})
        np.testing.assert_array_equal(
            fewer.restart_losses_, together.restart_losses_[:n_init]
        )


def test_runs_that_meet_go_on_as_one(asked):
    X, _ = counts_of(n_rows=1000)
    losses = fit(evenly(X, 4), n_init=6, sample_rows=500).restart_losses_
    assert asked[0] == 6
    assert asked[1] == np.unique(losses).size < 6


def test_a_run_must_need_ten_times_its_last_gain_to_be_hopeless():
    class Fake:
        def __init__(self, *losses):
            self.lines = [{"loss": loss} for loss in losses]

    def pass_of(*losses):
        runs = [
            shared_pass.PendingRun(np.empty(0), running=Fake(*each)) for each in losses
        ]
        for run in runs:
            run.loss = run.running.lines[-1]["loss"]
        return shared_pass.SharedPass(runs, None, None)

    shared = pass_of([20.0, 10.0], [22.0, 21.0], [21.2, 20.1], [25.0])
    shared._drop_hopeless(range(4))
    assert [run.ended for run in shared.runs] == [False, True, False, False]


def test_the_best_sums_are_kept_even_where_losses_rise(seed):
    """The printed rule can end a run above where it was when another was dropped."""
    options = SLOW | {"assignment": "paper", "outliers": "iterative", "n_init": 10}
    for n_rows in (60, 200):
        X, _ = counts_of(seed, n_rows=n_rows)
        found = fit(evenly(X, 3), sample_rows=30, **options)
        assert found.loss_ == found.restart_losses_.min()


def test_requests_of_all_runs_are_answered_as_one_by_one(seed):
    counts = from_sparse(counts_of(seed)[0])
    groups = np.array([1, 1, 1, 1, 0, 0, -1, -1], dtype=np.int8)
    requests = []
    for shift in range(3):
        labels = ((np.arange(counts.n_rows) + shift) % 4).astype(np.int32)
        smoothed = sum_by_labels(counts, labels, 4, groups, 1e-3).smoothed(1e-3)
        requests.append(Request(EXACT.profile(smoothed, groups), bool(shift)))
    together = blocks.answer(requests, 0, counts)
    for request, found in zip(requests, together, strict=True):
        (alone,) = blocks.answer([request], 0, counts)
        np.testing.assert_array_equal(found.table, alone.table)
        np.testing.assert_array_equal(found.count_log_sizes, alone.count_log_sizes)
        assert found.count_log_sizes.any() == request.with_sizes


class TestTolerance:
    """Runs that creep end where a pass gains less than is asked for."""

    TOL = 1e-3
    CREEPING = {"n_clusters": 5, "n_init": 3, "sample_rows": 60}  # noqa: RUF012

    @pytest.fixture(name="X")
    def counts(self):
        return block_fits.shapeless(1500)

    def test_a_run_ends_with_its_first_small_gain(self, X, asked):
        whole = fit(evenly(X, 3), **self.CREEPING)
        n_all = len(asked)
        asked.clear()
        with warnings.catch_warnings():  # it counts as converged
            warnings.simplefilter("error", ConvergenceWarning)
            found = fit(evenly(X, 3), fitting={"tol": self.TOL}, **self.CREEPING)
        assert len(asked) < n_all
        losses = found.history_["loss"]
        gains = -np.diff(losses) / np.abs(losses[1:])
        assert gains[-1] < self.TOL
        assert (gains[:-1] >= self.TOL).all()
        assert whole.loss_ < found.loss_
        assert found.loss_ == pytest.approx(whole.loss_, rel=20 * self.TOL)

    def test_it_does_not_hang_on_the_cut(self, X):
        options = {"fitting": {"tol": self.TOL}, **self.CREEPING}
        assert_same_bits(fit(evenly(X, 2), **options), fit(evenly(X, 7), **options))

    def test_labels_are_those_of_the_model(self, X):
        found = fit(evenly(X, 3), fitting={"tol": self.TOL}, **self.CREEPING)
        np.testing.assert_array_equal(found.predict(X), found.labels_)

    def test_it_is_part_of_a_checkpoint(self, X, tmp_path):
        options = {"tol": self.TOL, "checkpoint": tmp_path / "kept"}
        first = fit(evenly(X, 3), fitting=options, **self.CREEPING)
        again = fit(evenly(X, 3), fitting=options, **self.CREEPING)
        assert_same_bits(first, again)
        with pytest.raises(ValueError, match="tol"):
            fit(evenly(X, 3), fitting=options | {"tol": 0.0}, **self.CREEPING)

    def test_rising_losses_go_on(self):
        lines = [{"loss": loss} for loss in (-100.0, -99.99999)]
        assert not gain_below(lines, 1e-3)
        assert gain_below(lines[::-1], 1e-3)
        assert not gain_below(lines[:1], 1e-3)
