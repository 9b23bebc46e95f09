"""Scores, rates and losses beside the paper's formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_cases import EDGES, column_step, row_scales, scores_of_profile, sums_of

import oracle
import oracle_run
from oracle import assert_agrees, size_of_terms
from strategies import (
    PENALTIES,
    PRIORS,
    Labelled,
    labelled_counts,
    penalties,
    planted,
    priors,
)
from threecpo._core import model


def without_row_constant(scores):
    return scores - scores[:, :1]


def check_column_scores(case, prior, penalty):
    X = case.Y + prior
    expected = oracle.column_scores(X, case.labels, case.groups, penalty)
    scores = column_step(case, prior, penalty).scores
    assert_agrees(scores, expected, size_of_terms(X.sum(axis=0))[:, None])


def check_rates(case, prior):
    X = case.Y + prior
    rates = model.rates(sums_of(case, prior), case.groups)
    expected = oracle.cluster_rates(X, case.labels, case.groups, case.n_clusters)
    assert_agrees(rates.cluster, expected)
    assert_agrees(rates.shared, oracle.shared_rates(X))
    assert_agrees(rates.noise, oracle.noise_rates(X))
    expected = oracle.row_scales(X, case.labels, case.groups)
    assert_agrees(row_scales(case, prior), expected)


def check_row_scores(case, prior, *, exact):
    X = case.Y + prior
    expected = np.column_stack(
        [
            oracle.row_scores(X, case.labels, case.groups, exact=exact),
            oracle.background(X, case.groups, exact=exact),
        ]
    )
    actual = scores_of_profile(case, prior, exact=exact, background=True)
    size = size_of_terms(X.sum(axis=1))[:, None]
    if exact:
        assert_agrees(actual, expected, size)
        return
    sizes = X[:, case.groups >= 0].sum(axis=1)
    constant = oracle.times_log(X[:, case.groups == 1], sizes[:, None]).sum(axis=1)
    used = oracle.n_clusters(case.labels) * [True] + [True]
    for k in range(case.n_clusters):
        # The profile of a cluster without a count is not defined.
        used[k] = X[case.labels == k][:, case.groups >= 0].sum() > 0
    expected = expected - constant[:, None]
    assert_agrees(actual[:, used], expected[:, used], size)


def check_likelihood(case, prior):
    X, sums = case.Y + prior, sums_of(case, prior)
    value = model.log_likelihood(sums, case.groups, sums)
    expected = -oracle.loss(X, case.labels, case.groups, None)
    assert_agrees(value, expected, size_of_terms(X.sum()))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", EDGES)
class TestEdges:
    @pytest.mark.parametrize("penalty", PENALTIES)
    def test_column_scores_are_the_papers(self, name, prior, penalty):
        check_column_scores(EDGES[name], prior, penalty)

    def test_rates_and_row_scales_are_the_papers(self, name, prior):
        check_rates(EDGES[name], prior)

    @pytest.mark.parametrize("exact", [True, False])
    def test_row_scores_are_the_papers(self, name, prior, exact):
        check_row_scores(EDGES[name], prior, exact=exact)

    @pytest.mark.parametrize("penalty", PENALTIES)
    def test_loss_is_the_papers(self, name, prior, penalty):
        case = EDGES[name]
        loss = model.loss(column_step(case, prior, penalty).scores, case.groups)
        expected = oracle.loss(case.Y + prior, case.labels, case.groups, penalty)
        assert loss == pytest.approx(expected, rel=1e-12)

    def test_likelihood_under_own_rates_is_minus_the_loss(self, name, prior):
        check_likelihood(EDGES[name], prior)


@given(labelled_counts(), priors, penalties)
def test_column_scores_equal_the_oracle(case, prior, penalty):
    check_column_scores(case, prior, penalty)


@given(labelled_counts(), priors)
def test_rates_and_row_scales_equal_the_oracle(case, prior):
    check_rates(case, prior)


@given(labelled_counts(), priors, st.booleans())
def test_row_scores_equal_the_oracle(case, prior, exact):
    check_row_scores(case, prior, exact=exact)


@given(labelled_counts(), priors, penalties)
def test_loss_equals_the_oracle(case, prior, penalty):
    X = case.Y + prior
    loss = model.loss(column_step(case, prior, penalty).scores, case.groups)
    expected = oracle.loss(X, case.labels, case.groups, penalty)
    assert_agrees(loss, expected, size_of_terms(X.sum()))


@given(labelled_counts(), priors, penalties)
def test_groups_equal_the_oracle(case, prior, penalty):
    X = case.Y + prior
    step = column_step(case, prior, penalty)
    scores = oracle.column_scores(X, case.labels, case.groups, penalty)
    expected = oracle.choose_groups(scores, oracle.tolerance(X, case.groups))
    clear = oracle_run.clear_columns(X, case.labels, case.groups, penalty)
    np.testing.assert_array_equal(step.groups[clear], expected[clear])


@given(labelled_counts(), priors)
def test_likelihood_under_own_rates_is_minus_the_loss(case, prior):
    check_likelihood(case, prior)


@pytest.mark.parametrize("outliers", [False, True])
def test_likelihood_of_other_rows_equals_the_oracle(outliers, seed):
    Y, labels = planted(np.random.default_rng(seed), n_rows=60)
    labels[4::7] = -1 if outliers else 0
    groups = np.array([1, 1, 1, 1, 0, 0, -1, -1], np.int8)
    old = Labelled(Y[:40], labels[:40], groups, 3)
    new = Labelled(Y[40:], labels[40:], groups, 3)
    X, Z = old.Y + 1e-3, new.Y + 1e-3
    rates = oracle.cluster_rates(X, old.labels, groups, 3)
    rates[:, groups == 0] = oracle.shared_rates(X)[groups == 0]
    rates = np.vstack([rates, oracle.shared_rates(X)])
    mu = np.broadcast_to(oracle.noise_rates(X), Z.shape)
    expected = (oracle.times_log(Z, mu) - mu)[:, groups == -1].sum()
    for k in (0, 1, 2, -1):
        own = Z[new.labels == k]
        expected += oracle.refitted_likelihood(own, rates[k], groups).sum()
    value = model.log_likelihood(sums_of(new, 1e-3), groups, sums_of(old, 1e-3))
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_clusters", [1, 2, 7, 8, 9, 17])
@pytest.mark.parametrize("background", [False, True])
def test_row_scores_for_few_and_many_clusters(n_clusters, background, seed):
    Y, _ = planted(np.random.default_rng(seed), n_rows=60)
    labels = np.arange(60) % n_clusters
    groups = np.array([1, 1, 1, 1, 0, 0, -1, -1], np.int8)
    case = Labelled(Y, labels, groups, n_clusters)
    actual = scores_of_profile(case, 1e-3, exact=True, background=background)
    expected = oracle.row_scores(Y + 1e-3, labels, case.groups, exact=True)
    np.testing.assert_allclose(actual[:, :n_clusters], expected, rtol=1e-12)
    if background:
        expected = oracle.background(Y + 1e-3, case.groups, exact=True)
        np.testing.assert_allclose(actual[:, -1], expected, rtol=1e-12)


@given(labelled_counts(huge=False), st.sampled_from([1e-3, 1.0]))
def test_exact_score_is_the_likelihood_with_the_row_scale_refitted(case, prior):
    X = case.Y + prior
    if not (case.groups >= 0).any():
        return
    rates = oracle.cluster_rates(X, case.labels, case.groups, case.n_clusters)
    rates[:, case.groups == 0] = oracle.shared_rates(X)[case.groups == 0]
    rates = np.vstack([rates, oracle.shared_rates(X)])
    expected = np.column_stack(
        [oracle.refitted_likelihood(X, r, case.groups) for r in rates]
    )
    actual = scores_of_profile(case, prior, exact=True, background=True)
    size = size_of_terms(X.sum(axis=1))[:, None]
    assert_agrees(without_row_constant(actual), without_row_constant(expected), size)


def test_a_row_that_a_profile_forbids_scores_minus_infinity_without_prior():
    Y = np.array([[2.0, 0.0], [3.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    case = Labelled(Y, np.array([0, 0, 1, 1]), np.ones(2, np.int8), 2)
    scores = scores_of_profile(case, 0.0, exact=True, background=False)
    assert (scores[:, 0] == -np.inf).tolist() == [False, False, True, True]
    assert np.isfinite(scores[:, 1]).all()
    assert (scores[:2, 0] == 0).all()
