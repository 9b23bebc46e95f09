"""PoissonL and PoissonC against dense transcriptions of their rules."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from containers import planted
from paper.poisson import PoissonC, PoissonL
from threecpo import ThreeCPO


def chi_squared_labels(X, labels):
    """Assign by the smallest sum of (X - mu)^2 / mu, mu from these labels."""
    sizes = X.sum(axis=1, keepdims=True)
    out = []
    for k in range(labels.max() + 1):
        sums = X[labels == k].sum(axis=0)
        mu = sizes * sums / sums.sum()
        out.append(((X - mu) ** 2 / mu).sum(axis=1))
    return np.argmin(out, axis=0)


def poisson_loss(X, labels):
    sizes = X.sum(axis=1)
    total = 0.0
    for k in range(labels.max() + 1):
        mine = X[labels == k]
        sums = mine.sum(axis=0)
        mu = np.outer(sizes[labels == k], sums / sums.sum())
        total -= (mine * np.log(mu) - mu).sum()
    return total


def random_start(seed, n=60, m=7, K=3):
    rng = np.random.default_rng(seed)
    rates = rng.gamma(1.0, size=(K, m)) * 6
    Y = rng.poisson(rates[rng.integers(K, size=n)] * rng.gamma(3.0, size=(n, 1)) / 3)
    return Y, rng.integers(K, size=n)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("prior", [1e-3, 0.5])
def test_poissonc_assigns_by_chi_squared(prior):
    for start in range(5):
        Y, labels = random_start(start)
        step = PoissonC(3, init=labels, max_iter=1, prior=prior).fit(Y)
        expected = chi_squared_labels(Y + prior, labels)
        assert adjusted_rand_score(step.labels_, expected) == 1.0
        model = PoissonC(3, init=labels, prior=prior).fit(Y)
        expected = chi_squared_labels(Y + prior, model.labels_)
        np.testing.assert_array_equal(expected, model.labels_)


@pytest.mark.parametrize("kind", [PoissonL, PoissonC])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_loss_is_the_poisson_likelihood(kind):
    Y, _ = random_start(0)
    for n_clusters in (3, 9):
        model = kind(n_clusters, random_state=0, n_init=3).fit(Y)
        expected = poisson_loss(Y + 1e-3, model.labels_)
        assert model.loss_ == pytest.approx(expected, rel=1e-12)
        assert model.score(Y) == pytest.approx(-model.loss_, rel=1e-12)
        assert model.row_scales_.sum() == pytest.approx(1.0)
        np.testing.assert_array_equal(model.predict(Y), model.labels_)


def test_poissonl_is_threecpo_with_every_column_relevant_and_free():
    Y, _ = random_start(0)
    ours = PoissonL(3, random_state=0).fit(Y)
    options = {"groups": (1,), "column_penalty": None, "random_state": 0}
    other = ThreeCPO(3, init="poisson-k-means++", n_init=10, **options).fit(Y)
    np.testing.assert_array_equal(ours.labels_, other.labels_)
    np.testing.assert_array_equal(ours.restart_losses_, other.restart_losses_)


@pytest.mark.parametrize("init", ["merge", "poisson-k-means++"])
@pytest.mark.parametrize("kind", [PoissonL, PoissonC])
def test_planted_clusters_are_found_and_a_fitted_model_is_a_start(kind, init):
    X, labels = planted()
    model = kind(3, random_state=0, n_init=2, init=init).fit(X)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    assert model.loss_ == model.restart_losses_.min()
    again = kind(3, init=model).fit(sp.csr_array(X))
    assert again.n_iter_ == 1
    np.testing.assert_array_equal(again.labels_, model.labels_)
