"""ThreeCPO that finds its own number of clusters, and of runs."""

from types import SimpleNamespace

import numpy as np
import pytest

import strategies
import threecpo
from containers import planted
from fitting import blocks_of
from paper.poisson import PoissonC, PoissonL
from threecpo import KPath, ThreeCPO, distributed, select_n_clusters

X, TRUE = planted(n_rows=30)
OPTIONS = {"max_clusters": 5, "n_init": 3, "random_state": 0}


def auto(**options):
    return ThreeCPO("auto", **OPTIONS | options)


def varying_alone(seed, n_rows=100):
    """Independent negative binomial columns, all rows of one kind."""
    rng = np.random.default_rng(seed)
    return rng.poisson(2.0 * rng.gamma(1.0, 1.0, size=(n_rows, 20)))


def untested_k(path):
    return KPath(path.fitter, path.criterion).add(path._fits.values()).best_k


def test_the_first_division_has_to_show_against_one_cluster(monkeypatch):
    """Independent columns that vary much are not clusters, in blocks neither.

    One cluster is fitted as if the tables were large, which leaves more to the test.
    """
    monkeypatch.setattr("threecpo._core.one_cluster.MOST_WORK", 0)
    fits = {seed: auto().fit(varying_alone(seed)) for seed in range(5, 9)}
    untested = {seed: untested_k(fit.k_path_) for seed, fit in fits.items()}
    assert sum(k > 1 for k in untested.values()) >= 2
    assert sum(fit.n_clusters_ > 1 for fit in fits.values()) <= 1
    found = next(i for i, fit in fits.items() if fit.n_clusters_ < untested[i])
    path = fits[found].k_path_
    assert path.undivided
    assert path.best_k == path.choice.found == 1
    assert path.choose(path.criterion).best_k == 1
    assert (
        path.choose("mdl").best_k
        == KPath(path.fitter, "mdl").add(path._fits.values()).best_k
    )
    assert "none are distinct" in path.sentence()
    X = varying_alone(found)
    blocks = blocks_of(X, 30)
    again = distributed.fit(auto(), blocks)
    assert again.k_path_.totals.tobytes() == path.totals.tobytes()
    # The criterion of the paper, and numbers without 1, are left alone.
    paper = auto(criterion="mdl").fit(X)
    assert not paper.k_path_.undivided


def test_runs_go_where_numbers_of_clusters_compete():
    options = {"max_clusters": 20, "n_init": 4}
    one, two = (auto(n_jobs=n_jobs, **options).fit(X) for n_jobs in (1, 2))
    path = one.k_path_
    assert path.n_clusters.tolist() == [1, 2, 3, 4, 6, 8]
    n_runs = [len(path.estimator(k).restart_losses_) for k in path.n_clusters]
    assert n_runs == [3, 3, 4, 3, 5, 3]  # two of 6 start from 4 and 8
    assert one.n_clusters_ == 3
    assert two.k_path_.totals.tobytes() == path.totals.tobytes()
    assert all(path.estimator(k).record_.plan.n_init == 4 for k in (1, 3, 8))
    kept = path.extend(X, [7]).estimator(7)
    assert len(kept.restart_losses_) == 4


@pytest.mark.parametrize("n_init", [3, 6, "auto"])
def test_the_search_ends_at_the_best_of_a_convex_curve(n_init):
    class Curve(KPath):
        def _best(self):
            return min(self._fits.values(), key=lambda fit: abs(fit.n_clusters - best))

    def fit_each(numbers, few):
        assert numbers == sorted(set(numbers))
        asked.extend((k, few and few.n_runs) for k in numbers)
        return [SimpleNamespace(n_clusters=k, loss=-k) for k in numbers]

    fitter = SimpleNamespace(estimator=ThreeCPO(n_init=n_init))
    for best in range(1, 31):
        asked = []
        path = Curve(fitter, "mdl").search(range(1, 31), fit_each)
        assert path._best().n_clusters == best
        assert len(path.n_clusters) < 20
        assert {best - 1, best, best + 1} - {0, 31} <= {k for k, _ in asked}
        of_all_runs = [k for k, n_runs in asked if n_runs is None]
        assert best in of_all_runs
        assert n_init == 3 or of_all_runs == ([best] if best > 1 else [1, 2, 3, 4])
        assert {n_runs for _, n_runs in asked} <= {3, None}


