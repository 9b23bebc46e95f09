"""Prices of columns: their names, and the check of a user's function."""

import pickle

import numpy as np
import pytest

from threecpo._core import codes
from threecpo._core.codes import UserPrice
from threecpo._options import resolve_penalty

TOTALS = np.array([0.5, 3.0, 40.0])


def by_total(totals, n_clusters, n_rows):
    return totals * n_clusters / n_rows


@pytest.mark.parametrize(
    ("penalty", "name"),
    [("mdl", "mdl"), ("bic", "bic"), (None, "none"), (by_total, "custom")],
)
def test_each_has_a_name_in_files(penalty, name):
    price = resolve_penalty(penalty)
    assert codes.price_name(price) == name
    assert codes.price_name(pickle.loads(pickle.dumps(price))) == name


def test_a_user_function_stays_the_same_after_pickling():
    price = pickle.loads(pickle.dumps(UserPrice(by_total)))
    assert price == UserPrice(by_total)
    assert price.name == "by_total"
    np.testing.assert_array_equal(price(TOTALS, 4, 2), 2 * TOTALS)


def test_one_price_stands_for_all_columns():
    assert UserPrice(lambda *_: 3)(TOTALS, 4, 2).tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("given", [[1.0, 2.0], -1.0, [0.0, 1.0, np.nan]])
def test_prices_that_are_none_are_refused(given):
    with pytest.raises(ValueError, match="one price of 0 or more for each of the 3"):
        UserPrice(lambda *_: given)(TOTALS, 4, 2)


def test_a_user_function_cannot_change_the_totals():
    def spoiling(totals, *_):
        totals[:] = 0.0
        return 1.0

    totals = TOTALS.copy()
    UserPrice(spoiling)(totals, 4, 2)
    np.testing.assert_array_equal(totals, TOTALS)
