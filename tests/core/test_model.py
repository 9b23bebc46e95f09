"""Scores, rates and losses against the paper's formulas."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
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

GROUPS = np.array([1, 1, 1, 1, 0, 0, -1, -1], np.int8)


def without_row_constant(scores):
    return scores - scores[:, :1]


def check_columns(case, prior, penalty):
    """Scores, loss and best groups of the columns."""
    X = case.Y + prior
    expected = oracle.column_scores(X, case.labels, case.groups, penalty)
    step = column_step(case, prior, penalty)
    assert_agrees(step.scores, expected, size_of_terms(X.sum(axis=0))[:, None])
    loss = oracle.loss(X, case.labels, case.groups, penalty)
    assert_agrees(model.loss(step.scores, case.groups), loss, size_of_terms(X.sum()))
    best = oracle.choose_groups(expected, oracle.tolerance(X, case.groups))
    clear = oracle_run.clear_columns(X, case.labels, case.groups, penalty)
    np.testing.assert_array_equal(step.groups[clear], best[clear])


def check_rates(case, prior):
    X, sums = case.Y + prior, sums_of(case, prior)
    rates = model.rates(sums, case.groups)
    expected = oracle.cluster_rates(X, case.labels, case.groups, case.n_clusters)
    assert_agrees(rates.cluster, expected)
    assert_agrees(rates.shared, oracle.shared_rates(X))
    assert_agrees(rates.noise, oracle.noise_rates(X))
    expected = oracle.row_scales(X, case.labels, case.groups)
    assert_agrees(row_scales(case, prior), expected)
    likelihood = model.log_likelihood(sums, case.groups, sums)
    expected = -oracle.loss(X, case.labels, case.groups, None)
    assert_agrees(likelihood, expected, size_of_terms(X.sum()))


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


@pytest.mark.parametrize("name", EDGES)
def test_edges_equal_the_oracle(name):
    case = EDGES[name]
    for prior, penalty in product(PRIORS, PENALTIES):
        check_columns(case, prior, penalty)
    for prior in PRIORS:
        check_rates(case, prior)
        check_row_scores(case, prior, exact=True)
        check_row_scores(case, prior, exact=False)


@settings(max_examples=120)
@given(labelled_counts(), priors, penalties, st.booleans())
def test_the_model_equals_the_oracle(case, prior, penalty, exact):
    check_columns(case, prior, penalty)
    check_rates(case, prior)
    check_row_scores(case, prior, exact=exact)


def test_likelihood_of_new_rows_equals_the_oracle(seed):
    Y, labels = planted(np.random.default_rng(seed), n_rows=60)
    labels[4::7] = -1
    old = Labelled(Y[:40], labels[:40], GROUPS, 3)
    new = Labelled(Y[40:], labels[40:], GROUPS, 3)
    X, Z = old.Y + 1e-3, new.Y + 1e-3
    rates = oracle.cluster_rates(X, old.labels, GROUPS, 3)
    rates[:, GROUPS == 0] = oracle.shared_rates(X)[GROUPS == 0]
    rates = np.vstack([rates, oracle.shared_rates(X)])
    mu = np.broadcast_to(oracle.noise_rates(X), Z.shape)
    expected = (oracle.times_log(Z, mu) - mu)[:, GROUPS == -1].sum()
    for k in (0, 1, 2, -1):
        own = Z[new.labels == k]
        expected += oracle.refitted_likelihood(own, rates[k], GROUPS).sum()
    value = model.log_likelihood(sums_of(new, 1e-3), GROUPS, sums_of(old, 1e-3))
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("background", [False, True])
def test_row_scores_for_few_and_many_clusters(background, seed):
    """Vector lanes hold eight clusters."""
    Y, _ = planted(np.random.default_rng(seed), n_rows=60)
    for n_clusters in (1, 2, 7, 8, 9, 17):
        labels = np.arange(60) % n_clusters
        case = Labelled(Y, labels, GROUPS, n_clusters)
        actual = scores_of_profile(case, 1e-3, exact=True, background=background)
        expected = oracle.row_scores(Y + 1e-3, labels, GROUPS, exact=True)
        if background:
            other = oracle.background(Y + 1e-3, GROUPS, exact=True)
            expected = np.column_stack([expected, other])
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


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
