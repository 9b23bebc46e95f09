"""Prices, groups and rules."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fitting import GROUPS, X, fit
from threecpo._parameters import CRITERIA
from threecpo.select import _poisson


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


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bad_penalties_are_refused(n_jobs):
    with pytest.raises(ValueError, match=r"column_penalty must return .* 10 columns"):
        fit(column_penalty=lambda totals, K, n: np.zeros((10, 1)), n_jobs=n_jobs)


@pytest.mark.parametrize("groups", [(1, 0), (1, -1), (1,)])
def test_columns_take_only_the_groups_they_may(groups, model):
    ablated = fit(groups=groups)
    assert set(ablated.column_groups_.tolist()) <= set(groups)
    for group in (-1, 0, 1):
        forbidden = np.isneginf(ablated.column_scores_[:, group + 1]).all()
        assert forbidden == (group not in groups)
    assert ablated.loss_ > model.loss_


def test_options_of_auto_are_checked_for_any_number_of_clusters():
    for option in ({"max_clusters": 0}, {"criterion": "aic"}):
        (name,) = option
        with pytest.raises(ValueError, match=f"^{name}="):
            fit(**option)


def test_the_criteria_are_those_of_paths():
    assert tuple(_poisson.CRITERIA) == CRITERIA
