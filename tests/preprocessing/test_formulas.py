"""Transformed values beside their formulas, and what follows from these."""

import numpy as np
import pytest
import scipy.sparse as sp
from each_transformer import TRANSFORMERS, X, dense, fresh
from hypothesis import given
from hypothesis import strategies as st

from strategies import count_matrices
from threecpo.preprocessing import (
    BM25Transformer,
    PoissonStandardizer,
    RevealedComparativeAdvantage,
    RowStandardizer,
)


def divided(numerator, denominator):
    """0 where the denominator is 0."""
    with np.errstate(all="ignore"):
        quotient = np.asarray(numerator / denominator)
    return np.where(np.broadcast_to(denominator, quotient.shape) == 0, 0.0, quotient)


def standardised(rows, _):
    out = np.zeros(rows.shape)
    for new, row in zip(out, rows, strict=True):
        if len(set(row)) > 1:
            new[:] = (row - np.mean(row)) / np.std(row)
    return out


def min_max(rows, _):
    low, high = (f(axis=1, keepdims=True) for f in (rows.min, rows.max))
    return divided(rows - low, high - low)


def frequencies(rows, _):
    return divided(rows, rows.sum(axis=1, keepdims=True))


def advantage(rows, seen):
    r, c = rows.sum(axis=1, keepdims=True), seen.sum(axis=0, keepdims=True)
    return divided(rows * seen.sum(), r * c)


def poisson_scores(alpha):
    def scores(rows, seen):
        r, c = rows.sum(axis=1, keepdims=True), seen.sum(axis=0, keepdims=True)
        expected = divided(r * c, seen.sum())
        empty = -1.0 if alpha == 1 else 0.0
        return np.where(expected == 0, empty, divided(rows - expected, expected**alpha))

    return scores


def bm25(k, b):
    def weights(rows, seen):
        holding = (seen > 0).sum(axis=0)
        idf = np.log(1 + (len(seen) - holding + 0.5) / (holding + 0.5))
        average = seen.sum(axis=1).mean()
        lengths = rows.sum(axis=1, keepdims=True)
        relative = lengths / average if average else np.ones_like(lengths)
        return idf * divided(rows * (k + 1), rows + k * (1 - b + b * relative))

    return weights


FORMULAS = {
    "canonical": lambda rows, _: rows,
    "std": standardised,
    "mm": min_max,
    "rf": frequencies,
    "log1p": lambda rows, _: np.log1p(rows),
    "sqrt": lambda rows, _: np.sqrt(rows),
    "rca": advantage,
    "p-std": poisson_scores(0.5),
    "p-std 0": poisson_scores(0.0),
    "p-std 0.8": poisson_scores(0.8),
    "p-std 1": poisson_scores(1.0),
    "bm25": bm25(1.5, 0.75),
    "bm25 other": bm25(0.4, 1.0),
    "bm25 presence": bm25(0.0, 0.0),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
@given(Y=count_matrices(), fraction=st.sampled_from([1.0, 0.37]))
def test_values_are_those_of_the_formula(name, Y, fraction):
    Y = Y * fraction
    expected = FORMULAS[name](Y, Y)
    # x - μ of huge counts keeps the rounding of x, however small it is.
    rounding = 1e-14 * Y.max() if name.startswith("p-std") else 0.0
    tolerance = rounding + 1e-9 * max(1.0, abs(expected).max())
    for make in (np.array, sp.csr_array):
        actual = dense(fresh(name).fit_transform(make(Y)))
        assert np.isfinite(actual).all()
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=tolerance)


@pytest.mark.parametrize("name", TRANSFORMERS)
@given(data=st.data(), seen=count_matrices(huge=False))
def test_new_rows_are_compared_with_the_rows_of_fit(name, data, seen):
    rows = data.draw(count_matrices(huge=False))
    n_columns = min(seen.shape[1], rows.shape[1])
    seen, rows = seen[:, :n_columns], rows[:, :n_columns]
    expected = FORMULAS[name](rows, seen)
    transformer = fresh(name).fit(seen)
    for make in (np.array, sp.csr_array):
        actual = dense(transformer.transform(make(rows)))
        assert np.isfinite(actual).all()
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize(
    "table",
    [np.zeros((3, 2)), np.ones((2, 3)), np.eye(3), [[4], [0], [2]], [[0.1, 0.1, 0.1]]],
    ids=["zeros", "ones", "identity", "one column", "one constant row"],
)
def test_degenerate_tables_give_finite_values(name, table):
    table = np.array(table)
    for make in (np.array, sp.csr_array):
        actual = dense(fresh(name).fit_transform(make(table)))
        np.testing.assert_allclose(actual, FORMULAS[name](table, table), atol=1e-12)


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("size", [1e-200, 1e-300, 1e200])
def test_very_small_and_very_large_values_give_finite_values(name, size):
    table = np.array([[1.0, 2.0, 0.0], [3.0, 3.0, 3.0], [0.0, 0.0, 0.0]])
    assert np.isfinite(fresh(name).fit_transform(table * size)).all()


@pytest.mark.parametrize("name", ["std", "mm", "rf", "rca", "p-std 1"])
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_these_do_not_depend_on_the_size_of_the_values(name, size):
    np.testing.assert_allclose(
        fresh(name).fit_transform(X * size), fresh(name).fit_transform(X), atol=1e-12
    )


def test_neighbours_among_large_values_are_no_constant_row():
    row = [[np.nextafter(1.9e15, 0), 1.9e15]]
    values = RowStandardizer().fit_transform(row)
    assert np.isfinite(values).all()
    assert values[0, 0] < values[0, 1]


def test_constant_rows_are_exactly_zero():
    for name in ("std", "mm"):
        rows = np.full((1, 7), 0.1)
        np.testing.assert_array_equal(fresh(name).fit_transform(rows), 0.0)


@given(count_matrices(huge=False))
def test_poisson_scores_of_weight_one_are_the_advantage_minus_one(Y):
    scores = PoissonStandardizer(alpha=1).fit_transform(Y)
    advantages = RevealedComparativeAdvantage().fit_transform(Y)
    np.testing.assert_allclose(scores, advantages - 1, rtol=1e-10, atol=1e-10)


def test_squared_poisson_scores_are_chi_squared():
    from scipy.stats import chi2_contingency

    table = np.random.default_rng(0).integers(1, 20, size=(5, 4))
    statistic = chi2_contingency(table, correction=False).statistic
    scores = PoissonStandardizer().fit_transform(table)
    assert (scores**2).sum() == pytest.approx(statistic)


def test_poisson_scores_of_many_rows_are_right_in_every_block(monkeypatch):
    whole = PoissonStandardizer().fit_transform(X)
    monkeypatch.setattr(
        "threecpo.preprocessing._column_transformers.BLOCK_VALUES", 4 * X.shape[1]
    )
    np.testing.assert_array_equal(PoissonStandardizer().fit_transform(X), whole)
    monkeypatch.setattr("threecpo.preprocessing._column_transformers.BLOCK_VALUES", 1)
    np.testing.assert_array_equal(PoissonStandardizer().fit_transform(X), whole)


def test_learnt_attributes():
    for name in ("rca", "p-std"):
        totals = fresh(name).fit(X).column_totals_
        np.testing.assert_array_equal(totals, X.sum(axis=0))
    transformer = BM25Transformer().fit(X)
    assert transformer.average_length_ == X.sum(axis=1).mean()
    assert transformer.idf_.shape == (X.shape[1],)
    assert (transformer.idf_ > 0).all()
    assert transformer.idf_[8] == transformer.idf_.max()
