"""``n_init="auto"`` at every door that takes it."""

import numpy as np
import pytest

import threecpo
from paper.poisson import PoissonC, PoissonL
from strategies import planted
from threecpo import ThreeCPO, select_n_clusters


@pytest.fixture(scope="module")
def counts():
    return planted(np.random.default_rng(3), 200, 6)[0]


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


def test_it_is_saved_and_loaded(counts, tmp_path):
    model = ThreeCPO(4, n_init="auto", random_state=0).fit(counts)
    model.save(tmp_path / "model.npz")
    loaded = threecpo.load(tmp_path / "model.npz")
    assert loaded.n_init == "auto"
    np.testing.assert_array_equal(loaded.restart_losses_, model.restart_losses_)


def test_another_word_is_refused_with_the_one_that_is_allowed(counts):
    with pytest.raises(ValueError, match=r"n_init='all' must be .* or 'auto'"):
        select_n_clusters(counts, [2], n_init="all")
