"""The BIC of X-means against a transcription of its paper."""

from math import inf, log, pi

import numpy as np
import pytest
from sklearn.cluster import KMeans

from threecpo.select._xmeans import x_means_bic


def printed(inertia, sizes, n_columns):
    """Pelleg and Moore (2000), section 3.2, cluster by cluster."""
    R, K, M = sum(sizes), len(sizes), n_columns
    variance = inertia / (R - K)
    log_likelihood = sum(
        -R_n / 2 * log(2 * pi)
        - R_n * M / 2 * log(variance)
        - (R_n - K) / 2
        + R_n * log(R_n)
        - R_n * log(R)
        for R_n in sizes
    )
    return log_likelihood - ((K - 1) + M * K + 1) / 2 * log(R)


@pytest.mark.parametrize("inertia", [1e-9, 3.5, 2e12])
@pytest.mark.parametrize("sizes", [[40], [3, 4], [50, 1, 8, 30], [10_000] * 30])
@pytest.mark.parametrize("n_columns", [1, 6, 2000])
def test_equals_the_printed_formula(inertia, sizes, n_columns):
    found = x_means_bic(inertia, np.array(sizes), n_columns)
    assert type(found) is float
    assert found == pytest.approx(printed(inertia, sizes, n_columns), rel=1e-12)


def test_finds_three_groups_far_apart():
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    X = np.repeat(centers, 100, axis=0) + rng.normal(size=(300, 2))
    scores = []
    for k in range(1, 9):
        fit = KMeans(k, n_init=3, random_state=0).fit(X)
        scores.append(x_means_bic(fit.inertia_, np.bincount(fit.labels_), 2))
    assert np.argmax(scores) + 1 == 3


def test_a_perfect_fit_scores_infinity():
    assert x_means_bic(0.0, np.array([3, 2]), 4) == inf
    assert x_means_bic(0.0, np.array([1, 1]), 4) == inf
    assert x_means_bic(1e-30, np.array([1, 1]), 4) == inf
