"""Distances between rows and the information of columns."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import xlogy
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from containers import planted
from threecpo import ThreeCPO, column_information, metrics, poisson_distance

X, LABELS = planted(n_rows=10)
OTHER, _ = planted(n_rows=6, seed=1)


def dense_distance(a, b, prior):
    """Half the likelihood-ratio statistic of the table of two rows."""
    table = np.stack([a, b]) + prior
    total = table.sum()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    return (
        xlogy(table, table).sum()
        - xlogy(rows, rows).sum()
        - xlogy(columns, columns).sum()
        + xlogy(total, total)
    )


def dense_information(X, prior):
    X = X + prior
    within = X / X.sum(axis=0)
    rows = X.sum(axis=1, keepdims=True) / X.sum()
    return (xlogy(within, within) - xlogy(within, rows)).sum(axis=0)


@pytest.mark.parametrize("prior", [0.0, 1e-3, 0.5])
@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_distances_are_the_likelihood_ratio(make, prior):
    expected = [[dense_distance(a, b, prior) for b in OTHER] for a in X]
    actual = poisson_distance(make(X), make(OTHER), prior=prior)
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("prior", [0.0, 1e-3])
def test_distances_within_are_symmetric_with_a_zero_diagonal(prior):
    distances = poisson_distance(X, prior=prior)
    assert distances.shape == (len(X), len(X))
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_array_equal(np.diag(distances), 0.0)
    assert (distances >= 0).all()
    np.testing.assert_allclose(
        distances, poisson_distance(X, X, prior=prior), atol=1e-9
    )


def test_the_prior_of_the_two_is_the_documented_one():
    np.testing.assert_array_equal(poisson_distance(X), poisson_distance(X, prior=1e-3))
    np.testing.assert_array_equal(
        column_information(X), column_information(X, prior=1e-3)
    )


def test_proportional_rows_have_no_distance():
    rows = np.outer([1, 2, 7, 1000], [3, 1, 4, 1, 5])
    np.testing.assert_allclose(poisson_distance(rows, prior=0.0), 0.0, atol=1e-9)


def test_distances_grow_with_the_size_of_rows():
    a, b = np.array([[3, 1]]), np.array([[1, 3]])
    once, tenfold = (poisson_distance(f * a, f * b, prior=0.0) for f in (1, 10))
    assert tenfold == pytest.approx(10 * once)


@pytest.mark.parametrize("value", [2**18 - 1, 2**18, 2**18 + 1, 10**7])
def test_distances_of_large_counts_are_right_too(value):
    rows = np.array([[value, 3], [5, value // 2], [1, 1]])
    expected = [[dense_distance(a, b, 1e-3) for b in rows] for a in rows]
    np.testing.assert_allclose(poisson_distance(rows), expected, rtol=1e-7, atol=1e-6)


def test_distances_of_values_that_are_not_whole_are_right():
    rows = np.array([[0.5, 3.0], [2.25, 1.0], [0.0, 0.75]])
    expected = [[dense_distance(a, b, 1e-3) for b in rows] for a in rows]
    np.testing.assert_allclose(poisson_distance(rows), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("prior", [0.0, 1e-3])
def test_distances_of_zero_rows_are_finite(prior):
    rows = np.array([[0, 0], [3, 1], [0, 0]])
    distances = poisson_distance(rows, prior=prior)
    assert np.isfinite(distances).all()
    assert distances[0, 2] == 0.0


@pytest.mark.parametrize("linkage", ["average", "complete"])
def test_agglomerative_clustering_takes_the_distances(linkage):
    clusters = AgglomerativeClustering(3, metric="precomputed", linkage=linkage)
    found = clusters.fit_predict(poisson_distance(X))
    assert adjusted_rand_score(found, LABELS) == 1.0


@pytest.mark.parametrize("prior", [0.0, 1e-3, 0.5])
@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_information_is_the_divergence_from_row_shares(make, prior):
    actual = column_information(make(X), prior=prior)
    assert actual.shape == (X.shape[1],)
    np.testing.assert_allclose(actual, dense_information(X, prior), atol=1e-12)


def test_information_is_zero_for_columns_that_follow_row_sizes():
    table = np.outer([1, 5, 9], [2, 7, 3])
    np.testing.assert_allclose(column_information(table, prior=0.0), 0.0, atol=1e-14)


def test_information_puts_the_planted_columns_first():
    X, _ = planted()
    X = X[:, [6, 0, 7, 1, 2, 3, 4, 5]]
    best = np.argsort(-column_information(X))[:6]
    assert set(best) == {1, 3, 4, 5, 6, 7}


def test_the_fit_starts_with_the_most_informative_half():
    half = np.full(X.shape[1], -1)
    half[np.argsort(-column_information(X), kind="stable")[: X.shape[1] // 2]] = 1
    named, given = (
        ThreeCPO(3, n_init=3, random_state=0, column_init=start).fit(X)
        for start in ("information", half)
    )
    np.testing.assert_array_equal(named.restart_losses_, given.restart_losses_)


@pytest.mark.parametrize("prior", [0.0, 1e-3])
@pytest.mark.parametrize(
    "table", [np.zeros((3, 2)), np.eye(3), [[0, 1]], [[4], [2]]], ids=str
)
def test_information_of_degenerate_tables_is_finite(table, prior):
    information = column_information(table, prior=prior)
    assert np.isfinite(information).all()
    assert (information >= -1e-12).all()


def test_the_functions_live_in_metrics_and_at_the_top():
    assert metrics.poisson_distance is poisson_distance
    assert metrics.column_information is column_information
    assert set(metrics.__all__) >= {"poisson_distance", "column_information"}
