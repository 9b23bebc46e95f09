"""PoissonL and PoissonC against dense transcriptions of their rules."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from containers import CONTAINERS, planted
from threecpo import ThreeCPO
from threecpo.cluster import PoissonC, PoissonL


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


@pytest.mark.parametrize("start", range(10))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_step_of_poissonc_is_the_nearest_by_chi_squared(start):
    Y, labels = random_start(start)
    model = PoissonC(3, init=labels, max_iter=1).fit(Y)
    expected = chi_squared_labels(Y + 1e-3, labels)
    assert adjusted_rand_score(model.labels_, expected) == 1.0


@pytest.mark.parametrize("prior", [1e-3, 0.5])
@pytest.mark.parametrize("start", range(10))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_poissonc_ends_where_chi_squared_changes_nothing(start, prior):
    Y, labels = random_start(start)
    model = PoissonC(3, init=labels, prior=prior).fit(Y)
    np.testing.assert_array_equal(
        chi_squared_labels(Y + prior, model.labels_), model.labels_
    )


@pytest.mark.parametrize("kind", [PoissonL, PoissonC])
@pytest.mark.parametrize("start", range(3))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_loss_is_the_poisson_likelihood(kind, start):
    Y, _ = random_start(start)
    model = kind(3, random_state=start).fit(Y)
    assert model.loss_ == pytest.approx(
        poisson_loss(Y + 1e-3, model.labels_), rel=1e-12
    )
    assert model.score(Y) == pytest.approx(-model.loss_, rel=1e-12)
    assert model.row_scales_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("start", range(3))
def test_poissonl_is_threecpo_with_every_column_relevant_and_free(start):
    Y, _ = random_start(start)
    ours = PoissonL(3, random_state=start).fit(Y)
    options = {"groups": (1,), "column_penalty": None, "random_state": start}
    other = ThreeCPO(3, init="poisson-k-means++", n_init=10, **options).fit(Y)
    np.testing.assert_array_equal(ours.labels_, other.labels_)
    np.testing.assert_array_equal(ours.restart_losses_, other.restart_losses_)


def test_poissonl_never_raises_its_loss():
    for start in range(20):
        Y, labels = random_start(start)
        losses = PoissonL(3, init=labels).fit(Y).history_["loss"]
        assert (np.diff(losses) <= 1e-9 * np.abs(losses[1:])).all()


@pytest.mark.parametrize("kind", [PoissonL, PoissonC])
@pytest.mark.parametrize("n_clusters", [3, 8, 9])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_predict_gives_the_labels_again(kind, n_clusters):
    X, _ = planted()
    model = kind(n_clusters, random_state=0, n_init=3).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("kind", [PoissonL, PoissonC])
@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same_labels(kind, container):
    X, labels = planted()
    model = kind(3, random_state=0, n_init=2).fit(CONTAINERS[container](X))
    np.testing.assert_array_equal(
        model.labels_, kind(3, random_state=0, n_init=2).fit(X).labels_
    )
    assert adjusted_rand_score(labels, model.labels_) == 1.0


@pytest.mark.parametrize("kind", [PoissonL, PoissonC])
def test_a_fitted_model_is_a_start(kind):
    X, _ = planted()
    model = kind(3, random_state=0).fit(X)
    again = kind(3, init=model).fit(X)
    assert again.n_iter_ == 1
    np.testing.assert_array_equal(again.labels_, model.labels_)
