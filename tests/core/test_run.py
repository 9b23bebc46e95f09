"""Runs beside the oracle: where they end, and a loss that never rises."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from planted_runs import run_of, same_partition, start_of, states

import oracle
import oracle_run
from oracle import assert_agrees, size_of_terms
from strategies import labelled_counts, penalties, priors
from threecpo._core.rules import PAPER


def rises(Y, labels, groups, penalty, **changes):
    """By how much each half-step raises the oracle's loss, relative to its size."""
    X = Y + changes["prior"]
    size = size_of_terms(X.sum())
    loss = partial(oracle.loss, X, penalty=penalty)
    found = []
    steps = list(states(Y, labels, groups, penalty, **changes))
    for (old, before), (new, after) in pairwise(steps):
        values = [loss(old, before), loss(old, after), loss(new, after)]
        found.extend(np.diff(values) / size)
    return np.array(found)


class TestOracle:
    # Every two of prior, penalty and rule meet.
    @pytest.mark.parametrize(
        ("prior", "penalty", "exact", "outliers"),
        [
            (1e-3, "mdl", True, False),
            (0.0, "mdl", False, True),
            (1.0, "mdl", True, True),
            (1e-3, "bic", False, True),
            (0.0, "bic", True, False),
            (1.0, "bic", False, False),
            (1e-3, None, True, True),
            (0.0, None, False, False),
            (1.0, None, True, False),
        ],
    )
    def test_a_run_on_planted_counts(self, prior, penalty, exact, outliers, seed):
        options = {"exact": exact, "outliers": outliers}
        compared = 0
        for start in range(4 * seed, 4 * seed + 4):
            Y, labels, groups = start_of(start)
            expected = oracle_run.run(Y + prior, labels, groups, penalty, **options)
            if expected.clear and expected.converged:
                actual = run_of(Y, labels, groups, penalty, prior=prior, **options)
                self.check(actual, expected, Y + prior)
                compared += 1
        assert compared >= 2

    @given(labelled_counts(min_rows=3), priors, penalties, st.booleans(), st.booleans())
    def test_a_run_on_awkward_counts(self, case, prior, penalty, exact, outliers):
        assume(outliers or (case.labels >= 0).all())
        options = {"exact": exact, "outliers": outliers}
        X = case.Y + prior
        expected = oracle_run.run(X, case.labels, case.groups, penalty, **options)
        assume(expected.clear and expected.converged)
        actual = run_of(
            case.Y, case.labels, case.groups, penalty, prior=prior, **options
        )
        self.check(actual, expected, X)

    def check(self, actual, expected, X):
        np.testing.assert_array_equal(actual.labels, expected.labels)
        np.testing.assert_array_equal(actual.groups, expected.groups)
        assert actual.converged
        size = size_of_terms(X.sum())
        assert_agrees(actual.history["loss"], expected.row_losses, size)
        assert actual.loss == actual.history["loss"][-1]


@given(labelled_counts(), priors, penalties, st.booleans(), st.booleans())
def test_every_run_is_consistent(case, prior, penalty, exact, outliers):
    """Its loss follows from labels and groups; without C1 there is one cluster."""
    assume(outliers or (case.labels >= 0).all())
    options = {"prior": prior, "exact": exact, "outliers": outliers}
    result = run_of(case.Y, case.labels, case.groups, penalty, **options)
    X = case.Y + prior
    expected = oracle.loss(X, result.labels, result.groups, penalty)
    assert_agrees(result.loss, expected, size_of_terms(X.sum()))
    assert result.sums.n_clusters == oracle.n_clusters(result.labels)
    assert result.labels.max() == result.sums.n_clusters - 1
    sizes = np.bincount(result.labels[result.labels >= 0])
    assert (np.diff(sizes) <= 0).all()
    assert len(result.history["loss"]) < 100
    if 1 not in result.groups:
        assert not result.labels.any()


class TestMonotone:
    @given(
        labelled_counts(), priors, penalties, st.booleans(), st.sampled_from([1, 0.37])
    )
    def test_on_awkward_counts(self, case, prior, penalty, outliers, fraction):
        assume(outliers or (case.labels >= 0).all())
        options = {"prior": prior, "outliers": outliers}
        Y = case.Y * fraction
        found = rises(Y, case.labels, case.groups, penalty, **options)
        assert (found <= 1e-9).all()

    @pytest.mark.parametrize(
        ("outliers", "fractional", "penalty"),
        [(False, False, "mdl"), (True, True, "bic"), (True, False, None)],
    )
    def test_on_planted_counts(self, seed, outliers, fractional, penalty):
        Y, labels, groups = start_of(seed, fractional=fractional)
        options = {"prior": 1e-3, "outliers": outliers}
        found = rises(Y, labels, groups, penalty, **options)
        assert (found <= 1e-9).all()
        assert (found < -1e-6).any()


class TestFigure1:
    def test_is_a_fixed_point_with_the_bic_price(self):
        Y, labels, groups = oracle.figure_1()
        result = run_of(Y, labels, groups, "bic", prior=0.0)
        assert same_partition(result.labels, labels)
        np.testing.assert_array_equal(result.groups, groups)
        assert result.converged
        assert result.history["rows_moved"].tolist() == [0]


class TestPrintedRule:
    def test_a_repeated_state_ends_the_run(self, seed):
        """Profiles that swap names send the rows to and fro for ever."""

        class Swapped:
            def profile(self, sums, groups, **options):
                sums = replace(sums, clusters=sums.clusters[::-1].copy())
                return PAPER.profile(sums, groups, **options)

        Y, labels, groups = start_of(seed)
        settled = run_of(Y, labels, groups, None, exact=False)
        result = run_of(Y, settled.labels, settled.groups, None, rule=Swapped())
        assert not result.converged
        assert 1 < len(result.history["loss"]) < 10
        assert (result.history["rows_moved"] > 0).all()
        assert result.loss == pytest.approx(settled.loss, rel=1e-12)
