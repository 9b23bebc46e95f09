"""Every fit of a path is that of the estimator alone, however the path is made."""

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from k_paths import ALL, TRUE, Restarted, X, assert_same_fit, assert_same_path, path_of

import oracle
from containers import CONTAINERS, names, planted, snapshot
from paper.poisson import PoissonC, PoissonL

OPTIONS = {
    "default": {},
    "iterative": {"outliers": "iterative"},
    "final": {"outliers": "final", "outlier_threshold": 0.5},
    "paper": {"assignment": "paper"},
    "bic": {"column_penalty": "bic", "groups": (1, -1)},
    "random": {"init": "random-labels", "column_init": "random", "prior": 0.1},
}


@pytest.fixture(scope="module")
def path():
    return path_of()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", OPTIONS)
def test_every_fit_is_that_of_the_estimator_alone(name):
    random_state = 17
    data, _ = planted(n_rows=20, n_background=20)
    estimator = Restarted(**OPTIONS[name])
    path = path_of(data, estimator=estimator, random_state=random_state)
    for k in ALL:
        alone = Restarted(k, n_init=3, random_state=random_state, **OPTIONS[name])
        assert_same_fit(path.estimator(k), alone.fit(data))
        np.testing.assert_array_equal(path.estimator(k).predict(data), alone.labels_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [PoissonL, PoissonC])
def test_relatives_of_3cpo_have_paths(kind):
    path = path_of(estimator=kind())
    for k in ALL:
        alone = kind(k, n_init=3, random_state=0).fit(X)
        assert_same_fit(path.estimator(k), alone)
    np.testing.assert_array_equal(path.to_frame()["relevant"], X.shape[1])
    assert np.isfinite(path.totals).all()
    assert repr(path).startswith(f"KPath of {kind.__name__}, K = 1 to 5")


@pytest.fixture(scope="module")
def several_blocks():
    rng = np.random.default_rng(0)
    rates = rng.gamma(3.0, 0.5, size=(4, 120))
    return sp.csr_array(rng.poisson(rates[rng.integers(4, size=2500)]))


@pytest.mark.parametrize("n_init", [1, 3])
def test_the_number_of_threads_changes_no_bit(several_blocks, n_init):
    options = {"n_init": n_init, "n_clusters": (1, 3, 4)}
    estimator = Restarted(max_iter=20)
    reference = path_of(several_blocks, estimator=estimator, n_jobs=1, **options)
    path = path_of(several_blocks, estimator=estimator, n_jobs=2, **options)
    assert_same_path(path, reference)
    assert_same_path(path.choose("mdl"), reference.choose("mdl"))


@pytest.mark.parametrize("name", ["pandas", "csc unsorted"])
def test_every_container_gives_the_same_table_and_is_left_alone(name, path):
    given = CONTAINERS[name](X)
    before = snapshot(given)
    found = path_of(given)
    assert snapshot(given) == before
    pd.testing.assert_frame_equal(
        found.to_frame().drop(columns="seconds"),
        path.to_frame().drop(columns="seconds"),
        check_exact=True,
    )


def test_column_names_reach_every_fit():
    path = path_of(CONTAINERS["pandas"](X), [2, 3])
    for k in (2, 3):
        assert path.estimator(k).feature_names_in_.tolist() == names(X)


def test_extending_leaves_fits_alone_and_adds_those_of_a_longer_path(path):
    longer = path_of(n_clusters=[2, 4])
    before = {k: longer.estimator(k) for k in (2, 4)}
    assert longer.extend(X, [5, 1, 2, 3, 3]) is longer
    assert all(longer.estimator(k).record_ is before[k].record_ for k in before)
    assert_same_path(longer, path)
    fits = [longer.estimator(k).record_ for k in ALL]
    longer.extend(X, ALL)
    assert [longer.estimator(k).record_ for k in ALL] == fits


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_path_with_a_stateful_seed_is_extended_as_if_made_at_once(make):
    whole = path_of(random_state=make(5))
    parts = path_of(n_clusters=[3], random_state=make(5)).extend(X, ALL)
    assert_same_path(parts, whole)
    generator = make(5)
    first, second = (path_of(n_clusters=[3], random_state=generator) for _ in range(2))
    seeds = [p.estimator(3).random_state for p in (first, second)]
    assert all(type(seed) is int for seed in seeds)
    assert seeds[0] != seeds[1]


def test_a_path_without_a_seed_tells_the_one_it_drew():
    path = path_of(random_state=None, n_clusters=[4]).extend(X, [5])
    seed = path.estimator(4).random_state
    assert path.estimator(5).random_state == seed
    assert_same_path(path, path_of(random_state=seed, n_clusters=[4, 5]))


@pytest.mark.parametrize("outliers", ["iterative", "final"])
def test_dispersions_are_those_of_the_model_and_its_outliers(outliers):
    data, _ = planted(n_rows=20, n_background=20)
    path = path_of(data, [1, 3, 4], estimator=Restarted(outliers=outliers))
    for fit in path._fits.values():
        model = path.estimator(fit.n_clusters)
        labels = model.nearest_labels_ if outliers == "final" else model.labels_
        expected = oracle.dispersions(
            data + 1e-3, labels, model.column_groups_, prior=1e-3
        )
        np.testing.assert_allclose(fit.dispersions, expected.clip(1.0), rtol=1e-9)
    assert (path.estimator(3).labels_ == -1).any()


def test_the_order_and_repetitions_of_the_range_do_not_matter(path):
    assert_same_path(path_of(n_clusters=(k for k in [5, 3, 3, 1, 2, 4, 5])), path)


def test_a_path_survives_a_file(path, tmp_path):
    joblib.dump(path, tmp_path / "path.joblib")
    again = joblib.load(tmp_path / "path.joblib")
    assert_same_path(again, path)
    pd.testing.assert_frame_equal(again.to_frame(), path.to_frame())
    assert repr(again) == repr(path)
    np.testing.assert_array_equal(again.best_estimator.predict(X), TRUE)
    assert_same_path(again.extend(X, [6]), path_of(n_clusters=range(1, 7)))
