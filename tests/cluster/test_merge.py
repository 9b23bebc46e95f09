"""init="merge": coming down from more clusters than asked for."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from paper.poisson import PoissonC, PoissonL
from threecpo import ThreeCPO
from threecpo._core import search
from threecpo.datasets import make_synth


def fit(X, n_clusters=3, model=ThreeCPO, **options):
    options = {"init": "merge", "random_state": 0, "n_init": 3} | options
    return model(n_clusters, **options).fit(X)


def hard(seed=0, n_rows=150):
    """Counts on which runs end differently."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.7, 3.0, size=(n_rows, 12)))


def nested(seed, n_rows=1000):
    """Counts of six clusters, two in each of three groups of clusters.

    Twelve columns tell the groups apart and twelve others, less clearly, the clusters.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(6, size=n_rows)
    sizes = rng.gamma(4.0, 0.25, size=(n_rows, 1))
    outer = np.kron(np.eye(3), np.full(4, 8.0)) + 1
    inner = np.kron(np.eye(6), np.full(2, 3.0)) + 1
    parts = [
        rng.poisson(sizes * outer[labels // 2]),
        rng.poisson(sizes * inner[labels]),
        rng.poisson(sizes * np.array([[4.0, 6.0, 3.0]])),
        rng.poisson(3.0, size=(n_rows, 4)),
    ]
    return np.hstack(parts)


class TestAgainstPlainRestarts:
    """Six clusters in three groups, about 167 rows each; seeds 0 to 9 of the fits.

    With some 40 rows a cluster neither start is always the better one.
    """

    def losses(self, X, **options):
        fits = (fit(X, 6, random_state=s, **options) for s in range(10))
        return np.array([model.loss_ for model in fits])

    def test_the_loss_is_lower_and_depends_less_on_the_seed(self):
        X = nested(0)
        plain = {"init": "poisson-k-means++"}
        merging = self.losses(X, n_init=6)
        restarts = self.losses(X, n_init=10, **plain)
        single = self.losses(X, n_init=1, **plain)
        best = min(merging.min(), restarts.min())
        assert (single > best + 50).sum() >= 5
        assert merging.mean() <= restarts.mean()
        assert merging.std() < restarts.std()
        assert merging.max() < best + 1


@pytest.mark.parametrize("noise_columns", [3, 30])
def test_clusters_are_found_among_columns_of_noise(noise_columns):
    """Uniform noise has the most information, so the paper's first C1 is noise."""
    found = []
    for seed in range(10):
        X, truth = make_synth(
            noise_columns=noise_columns, perturbed=0.0, random_state=seed
        )
        model = ThreeCPO(3, random_state=seed).fit(X)
        found.append(adjusted_rand_score(truth, model.labels_))
        relevant = model.column_groups_ == 1
        assert relevant.sum() >= 2 or found[-1] < 0.9
    # Nine or ten of them; without runs from all columns none.
    assert np.count_nonzero(np.array(found) > 0.99) >= 9


@pytest.mark.parametrize("n_init", [3, 6])
def test_first_columns_that_are_given_stay_the_only_ones(n_init, monkeypatch):
    firsts = []

    def spying(counts, groups, *rest):
        firsts.append(groups.tolist())
        return run(counts, groups, *rest)

    run = search.run
    monkeypatch.setattr(search, "run", spying)
    given = [1] * 6 + [-1] * 6
    fit(hard(), 4, n_init=n_init, column_init=given)
    assert [1] * 12 not in firsts
    fit(hard(), 4, n_init=n_init)
    # Runs come in fours, two of them with all columns.
    assert firsts.count([1] * 12) >= n_init // 4 * 2 + max(0, n_init % 4 - 2)


def test_is_the_default_of_threecpo_alone():
    assert ThreeCPO().init == "merge"
    assert PoissonL().init == PoissonC().init == "poisson-k-means++"
