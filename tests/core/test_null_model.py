"""Tables drawn from one cluster have its means and dispersions."""

import numpy as np
import pytest
import scipy.sparse as sp

from containers import scattered
from threecpo._core import dispersion
from threecpo._core.codes import RELEVANT
from threecpo._core.matrices import from_dense
from threecpo._core.split_test import NullModel, as_table, without_empty
from threecpo._core.sums import sum_by_labels


def counts(seed=0, n_rows=400, n_columns=30, excess=2.0, squared=False, mean=2.0):
    rng = np.random.default_rng(seed)
    sizes, shares = rng.lognormal(0, 0.6, n_rows), rng.gamma(2, 1, n_columns)
    means = mean * np.outer(sizes / sizes.mean(), shares / shares.mean())
    more = excess * (means / means.mean(axis=0) if squared else np.ones_like(means))
    if not excess:
        return rng.poisson(means).astype(float)
    return rng.poisson(rng.standard_gamma(means / more) * more).astype(float)


def model_of(Y, *, dense=True):
    table, _ = without_empty(Y if dense else sp.csr_array(Y))
    return NullModel.of(table)


@pytest.mark.parametrize("dense", [True, False])
def test_dispersions_are_those_of_a_fit_without_prior(dense, seed):
    Y = counts(seed)
    Y = Y[:, Y.sum(axis=0) > 0][Y.sum(axis=1) > 0]
    groups = np.full(Y.shape[1], RELEVANT, dtype=np.int8)
    given, labels = from_dense(Y), np.zeros(len(Y), dtype=np.int32)
    sums = sum_by_labels(given, labels, 1, groups, 0.0).smoothed(0.0)
    expected = dispersion.dispersions(given, labels, sums, groups)
    found = model_of(Y, dense=dense).dispersions
    np.testing.assert_allclose(found, np.maximum(1.0, expected), rtol=1e-9)


@pytest.mark.parametrize(("squared", "power"), [(False, 0.0), (True, 1.0)])
def test_the_growth_of_the_variance_is_estimated(squared, power):
    for dense in (True, False):
        found = model_of(counts(mean=6.0, squared=squared), dense=dense).power
        assert found == pytest.approx(power, abs=0.25)


@pytest.mark.parametrize(
    ("mean", "squared", "excess"),
    [(0.1, False, 3.0), (5.0, True, 3.0), (5.0, False, 0.0)],
)
def test_drawn_tables_have_the_same_means_and_variances(mean, squared, excess):
    """Whether they are drawn cell by cell or as scattered groups of counts."""
    shares = np.array([0.2, 0.3, 0.5])
    sizes = np.repeat([2.0, 4.0, 12.0], 20_000) * mean
    power, factors = float(squared), sizes / sizes.mean()
    for dense in (True, False):
        spread = np.full(3, 1 + excess)
        model = NullModel(sizes, shares, spread, power, dense=dense)
        drawn = model.draw(np.random.default_rng(0))
        drawn = drawn if dense else drawn.toarray()
        for size in np.unique(sizes):
            rows = sizes == size
            expected = size * shares
            factor = factors[rows][0] ** power
            variance = expected * (1 + excess * factor)
            error = np.sqrt(variance / rows.sum())
            means = drawn[rows].mean(axis=0)
            tolerance = 5 * error.max() + 0.01 * expected.max()
            np.testing.assert_allclose(means, expected, atol=tolerance)
            np.testing.assert_allclose(drawn[rows].var(0), variance, rtol=0.35)


def test_empty_rows_and_columns_are_dropped():
    Y = np.array([[0.0, 1, 0], [0, 0, 0], [0, 2, 3]])
    for table in (Y, sp.csr_array(Y)):
        left, rows = without_empty(table)
        assert left.shape == (2, 2)
        assert rows.tolist() == [True, False, True]


def test_sparse_tables_stay_sparse():
    thin = scattered((500, 400), 4000)
    assert sp.issparse(as_table(thin))
    assert isinstance(as_table(sp.csr_array(np.ones((5, 4)))), np.ndarray)
