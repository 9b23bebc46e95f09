"""Scores, rates and losses against the paper's formulas, and prices of columns."""

import pickle
from itertools import product

import numpy as np
import pytest
from core_cases import (
    ALL_GROUPS,
    EDGES,
    column_step,
    row_scales,
    scores_of_profile,
    sums_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

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
from threecpo._core import codes, model
from threecpo._options import resolve_penalty

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


class TestFigure1:
    Y, labels, groups = oracle.figure_1()
    case = Labelled(Y, labels, groups, 3)

    @property
    def rates(self):
        return model.rates(sums_of(self.case, 0.0), self.groups)

    @property
    def scales(self):
        return row_scales(self.case, 0.0)

    def test_row_scales(self):
        printed = [0.02, 0.06, 0.06, 0.16, 0.14, 0.04, 0.18, 0.14, 0.12, 0.08]
        np.testing.assert_allclose(self.scales, printed, rtol=1e-12)

    def test_column_rates(self):
        printed = [
            [100, 150, 200, 50, 100, 500],
            [200, 50, 200, 50, 50, 200],
            [150, 100, 200, 50, 50, 175],
        ]
        rates = self.rates
        np.testing.assert_allclose(rates.noise, [16, 9, 20, 5, 5.7, 22.9], rtol=1e-12)
        np.testing.assert_allclose(rates.shared, [160, 90, 200, 50, 57, 229])
        np.testing.assert_allclose(rates.cluster, printed, rtol=1e-12)

    def test_the_oracle_has_them_too(self):
        start = self.Y, self.labels, self.groups
        relevant = self.scales[:, None] * self.rates.cluster[self.labels]
        shared = np.outer(self.scales, self.rates.shared)
        np.testing.assert_allclose(oracle.expected_relevant(*start), relevant)
        np.testing.assert_allclose(oracle.expected_shared(*start), shared)

    @pytest.mark.parametrize(("penalty", "stays"), [("bic", True), ("mdl", False)])
    def test_its_groups_are_a_fixed_point_under_bic_only(self, penalty, stays):
        for prior in (0.0, 1e-3):
            groups = column_step(self.case, prior, penalty).groups
            assert np.array_equal(groups, self.groups) is stays


@pytest.mark.parametrize("allowed", [(1, 0), (1, -1)])
def test_forbidden_groups_score_minus_infinity_and_are_not_chosen(allowed):
    case = EDGES["all groups"]
    free = column_step(case, 1e-3, "mdl").scores
    step = column_step(case, 1e-3, "mdl", allowed)
    for group in ALL_GROUPS:
        column = step.scores[:, group + 1]
        if group in allowed:
            np.testing.assert_array_equal(column, free[:, group + 1])
        else:
            assert (column == -np.inf).all()
    assert np.isin(step.groups, allowed).all()


TIES = [
    ((3.0, 2.0, 1.0), -1),
    ((2.0, 3.0, 1.0), 0),
    ((1.0, 2.0, 3.0), 1),
    ((2.0, 2.0, 2.0), -1),
    ((1.0, 2.0, 2.05), 0),
    ((2.0, 1.0, 2.0), -1),
    ((2.0, 2.05, 2.05), -1),
    ((1.0, 2.0, 2.15), 1),
    ((2.0, 2.15, 2.2), 0),
    ((-np.inf, 2.0, 2.05), 0),
    ((-np.inf, -np.inf, 2.0), 1),
    ((2.0, -np.inf, 2.05), -1),
]


def test_scores_within_the_tolerance_tie():
    """Of tied groups, C- comes before C0 before C1; the tolerance here is 0.1."""
    scores, groups = map(np.array, zip(*TIES, strict=True))
    tolerance = np.full(len(TIES), 0.1)
    np.testing.assert_array_equal(model.choose_groups(scores, tolerance), groups)
    np.testing.assert_array_equal(oracle.choose_groups(scores, tolerance), groups)


def test_an_infinite_tolerance_decides_nothing():
    """A column with a count in a row without size has no finite score but one."""
    for noise, shared, best in ((-5.0, -np.inf, -1), (-5.0, -4.0, 0)):
        scores = np.array([[noise, shared, -np.inf]])
        assert model.choose_groups(scores, np.array([np.inf])).tolist() == [best]


def test_one_cluster_without_price_is_no_better_than_shared(seed):
    Y, _ = planted(np.random.default_rng(seed))
    groups = np.array([1, 1, 1, 1, 0, 0, -1, -1], dtype=np.int8)
    case = Labelled(Y, np.zeros(len(Y), dtype=int), groups, 1)
    for prior in PRIORS:
        assert 1 not in column_step(case, prior, None).groups


def test_prices_are_the_papers(seed):
    X = np.random.default_rng(seed).gamma(0.05, 1.0, size=(7, 30))
    assert (X.sum(axis=0) < 1).any()
    for penalty in PENALTIES:
        for n_clusters in (1, 2, 5):
            prices = resolve_penalty(penalty)(X.sum(axis=0), n_clusters, len(X))
            expected = oracle.price(penalty, X, n_clusters)
            np.testing.assert_allclose(prices, expected, rtol=1e-12)


def by_total(totals, n_clusters, n_rows):
    return totals * n_clusters / n_rows


@pytest.mark.parametrize(
    ("penalty", "name"),
    [("mdl", "mdl"), ("bic", "bic"), (None, "none"), (by_total, "custom")],
)
def test_prices_have_names_in_files_and_stay_the_same_after_pickling(penalty, name):
    price = resolve_penalty(penalty)
    again = pickle.loads(pickle.dumps(price))
    assert codes.price_name(price) == codes.price_name(again) == name
    totals = np.array([0.5, 3.0, 40.0])
    np.testing.assert_array_equal(again(totals, 4, 2), price(totals, 4, 2))
    if penalty is by_total:
        assert again == price
        assert again.name == "by_total"
