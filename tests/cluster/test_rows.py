"""What a fitted ThreeCPO says about rows: predict, scores."""

import numpy as np
import pytest

from containers import planted
from fitting import X, fit
from threecpo import ThreeCPO

OPTIONS = [
    {},
    {"outliers": "iterative"},
    {"outliers": "final"},
    {"outliers": "iterative", "outlier_threshold": 2.0},
    {"outliers": "final", "outlier_threshold": 2.0},
    {"assignment": "printed"},
    {"assignment": "printed", "outliers": "iterative"},
    {"assignment": "printed", "outliers": "final"},
    {"groups": (1, 0), "column_penalty": "bic"},
    {"groups": (1,), "column_init": "random"},
    {"groups": (1, -1), "outliers": "iterative"},
    {"column_penalty": None, "prior": 0.5},
    {"prior": 0.0, "outliers": "final"},
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_predict_and_score_give_the_fit_again(options):
    """Vector lanes hold eight clusters; a fit that is cut short is no fixed point."""
    for n_clusters, max_iter in ((1, 300), (3, 300), (8, 1), (9, 2)):
        model = fit(n_clusters=n_clusters, n_init=2, max_iter=max_iter, **options)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert model.predict(X).dtype == model.labels_.dtype
        assert model.score(X) == pytest.approx(-model.loss_, rel=1e-10)


@pytest.mark.filterwarnings("ignore:X holds values:UserWarning")
@pytest.mark.parametrize("outliers", [None, "iterative", "final"])
def test_predict_gives_the_labels_of_values_that_are_not_whole(outliers):
    values = X * 0.37
    model = fit(values, outliers=outliers)
    np.testing.assert_array_equal(model.predict(values), model.labels_)
    assert model.score(values) == pytest.approx(-model.loss_, rel=1e-10)


@pytest.mark.parametrize("outliers", [None, "iterative", "final"])
def test_rows_are_predicted_one_by_one(outliers):
    model = fit(outliers=outliers)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(model.predict(X[order]), model.labels_[order])
    one_by_one = [model.predict(row[None])[0] for row in X]
    np.testing.assert_array_equal(one_by_one, model.labels_)


@pytest.mark.parametrize("outliers", [None, "iterative", "final"])
def test_ties_are_broken_as_in_the_fit(outliers):
    X, labels = planted(2)
    X = np.vstack([X, np.zeros((3, X.shape[1]), dtype=int)])
    smaller_first = np.append(1 - labels, [0, 0, 0])
    model = fit(X, 2, init=smaller_first, prior=0.0, outliers=outliers)
    assert model.labels_[-3:].tolist() == [1, 1, 1]
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_new_rows_go_to_the_cluster_of_their_proportions(model):
    averages = np.stack([X[model.labels_ == k].mean(axis=0) for k in range(3)])
    np.testing.assert_array_equal(model.predict(np.rint(averages)), [0, 1, 2])
    np.testing.assert_array_equal(model.predict(np.rint(50 * averages)), [0, 1, 2])


def test_fit_predict_gives_the_labels(model):
    labels = ThreeCPO(3, n_init=3, random_state=0).fit_predict(X)
    np.testing.assert_array_equal(labels, model.labels_)


def test_row_scores_are_the_exact_scores_of_the_design(any_model):
    scores = any_model.row_scores(X)
    groups, rates = any_model.column_groups_, any_model.cluster_rates_
    in_use = rates[:, groups >= 0].sum(axis=1, keepdims=True)
    shares = rates[:, groups == 1] / in_use
    portions = rates[:, groups == 0].sum(axis=1) / in_use[:, 0]
    relevant, shared = X[:, groups == 1] + 1e-3, X[:, groups == 0] + 1e-3
    expected = relevant @ np.log(shares).T
    expected += shared.sum(axis=1)[:, None] * np.log(portions)
    np.testing.assert_allclose(scores, expected, rtol=1e-10)


def test_row_scores_agree_with_nearest_labels_and_margins(any_model):
    scores = any_model.row_scores(X)
    assert scores.shape == (len(X), any_model.n_clusters_)
    np.testing.assert_array_equal(scores.argmax(axis=1), any_model.nearest_labels_)
    second, best = np.sort(scores, axis=1)[:, -2:].T
    np.testing.assert_array_equal(any_model.margins_, best - second)


def test_outlier_scores_are_background_minus_best(any_model):
    groups, totals = any_model.column_groups_, any_model.shared_rates_
    total = totals[groups >= 0].sum()
    background = (X[:, groups == 1] + 1e-3) @ np.log(totals[groups == 1] / total)
    share = totals[groups == 0].sum() / total
    background += (X[:, groups == 0] + 1e-3).sum(axis=1) * np.log(share)
    expected = background - any_model.row_scores(X).max(axis=1)
    np.testing.assert_allclose(any_model.outlier_scores_, expected, atol=1e-8)


def test_one_cluster_has_no_second_best():
    assert np.isposinf(fit(n_clusters=1).margins_).all()


def test_score_adds_up_over_rows_but_for_the_price(model):
    halves = model.score(X[:50]) + model.score(X[50:])
    whole = model.score(X)
    relevant = model.column_groups_ == 1
    price = 2 * np.log(model.shared_rates_[relevant]).sum()
    assert whole == pytest.approx(halves + price)


def test_score_prefers_rows_like_the_fitted_ones(model):
    other, _ = planted(seed=1)
    shuffled = other[:, [0, 2, 4, 1, 3, 5, 6, 7, 8, 9]]
    assert model.score(other) > model.score(shuffled)
