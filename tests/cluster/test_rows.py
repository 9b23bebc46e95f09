"""What a fitted ThreeCPO says about rows: predict, scores."""

import numpy as np
import pytest

import oracle
from containers import planted
from fitting import X, fit
from threecpo import ThreeCPO

OPTIONS = [
    {},
    {"outliers": "iterative"},
    {"outliers": "final"},
    {"outliers": "iterative", "outlier_threshold": 2.0},
    {"outliers": "final", "outlier_threshold": 2.0},
    {"assignment": "paper"},
    {"assignment": "paper", "outliers": "iterative"},
    {"assignment": "paper", "outliers": "final"},
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


def test_scores_margins_and_outlier_scores_equal_the_oracle(any_model):
    scores = any_model.row_scores(X)
    labels, groups = any_model.record_.labels_of_rates, any_model.column_groups_
    expected = oracle.row_scores(X + 1e-3, labels, groups, exact=True)
    np.testing.assert_allclose(scores, expected, rtol=1e-10)
    np.testing.assert_array_equal(scores.argmax(axis=1), any_model.nearest_labels_)
    second, best = np.sort(scores, axis=1)[:, -2:].T
    np.testing.assert_array_equal(any_model.margins_, best - second)
    background = oracle.background(X + 1e-3, groups, exact=True)
    expected = background - scores.max(axis=1)
    np.testing.assert_allclose(any_model.outlier_scores_, expected, atol=1e-8)


def test_one_cluster_has_no_second_best():
    assert np.isposinf(fit(n_clusters=1).margins_).all()


def test_score_adds_up_over_rows_but_for_the_price(model):
    halves = model.score(X[:50]) + model.score(X[50:])
    whole = model.score(X)
    relevant = model.column_groups_ == 1
    price = 2 * np.log(model.shared_rates_[relevant]).sum()
    assert whole == pytest.approx(halves + price)
