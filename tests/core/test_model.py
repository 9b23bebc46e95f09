import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from oracle import assert_agrees, size_of_terms
from strategies import (
    PENALTIES,
    PRIORS,
    Labelled,
    labelled_counts,
    penalties,
    permutations_of,
    planted,
    priors,
)
from threecpo._core import kernels, model
from threecpo._core.counts import from_dense
from threecpo._core.statistics import sum_by_labels
from threecpo._options import resolve_penalty

ALL_GROUPS = (1, 0, -1)


def sums_of(case, prior):
    labels = np.where(case.labels == -1, case.n_clusters, case.labels)
    statistics = sum_by_labels(
        from_dense(case.Y), labels.astype(np.int32), case.n_clusters, case.groups, prior
    )
    return model.Sums.of(statistics, prior)


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
    profile = model.profile(
        sums_of(case, prior), case.groups, exact=exact, background=background
    )
    out = np.empty((counts.n_rows, case.n_clusters + background))
    kernels.score_rows(
        counts.indptr, counts.indices, counts.data, 0, counts.n_rows, profile, out
    )
    return out


def without_row_constant(scores):
    return scores - scores[:, :1]


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
    clear = oracle.clear_columns(X, case.labels, case.groups, penalty)
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

    def test_expected_values_by_cluster(self):
        printed = [
            [2.0, 3.0, 4.0, 1.0, 2.0, 10.0],
            [6.0, 9.0, 12.0, 3.0, 6.0, 30.0],
            [6.0, 9.0, 12.0, 3.0, 6.0, 30.0],
            [32.0, 8.0, 32.0, 8.0, 8.0, 32.0],
            [28.0, 7.0, 28.0, 7.0, 7.0, 28.0],
            [8.0, 2.0, 8.0, 2.0, 2.0, 8.0],
            [27.0, 18.0, 36.0, 9.0, 9.0, 31.5],
            [21.0, 14.0, 28.0, 7.0, 7.0, 24.5],
            [18.0, 12.0, 24.0, 6.0, 6.0, 21.0],
            [12.0, 8.0, 16.0, 4.0, 4.0, 14.0],
        ]
        expected = self.scales[:, None] * self.rates.cluster[self.labels]
        np.testing.assert_allclose(expected, printed, atol=0.0501)

    def test_expected_values_by_row_size(self):
        printed = [
            [3.2, 1.8, 4.0, 1.0, 1.1, 4.6],
            [9.6, 5.4, 12.0, 3.0, 3.4, 13.7],
            [9.6, 5.4, 12.0, 3.0, 3.4, 13.7],
            [25.6, 14.4, 32.0, 8.0, 9.1, 36.6],
            [22.4, 12.6, 28.0, 7.0, 8.0, 32.1],
            [6.4, 3.6, 8.0, 2.0, 2.3, 9.2],
            [28.8, 16.2, 36.0, 9.0, 10.3, 41.2],
            [22.4, 12.6, 28.0, 7.0, 8.0, 32.1],
            [19.2, 10.8, 24.0, 6.0, 6.8, 27.5],
            [12.8, 7.2, 16.0, 4.0, 4.6, 18.3],
        ]
        expected = np.outer(self.scales, self.rates.shared)
        np.testing.assert_allclose(expected, printed, atol=0.0501)

    def test_oracle_gives_the_same_expected_values(self):
        expected = self.scales[:, None] * self.rates.cluster[self.labels]
        relevant = oracle.expected_relevant(self.Y, self.labels, self.groups)
        shared = oracle.expected_shared(self.Y, self.labels, self.groups)
        np.testing.assert_allclose(relevant, expected, rtol=1e-12)
        np.testing.assert_allclose(
            shared, np.outer(self.scales, self.rates.shared), rtol=1e-12
        )

    @pytest.mark.parametrize("prior", [0.0, 1e-3])
    @pytest.mark.parametrize(("penalty", "stays"), [("bic", True), ("mdl", False)])
    def test_its_groups_are_a_fixed_point_under_bic_only(self, prior, penalty, stays):
        groups = column_step(self.case, prior, penalty).groups
        assert np.array_equal(groups, self.groups) is stays


@given(labelled_counts(), priors, penalties, st.data())
def test_column_scores_follow_permuted_columns(case, prior, penalty, data):
    order = data.draw(permutations_of(len(case.groups)))
    permuted = Labelled(
        case.Y[:, order], case.labels, case.groups[order], case.n_clusters
    )
    first = column_step(case, prior, penalty).scores
    second = column_step(permuted, prior, penalty).scores
    totals = (case.Y + prior).sum(axis=0)
    assert_agrees(second, first[order], size_of_terms(totals[order])[:, None])