def overdispersed():
    rng = np.random.default_rng(1)
    rates = np.tile(rng.gamma(2.0, 5.0, size=60), (3, 1))
    rates[:, :30] *= np.exp(rng.normal(0.0, 0.7, size=(3, 30)))
    return rng.poisson(rng.gamma(rates[np.arange(300) % 3] / 5, 5))


def test_the_criterion_matters():
    found = {
        c: auto(criterion=c).fit(overdispersed()).n_clusters_
        for c in ("mdl", "mdl-dispersion")
    }
    assert found["mdl"] > found["mdl-dispersion"] == 3


def test_only_the_last_fit_has_a_path(tmp_path):
    model = auto().fit(X)
    np.testing.assert_array_equal(model.labels_, TRUE)
    assert model.k_path_.n_clusters.tolist() == [1, 2, 3, 4, 5]
    model.save(tmp_path / "model.npz")
    again = threecpo.load(tmp_path / "model.npz")
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "k_path_")
    assert again.fit(X).k_path_.best_k == 3
    model.set_params(n_clusters=2).fit(X)
    assert not hasattr(model, "k_path_")
    assert model.n_clusters_ == 2
    with pytest.raises(ValueError, match="max_clusters"):
        again.set_params(max_clusters=0).fit(X)
    assert not hasattr(again, "k_path_")


def test_no_more_clusters_are_tried_than_there_are_rows():
    model = auto(max_clusters=30).fit(X[:3])
    assert model.k_path_.n_clusters.tolist() == [1, 2, 3]


@pytest.mark.filterwarnings("ignore:Only 3 of n_clusters=4")
def test_labels_and_models_bring_their_own_number():
    labels = np.where(np.arange(len(X)) % 5 == 0, 3, TRUE)
    two = ThreeCPO(2, random_state=0).fit(X)
    for init, number in ((labels, 4), (labels.tolist(), 4), (two, 2)):
        expected = ThreeCPO(number, init=init).fit(X)
        blocks = threecpo.distributed.fit(ThreeCPO(init=init), X)
        for model in (ThreeCPO(init=init).fit(X), blocks):
            assert model.loss_ == expected.loss_
            assert not hasattr(model, "k_path_")
    with pytest.raises(ValueError, match="init must be a name, a fitted model or one"):
        ThreeCPO(init=[0.5] * len(X)).fit(X)


@pytest.fixture(scope="module")
def counts():
    return strategies.planted(np.random.default_rng(3), 200, 6)[0]


@pytest.mark.parametrize("kind", [ThreeCPO, PoissonL, PoissonC])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_fit_is_that_of_as_many_runs(kind, counts):
    options = {"n_clusters": 5, "random_state": 0}
    model = kind(n_init="auto", **options).fit(counts)
    n_runs = len(model.restart_losses_)
    same = kind(n_init=n_runs, **options).fit(counts)
    assert 6 <= n_runs <= 20
    np.testing.assert_array_equal(model.restart_losses_, same.restart_losses_)
    np.testing.assert_array_equal(model.labels_, same.labels_)
    assert model.loss_ == same.loss_


@pytest.mark.parametrize("init", ["merge", "poisson-k-means++"])
def test_paths_take_it_for_every_k(init, counts):
    path = select_n_clusters(
        counts, [2, 4, 6], estimator=ThreeCPO(init=init), n_init="auto", random_state=0
    )
    runs = [len(path.estimator(k).restart_losses_) for k in path.n_clusters]
    assert all(6 <= n <= 20 for n in runs)
    last = int(path.n_clusters[-1])  # the first that a merging path fits
    alone = ThreeCPO(last, init=init, n_init="auto", random_state=0).fit(counts)
    if init != "merge":
        assert path.estimator(last).loss_ == alone.loss_
