"""Where fits start: init and column_init."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

from containers import planted
from fitting import GROUPS, INITS, TRUE, X, fit
from threecpo import ThreeCPO


@pytest.mark.parametrize("init", INITS)
def test_every_start_finds_the_planted_clusters_and_draws_anew(init):
    X, labels = planted()
    model = fit(X, init=init, n_init=5)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    assert len(model.restart_losses_) == 5
    noise = np.random.default_rng(0).poisson(3.0, size=(60, 8))
    model = fit(noise, n_clusters=4, init=init, n_init=8, column_penalty=None)
    assert len(set(model.restart_losses_)) > 1


@pytest.mark.parametrize("init", INITS)
def test_every_start_looks_only_at_the_first_relevant_columns(init):
    groups = [1] * 6 + [-1] * 4
    options = {
        "init": init,
        "column_init": groups,
        "groups": (1, -1),
        "column_penalty": lambda totals, K, n: 1e9 * (np.arange(len(totals)) >= 6),
    }
    other = X.copy()
    other[:, 6:] = other[::-1, 6:]
    np.testing.assert_array_equal(fit(**options).labels_, fit(other, **options).labels_)


def test_labels_as_a_start_make_one_run():
    X, labels = planted()
    for make in (np.array, list, pd.Series, lambda x: x.astype("u1")):
        model = fit(X, init=make(labels), n_init=10)
        assert len(model.restart_losses_) == 1
        assert model.history_["rows_moved"].tolist() == [0] * model.n_iter_
        np.testing.assert_array_equal(model.labels_, labels)
    given = np.roll(labels, 5)
    assert fit(X, init=given).history_["rows_moved"].any()
    np.testing.assert_array_equal(given, np.roll(labels, 5))


def test_labels_may_leave_clusters_out():
    X, labels = planted(2)
    with pytest.warns(ConvergenceWarning, match="n_clusters=5"):
        model = fit(X, 5, init=3 * labels)
    assert model.n_clusters_ == 2
    np.testing.assert_array_equal(model.labels_, labels)


def test_labels_may_mark_outliers_where_these_are_asked_for():
    model = fit(init=TRUE, outliers="iterative")
    assert (model.labels_ == -1).sum() >= 10
    with pytest.raises(ValueError, match="from 0 to 2"):
        fit(init=TRUE)


def test_bad_starts_are_refused():
    n = len(X)
    matrix, text = np.zeros((n, 1), dtype=int), np.full(n, "a")
    others = [np.full(n, 3), np.full(n, -1), np.zeros(n)]
    for bad in ([0, 1, 2], matrix, text, *others, None, 3):
        with pytest.raises(ValueError, match=f"init must be.*each of the {n} rows"):
            fit(init=bad)
    with pytest.raises(NotFittedError):
        fit(init=ThreeCPO())


def test_a_fitted_model_as_a_start_is_a_fixed_point(model):
    again = fit(init=model, n_init=10)
    assert again.loss_ == model.loss_
    assert again.n_iter_ == 1
    assert len(again.restart_losses_) == 1
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.column_groups_, model.column_groups_)


def test_a_fitted_model_can_start_on_other_rows(model):
    other, labels = planted(seed=1)
    assert adjusted_rand_score(fit(other, init=model).labels_, labels) == 1.0


def test_a_fitted_model_with_outliers_starts_with_them():
    model = fit(outliers="iterative")
    again = fit(outliers="iterative", init=model)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert (fit(init=model).labels_ >= 0).all()


def test_a_fitted_model_may_hold_groups_that_are_now_forbidden(model):
    ablated = fit(init=model, groups=(1, -1))
    assert set(ablated.column_groups_) <= {1, -1}


def test_a_model_of_other_columns_or_more_clusters_is_no_start(model):
    with pytest.raises(ValueError, match=r"10 columns.*X has 9"):
        fit(X[:, :9], init=model)
    with pytest.raises(ValueError, match=r"3 clusters.*n_clusters=2"):
        fit(n_clusters=2, init=model)


def test_a_clone_starts_from_the_same_fitted_model(model):
    warm = ThreeCPO(3, init=model)
    copy = clone(warm)
    assert copy.init is model
    assert copy.fit(X).loss_ == model.loss_


@pytest.mark.parametrize("column_init", ["information", "random", GROUPS])
def test_every_column_start_finds_the_planted_groups(column_init):
    X, labels = planted()
    model = fit(X, column_init=column_init, n_init=5)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    assert model.column_groups_.tolist() == GROUPS


def test_random_columns_depend_on_the_seed():
    _, labels = planted(n_background=20)
    options = {"init": labels.clip(0), "column_init": "random", "groups": (1, -1)}
    entered = {
        fit(**options, random_state=s).history_["into_relevant"][0] for s in range(10)
    }
    assert len(entered) > 1


def test_information_starts_with_half_of_the_columns():
    history = fit(init="random-centers").history_
    before = history["relevant"][0] - history["into_relevant"][0]
    assert before + history["out_of_relevant"][0] == X.shape[1] // 2


def test_all_columns_start_relevant_where_noise_is_forbidden():
    history = fit(groups=(1, 0), init="random-centers").history_
    assert history["relevant"][0] + history["out_of_relevant"][0] == X.shape[1]


def test_bad_groups_as_a_start_are_refused():
    for bad, message in (
        ([1, 0], "each of the 10 columns"),
        ([2] * 10, "one of 1, 0, -1"),
        ([0] * 10, "at least one column in C1"),
        (None, "column_init must be"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(column_init=bad)
    with pytest.raises(ValueError, match="one of 1, 0 for each"):
        fit(column_init=GROUPS, groups=(1, 0))


def test_a_model_of_the_same_columns_in_another_order_is_refused():
    names = [f"c{j}" for j in range(X.shape[1])]
    model = fit(pd.DataFrame(X, columns=names))
    turned = pd.DataFrame(X, columns=names)[names[::-1]]
    with pytest.raises(ValueError, match="same columns in another order; put the"):
        fit(turned, init=model)
    fit(pd.DataFrame(X, columns=[f"other {name}" for name in names]), init=model)
