"""init="merge": coming down from more clusters than asked for."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from containers import CONTAINERS, NARROW, planted, snapshot
from threecpo import ThreeCPO
from threecpo._core import counts as counts_module
from threecpo._core import search
from threecpo.cluster import PoissonC, PoissonL
from threecpo.datasets import make_synth

ARRAYS = (
    "labels_",
    "column_groups_",
    "column_scores_",
    "cluster_rates_",
    "row_scales_",
    "outlier_scores_",
    "margins_",
    "restart_losses_",
)
OUTLIERS = (None, "iterative", "final")
SMALL, _ = planted(n_rows=15)
SMALL[3] = 0
SMALL[:, 8] = 0
LARGE = SMALL.copy()
LARGE[0, 0] = 300


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


def assert_same_bits(model, reference):
    for name in ARRAYS:
        a, b = getattr(model, name), getattr(reference, name)
        assert a.tobytes() == b.tobytes(), name
    assert model.loss_ == reference.loss_
    assert model.history_.keys() == reference.history_.keys()
    for name, values in reference.history_.items():
        assert model.history_[name].tobytes() == values.tobytes(), name


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


@pytest.fixture(scope="module")
def expected():
    """Models of the plain arrays, by their largest count."""
    return {int(X.max()): fit(X, outliers="iterative") for X in (SMALL, LARGE)}


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_gives_the_same_bits_and_stays_as_it_is(name, expected):
    array = SMALL if name in NARROW else LARGE
    X = CONTAINERS[name](array)
    before = snapshot(X)
    model = fit(X, outliers="iterative")
    assert_same_bits(model, expected[int(array.max())])
    assert snapshot(X) == before


class TestBits:
    @pytest.mark.parametrize("block", [50, 10**9], ids=["several blocks", "one block"])
    @pytest.mark.parametrize("n_init", [1, 6])
    @pytest.mark.parametrize("options", [{}, {"outliers": "iterative"}], ids=str)
    def test_are_the_same_for_any_number_of_threads(
        self, block, n_init, options, monkeypatch
    ):
        monkeypatch.setattr(search, "BLOCK_COUNTS", 10)
        monkeypatch.setattr(counts_module, "BLOCK_COUNTS", block)
        X = hard()
        reference = fit(X, 5, n_init=n_init, n_jobs=1, **options)
        for n_jobs in (2, 4, None):
            model = fit(X, 5, n_init=n_init, n_jobs=n_jobs, **options)
            assert_same_bits(model, reference)

    @pytest.mark.filterwarnings("ignore:X holds values:UserWarning")
    def test_are_the_same_for_any_number_of_threads_and_fractional_values(
        self, monkeypatch
    ):
        monkeypatch.setattr(search, "BLOCK_COUNTS", 10)
        monkeypatch.setattr(counts_module, "BLOCK_COUNTS", 50)
        reference, *models = (fit(0.37 * hard(), 5, n_jobs=n) for n in (1, 2, 4))
        for model in models:
            assert_same_bits(model, reference)

    @pytest.mark.parametrize("column_init", ["information", "random"])
    def test_are_the_same_for_the_same_seed(self, column_init):
        first, second = (fit(hard(), 5, column_init=column_init) for _ in range(2))
        assert_same_bits(first, second)

    def test_hang_on_the_seed(self):
        losses = {
            tuple(fit(hard(), 5, random_state=s).restart_losses_) for s in range(5)
        }
        assert len(losses) == 5

    @pytest.mark.parametrize("column_init", ["information", "random"])
    @pytest.mark.parametrize("outliers", [None, "iterative"])
    def test_of_runs_do_not_hang_on_how_many_follow(self, column_init, outliers):
        options = {"column_init": column_init, "outliers": outliers}
        few, many = (fit(hard(), 5, n_init=n, **options) for n in (3, 6))
        assert len(set(many.restart_losses_)) > 1
        assert many.restart_losses_[:3].tobytes() == few.restart_losses_.tobytes()
        assert many.loss_ <= few.loss_


class TestEstimators:
    @pytest.mark.parametrize("outliers", OUTLIERS)
    @pytest.mark.parametrize("n_clusters", [1, 2, 3, 5])
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

    @pytest.mark.parametrize("n_init", [1, 3])
    @pytest.mark.parametrize("kind", [PoissonL, PoissonC])
    def test_those_without_groups(self, kind, n_init):
        X, labels = planted(n_rows=60)
        for seed in range(5):
            model = fit(X, model=kind, n_init=n_init, random_state=seed)
            check(model, X, 3)
            assert len(model.restart_losses_) == n_init
            assert adjusted_rand_score(labels, model.labels_) > 0.9

    @pytest.mark.parametrize(
        "options",
        [
            {"assignment": "printed"},
            {"groups": (1,)},
            {"groups": (1, 0)},
            {"groups": (1, -1)},
            {"column_penalty": "bic"},
            {"column_penalty": None},
            {"prior": 0.0},
            {"prior": 1.0},
            {"column_init": "random"},
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

    def test_max_iter_holds(self):
        with pytest.warns(ConvergenceWarning, match="max_iter=1"):
            assert fit(hard(), 5, max_iter=1).n_iter_ == 1


class TestTinyData:
    @pytest.mark.parametrize("init", ["merge", "poisson-k-means++"])
    def test_too_many_clusters_warn_as_with_other_starts(self, init):
        X = np.array([[9, 0], [0, 9]] * 10)
        with pytest.warns(ConvergenceWarning, match="Only 2 of n_clusters=4") as told:
            model = fit(X, 4, init=init, column_penalty=None)
        assert len(told) == 1
        assert model.n_clusters_ == 2

    @pytest.mark.parametrize("more", [0, 1])
    @pytest.mark.parametrize("n_clusters", [1, 2, 4])
    @pytest.mark.parametrize("prior", [1e-3, 0.0])
    @pytest.mark.parametrize("outliers", [None, "iterative"])
    def test_hardly_more_rows_than_clusters(self, more, n_clusters, prior, outliers):
        X = np.vstack([9 * np.eye(4, dtype=int)[:n_clusters], [[0, 0, 0, 5]]])
        X = X[: n_clusters + more]
        options = {"prior": prior, "outliers": outliers}
        check(quiet_fit(X, n_clusters, **options), X, n_clusters)

    def test_as_many_clusters_as_rows_are_found(self):
        X = 9 * np.eye(4, dtype=int)
        model = fit(X, 4, column_penalty=None, column_init=[1, 1, 1, 1])
        assert model.n_clusters_ == 4

    @pytest.mark.parametrize("n_rows", [2, 6, 100])
    def test_identical_rows_are_one_cluster(self, n_rows):
        X = np.tile([3, 1, 0, 7], (n_rows, 1))
        with pytest.warns(ConvergenceWarning, match="Only 1 of n_clusters=2"):
            model = fit(X, 2)
        check(model, X, 2)
        assert model.n_clusters_ == 1

    @pytest.mark.parametrize("n_rows", [2, 6, 100])
    @pytest.mark.parametrize("prior", [1e-3, 0.0])
    def test_nothing_but_zeros(self, n_rows, prior):
        X = np.zeros((n_rows, 3), dtype=int)
        with pytest.warns(ConvergenceWarning, match="Only 1 of n_clusters=2"):
            model = fit(X, 2, prior=prior)
        check(model, X, 2)

    @pytest.mark.parametrize("prior", [1e-3, 0.0])
    def test_rows_of_zeros_among_others(self, prior):
        X, labels = planted()
        X[::10] = 0
        model = fit(X, prior=prior)
        check(model, X, 3)
        seen = X.any(axis=1)
        assert adjusted_rand_score(labels[seen], model.labels_[seen]) == 1

    def test_more_clusters_than_rows_are_refused(self):
        with pytest.raises(ValueError, match="n_clusters"):
            fit(np.eye(3, dtype=int), 4)


class TestAgainstPlainRestarts:
    """Six clusters in three groups, about 167 rows each; seeds 0 to 9 of the fits.

    With some 40 rows a cluster neither start is always the better one.
    """

    def losses(self, X, **options):
        fits = (fit(X, 6, random_state=s, **options) for s in range(10))
        return np.array([model.loss_ for model in fits])

    @pytest.mark.parametrize("data_seed", [0, 1, 2, 3])
    def test_a_lower_loss_that_hangs_less_on_the_seed(self, data_seed):
        X = nested(data_seed)
        plain = {"init": "poisson-k-means++"}
        merging = self.losses(X, n_init=6)
        restarts = self.losses(X, n_init=10, **plain)
        single = self.losses(X, n_init=1, **plain)
        best = min(merging.min(), restarts.min())
        assert (single > best + 50).sum() >= 5
        assert merging.mean() <= restarts.mean()
        assert merging.std() < restarts.std()
        assert merging.max() < best + 1


@pytest.mark.parametrize("noise_columns", [3, 5, 10, 30])
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


@pytest.mark.parametrize("n_init", [3, 4, 6])
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