@given(labelled_counts(), priors, penalties, st.data())
def test_column_scores_ignore_row_order_and_cluster_names(case, prior, penalty, data):
    rows = data.draw(permutations_of(len(case.labels)))
    names = data.draw(permutations_of(case.n_clusters))
    labels = np.where(case.labels >= 0, names[case.labels], -1)
    renamed = Labelled(case.Y[rows], labels[rows], case.groups, case.n_clusters)
    first = column_step(case, prior, penalty).scores
    second = column_step(renamed, prior, penalty).scores
    totals = (case.Y + prior).sum(axis=0)
    assert_agrees(second, first, size_of_terms(totals)[:, None])


@given(labelled_counts(), priors, penalties, st.data())
def test_columns_are_additive_given_row_scales(case, prior, penalty, data):
    """Moving one column changes the loss by the difference of its two scores."""
    X = case.Y + prior
    scores = column_step(case, prior, penalty).scores
    j = data.draw(st.integers(0, len(case.groups) - 1))
    moved = case.groups.copy()
    moved[j] = data.draw(st.sampled_from(ALL_GROUPS))
    mu = np.column_stack(
        [
            oracle.EXPECTED[g](X, case.labels, case.groups)[:, column]
            for column, g in enumerate(moved)
        ]
    )
    prices = oracle.price(penalty, X, case.n_clusters)[moved == 1].sum()
    held = prices - (oracle.times_log(X, mu) - mu).sum()
    change = scores[j, case.groups[j] + 1] - scores[j, moved[j] + 1]
    loss = model.loss(scores, case.groups)
    assert_agrees(loss + change, held, size_of_terms(X.sum()))
    assert_agrees(model.loss(scores, moved), held, size_of_terms(X.sum()))


@pytest.mark.parametrize("allowed", [(1, 0), (1, -1), (1,)])
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


@pytest.mark.parametrize(
    ("scores", "group"),
    [
        ((3.0, 2.0, 1.0), -1),
        ((2.0, 3.0, 1.0), 0),
        ((1.0, 2.0, 3.0), 1),
        ((2.0, 2.0, 2.0), -1),
        ((1.0, 2.0, 2.0), 0),
        ((2.0, 1.0, 2.0), -1),
        ((2.0, 2.0, 1.0), -1),
        ((2.0, 2.05, 2.05), -1),
        ((1.0, 2.0, 2.05), 0),
        ((1.0, 2.0, 2.15), 1),
        ((2.0, 2.15, 1.0), 0),
        ((2.05, 2.0, 1.0), -1),
        ((2.0, 2.15, 2.2), 0),
        ((-np.inf, 2.0, 2.05), 0),
        ((-np.inf, -np.inf, 2.0), 1),
        ((2.0, -np.inf, 2.05), -1),
    ],
)
def test_scores_within_the_tolerance_tie(scores, group):
    """Of tied groups, C- comes before C0 before C1; the tolerance here is 0.1."""
    chosen = model.choose_groups(np.array([scores]), np.array([0.1]))
    assert chosen.tolist() == [group]
    assert oracle.choose_groups(np.array([scores]), [0.1]).tolist() == [group]


def test_an_infinite_tolerance_decides_nothing():
    """A column with a count in a row without size has no finite score but one."""
    scores = np.array([[-5.0, -np.inf, -np.inf]])
    assert model.choose_groups(scores, np.array([np.inf])).tolist() == [-1]
    scores = np.array([[-5.0, -4.0, -np.inf]])
    assert model.choose_groups(scores, np.array([np.inf])).tolist() == [0]


@pytest.mark.parametrize("prior", PRIORS)
def test_one_cluster_without_price_is_no_better_than_shared(prior, seed):
    Y, _ = planted(np.random.default_rng(seed))
    groups = np.array([1, 1, 1, 1, 0, 0, -1, -1], dtype=np.int8)
    case = Labelled(Y, np.zeros(len(Y), dtype=int), groups, 1)
    assert 1 not in column_step(case, prior, None).groups


def test_prices_are_the_papers(seed):
    X = np.random.default_rng(seed).gamma(0.05, 1.0, size=(7, 30))
    assert (X.sum(axis=0) < 1).any()
    for penalty in PENALTIES:
        for n_clusters in (1, 2, 5):
            prices = resolve_penalty(penalty)(X.sum(axis=0), n_clusters, len(X))
            expected = oracle.price(penalty, X, n_clusters)
            np.testing.assert_allclose(prices, expected, rtol=1e-12)


def test_a_row_that_a_profile_forbids_scores_minus_infinity_without_prior():
    Y = np.array([[2.0, 0.0], [3.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    case = Labelled(Y, np.array([0, 0, 1, 1]), np.ones(2, np.int8), 2)
    scores = scores_of_profile(case, 0.0, exact=True, background=False)
    assert (scores[:, 0] == -np.inf).tolist() == [False, False, True, True]
    assert np.isfinite(scores[:, 1]).all()
    assert (scores[:2, 0] == 0).all()
