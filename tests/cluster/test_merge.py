"""init="merge": coming down from more clusters than asked for."""

import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from containers import planted
from fitting import assert_same_bits
from threecpo import ThreeCPO
from threecpo._core import counts as counts_module
from threecpo._core import search
from threecpo.cluster import PoissonC, PoissonL
from threecpo.datasets import make_synth


def fit(X, n_clusters=3, model=ThreeCPO, **options):
    options = {"init": "merge", "random_state": 0, "n_init": 3} | options
    return model(n_clusters, **options).fit(X)


def quiet_fit(*args, **options):
    """Fit where the only warning allowed is one about convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(*args, **options)


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


def check(model, X, n_clusters):
    """What holds for every fit."""
    assert np.isfinite(model.restart_losses_).all()
    assert model.loss_ == model.restart_losses_.min()
    assert model.loss_ == model.history_["loss"][-1]
    assert 1 <= model.n_clusters_ <= n_clusters
    labels = np.unique(model.labels_[model.labels_ >= 0])
    assert labels.tolist() == list(range(model.n_clusters_))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-model.loss_, rel=1e-9, abs=1e-9)


class TestBits:
    @pytest.mark.filterwarnings("ignore:X holds values:UserWarning")
    @pytest.mark.parametrize(
        ("block", "n_init", "outliers", "factor"),
        [(50, 6, None, 0.37), (50, 1, "iterative", 1), (10**9, 6, "iterative", 1)],
    )
    def test_are_the_same_for_any_number_of_threads(
        self, block, n_init, outliers, factor, monkeypatch
    ):
        monkeypatch.setattr(search, "BLOCK_COUNTS", 10)
        monkeypatch.setattr(counts_module, "BLOCK_COUNTS", block)
        X, options = factor * hard(), {"n_init": n_init, "outliers": outliers}
        reference = fit(X, 5, n_jobs=1, **options)
        for n_jobs in (2, None):
            assert_same_bits(fit(X, 5, n_jobs=n_jobs, **options), reference)

    def test_hang_on_the_seed(self):
        losses = {
            tuple(fit(hard(), 5, random_state=s).restart_losses_) for s in range(5)
        }
        assert len(losses) == 5

    @pytest.mark.parametrize(
        ("column_init", "outliers"), [("information", None), ("random", "iterative")]
    )
    def test_of_runs_do_not_hang_on_how_many_follow(self, column_init, outliers):
        options = {"column_init": column_init, "outliers": outliers}
        few, many = (fit(hard(), 5, n_init=n, **options) for n in (3, 6))
        assert len(set(many.restart_losses_)) > 1
        assert many.restart_losses_[:3].tobytes() == few.restart_losses_.tobytes()
        assert many.loss_ <= few.loss_


class TestEstimators:
    @pytest.mark.parametrize(
        ("n_clusters", "outliers"),
        [(1, "iterative"), (2, "final"), (3, None), (3, "iterative"), (3, "final")],
    )
    def test_threecpo(self, outliers, n_clusters):
        X, labels = planted(n_background=20)
        model = quiet_fit(X, n_clusters, outliers=outliers)
        check(model, X, n_clusters)
        assert len(model.restart_losses_) == 3
        if n_clusters == 3:
            kept = (labels >= 0) & (model.labels_ >= 0)
            assert adjusted_rand_score(labels[kept], model.labels_[kept]) == 1
            outside = model.labels_[labels < 0] == -1
            assert outside.mean() > 0.5 if outliers else not outside.any()

    @pytest.mark.parametrize(
        "options",
        [
            {"assignment": "printed", "column_penalty": "bic"},
            {"groups": (1,), "prior": 0.0},
            {"groups": (1, 0), "column_init": "random"},
            {"groups": (1, -1), "prior": 1.0},
            {"column_penalty": None},
            {"column_init": [1, 1, 0, 0, 1, 1, 1, 1, -1, -1]},
            {"outliers": "iterative", "outlier_threshold": 5.0},
        ],
        ids=str,
    )
    def test_options(self, options):
        X, labels = planted(n_rows=60)
        model = fit(X, **options)
        check(model, X, 3)
        kept = model.labels_ >= 0
        assert kept.mean() > 0.9
        assert adjusted_rand_score(labels[kept], model.labels_[kept]) > 0.95

    def test_is_the_default_of_threecpo_alone(self):
        assert ThreeCPO().init == "merge"
        assert PoissonL().init == PoissonC().init == "poisson-k-means++"


class TestTinyData:
    @pytest.mark.parametrize("init", ["merge", "poisson-k-means++"])
    def test_too_many_clusters_warn_as_with_other_starts(self, init):
        X = np.array([[9, 0], [0, 9]] * 10)
        with pytest.warns(ConvergenceWarning, match="Only 2 of n_clusters=4") as told:
            model = fit(X, 4, init=init, column_penalty=None)
        assert len(told) == 1
        assert model.n_clusters_ == 2

    @pytest.mark.parametrize("n_clusters", [1, 2, 4])
    def test_hardly_more_rows_than_clusters(self, n_clusters):
        rows = np.vstack([9 * np.eye(4, dtype=int)[:n_clusters], [[0, 0, 0, 5]]])
        for prior, outliers in product((1e-3, 0.0), (None, "iterative")):
            for X in (rows, rows[:-1]):
                model = quiet_fit(X, n_clusters, prior=prior, outliers=outliers)
                check(model, X, n_clusters)

    def test_as_many_clusters_as_rows_are_found(self):
        X = 9 * np.eye(4, dtype=int)
        model = fit(X, 4, column_penalty=None, column_init=[1, 1, 1, 1])
        assert model.n_clusters_ == 4

    @pytest.mark.parametrize("prior", [1e-3, 0.0])
    def test_rows_of_zeros_among_others(self, prior):
        X, labels = planted()
        X[::10] = 0
        model = fit(X, prior=prior)
        check(model, X, 3)
        seen = X.any(axis=1)
        assert adjusted_rand_score(labels[seen], model.labels_[seen]) == 1


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
