"""Prices, groups and rules."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from containers import planted
from fitting import GROUPS, X, fit
from threecpo._names import CRITERIA
from threecpo.select import _mdl


@pytest.mark.parametrize(
    ("penalty", "price"),
    [
        ("mdl", lambda totals, K, n: (K - 1) * np.log(totals)),
        ("bic", lambda totals, K, n: np.full(len(totals), K / 2 * np.log(n))),
        (None, lambda totals, K, n: np.zeros(len(totals))),
    ],
)
def test_named_penalties_are_their_formulas(penalty, price):
    named, own = fit(column_penalty=penalty), fit(column_penalty=price)
    assert named.loss_ == pytest.approx(own.loss_, rel=1e-13)
    free = fit(column_penalty=None, init=named.labels_, max_iter=300)
    difference = free.column_scores_[:, 2] - named.column_scores_[:, 2]
    if np.array_equal(free.column_groups_, named.column_groups_):
        expected = price(named.shared_rates_, 3, len(X))
        np.testing.assert_allclose(difference, expected, atol=1e-7)


def test_mdl_never_pays_for_a_column_below_one_count():
    rare = np.hstack([X, np.zeros((len(X), 1), dtype=int)])
    free, priced = fit(rare, column_penalty=None), fit(rare)
    assert priced.column_scores_[-1, 2] == pytest.approx(free.column_scores_[-1, 2])


def test_a_penalty_gets_totals_clusters_and_rows():
    calls = []

    def price(totals, n_clusters, n_rows):
        calls.append((totals.copy(), n_clusters, n_rows))
        totals[:] = 0.0
        return 5.0

    model = fit(column_penalty=price, n_jobs=1, init="random-centers")
    for totals, n_clusters, n_rows in calls:
        np.testing.assert_allclose(totals, (X + 1e-3).sum(axis=0))
        assert (n_clusters, n_rows) == (3, len(X))
    assert model.column_groups_.tolist() == GROUPS


def test_a_high_price_empties_the_relevant_columns():
    with pytest.warns(ConvergenceWarning, match="No column is relevant"):
        model = fit(column_penalty=lambda totals, K, n: 1e9 * (K > 1))
    assert model.n_clusters_ == 1


@pytest.mark.parametrize(
    "price",
    [
        lambda totals, K, n: -1.0,
        lambda totals, K, n: np.nan,
        lambda totals, K, n: totals[:-1],
        lambda totals, K, n: np.zeros((len(totals), 1)),
        lambda totals, K, n: None,
    ],
    ids=["negative", "NaN", "short", "matrix", "None"],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bad_penalties_are_refused(price, n_jobs):
    with pytest.raises(ValueError, match=r"column_penalty must return .* 10 columns"):
        fit(column_penalty=price, n_jobs=n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_penalty_reaches_the_caller(n_jobs):
    def price(totals, n_clusters, n_rows):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fit(column_penalty=price, n_jobs=n_jobs)


@pytest.mark.parametrize("groups", [(1, 0), (1, -1), (1,), [0, 1], (-1, 0, 1)])
def test_columns_take_only_the_groups_they_may(groups):
    model = fit(groups=groups)
    assert set(model.column_groups_.tolist()) <= set(groups)
    for group in (-1, 0, 1):
        forbidden = np.isneginf(model.column_scores_[:, group + 1]).all()
        assert forbidden == (group not in groups)


def test_ablations_cost_likelihood(model):
    for groups in [(1, 0), (1, -1), (1,)]:
        assert fit(groups=groups).loss_ > model.loss_


def test_the_printed_rule_scores_rows_by_the_papers_formula():
    data, _ = planted(n_background=60, seed=3)
    model = fit(data, assignment="printed")
    groups, rates = model.column_groups_, model.cluster_rates_
    sizes = (data[:, groups >= 0] + 1e-3).sum(axis=1)[:, None]
    shares = rates[:, groups == 1] / rates[:, groups >= 0].sum(axis=1, keepdims=True)
    relevant = data[:, groups == 1] + 1e-3
    scores = relevant @ np.log(shares).T - sizes * shares.sum(axis=1)
    np.testing.assert_array_equal(model.labels_, scores.argmax(axis=1))
    second, best = np.sort(scores, axis=1)[:, -2:].T
    np.testing.assert_allclose(model.margins_, best - second, atol=1e-8)


def test_the_two_rules_are_not_the_same():
    exact, printed = (fit(assignment=rule) for rule in ("exact", "printed"))
    np.testing.assert_array_equal(exact.labels_, printed.labels_)
    assert (exact.margins_ != printed.margins_).any()


@pytest.mark.parametrize("option", [{"max_clusters": 0}, {"criterion": "aic"}])
@pytest.mark.parametrize("n_clusters", [3, "auto"])
def test_options_of_auto_are_checked_whatever_the_number_of_clusters(
    n_clusters, option
):
    (name,) = option
    with pytest.raises(ValueError, match=f"^{name}="):
        fit(n_clusters=n_clusters, **option)


def test_the_criteria_are_those_of_paths():
    assert tuple(_mdl.CRITERIA) == CRITERIA
