"""Paths of k-means, spherical k-means and both behind transformations."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize

from containers import planted, scattered
from threecpo import KPath, methods, select_n_clusters
from threecpo.cluster import SphericalKMeans
from threecpo.preprocessing import RelativeFrequency
from threecpo.select import stability
from threecpo.select._elbow import elbow
from threecpo.select._xmeans import x_means_bic

X, TRUE = planted(n_rows=30)
ALL = range(2, 7)
K_MEANS = (
    "KM",
    "SKM",
    "STD+KM",
    "RF+KM",
    "RCA+KM",
    "TF-IDF+KM",
    "TF-IDF+SKM",
    "BM25+SKM",
)


def path_of(estimator, X=X, n_clusters=ALL, **options):
    if isinstance(estimator, str):
        estimator = methods()[estimator](2)
    options = {"n_init": 3, "random_state": 0} | options
    return select_n_clusters(X, n_clusters, estimator=estimator, **options)


def transformed(name, X=X):
    """What k-means gets, dense; unit rows where it is spherical."""
    estimator = methods()[name](2)
    Z = estimator[:-1].fit_transform(X) if isinstance(estimator, Pipeline) else X
    Z = Z.toarray() if sp.issparse(Z) else np.asarray(Z, dtype=float)
    return normalize(Z) if name.endswith("SKM") else Z


@pytest.mark.parametrize("name", K_MEANS)
def test_every_fit_is_that_of_the_pipeline_alone(name):
    path = path_of(name)
    assert isinstance(path, KPath)
    for k in ALL:
        alone = methods()[name](k, random_state=0, n_init=3).fit(X)
        found = path.estimator(k)
        assert type(found) is type(alone)
        np.testing.assert_array_equal(found.labels_, alone.labels_)
        assert found.inertia_ == alone.inertia_
        np.testing.assert_array_equal(found.predict(X), alone.predict(X))


@pytest.mark.parametrize("name", K_MEANS)
def test_silhouettes_are_those_of_scikit_learn_on_what_is_clustered(name):
    path, Z = path_of(name), transformed(name)
    assert path.criterion == "silhouette"
    expected = [silhouette_score(Z, path.estimator(k).labels_) for k in ALL]
    np.testing.assert_allclose(path.to_frame()["silhouette"], expected, atol=1e-9)
    np.testing.assert_array_equal(path.totals, -path.to_frame()["silhouette"])
    assert path.best_k == ALL[np.argmax(expected)]


@pytest.mark.parametrize("name", K_MEANS)
def test_the_other_criteria_come_with_the_fits(name):
    path = path_of(name)
    losses = np.array([path.estimator(k).inertia_ for k in ALL])
    by_elbow = path.choose("elbow")
    expected = elbow(np.array(ALL), losses) or ALL[-1]
    assert by_elbow.n_clusters[by_elbow.totals == 0].tolist() == [expected]
    assert by_elbow.best_k == expected
    sizes = [np.bincount(path.estimator(k).labels_) for k in ALL]
    n_columns = transformed(name).shape[1]
    bics = [x_means_bic(*both, n_columns) for both in zip(losses, sizes, strict=True)]
    np.testing.assert_allclose(path.to_frame()["bic"], bics, rtol=1e-13)
    np.testing.assert_array_equal(path.choose("bic").totals, -path.to_frame()["bic"])
    assert path.choose("bic").best_k == ALL[np.argmax(bics)]


def test_a_curve_without_an_elbow_goes_on_to_its_end():
    path = path_of("KM", n_clusters=[2, 3], criterion="elbow")
    assert path.totals.tolist() == [1.0, 0.0]


def test_the_table_has_the_columns_of_k_means():
    table = path_of("RF+KM").to_frame()
    names = ["n_clusters", "found", "loss", "bic", "silhouette", "total", "seconds"]
    assert list(table) == names
    without = path_of("RF+KM", criterion="bic").to_frame()
    assert list(without) == [name for name in names if name != "silhouette"]
    np.testing.assert_array_equal(without["loss"], table["loss"])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_clusters_of_equal_rows_are_found_once():
    rows = np.repeat([[9, 1, 0], [0, 5, 5]], 5, axis=0)
    path = path_of("SKM", rows, [2, 3], criterion="bic")
    assert path.to_frame()["n_clusters"].tolist() == [2, 3]
    assert path.best_k == path.to_frame()["found"][np.argmin(path.totals)]


@pytest.mark.parametrize("criterion", ["elbow", "bic"])
def test_silhouettes_that_were_not_made_are_a_clear_error(criterion):
    path = path_of("KM", criterion=criterion)
    message = r"^This path has no silhouettes, .* make it with criterion='silhouette'"
    with pytest.raises(ValueError, match=message):
        path.choose("silhouette")
    assert "silhouette" not in path.to_frame()


def test_one_cluster_has_no_silhouette_and_is_not_chosen_by_it():
    path = path_of("RF+KM", n_clusters=range(1, 5))
    assert np.isnan(path.to_frame()["silhouette"][0])
    assert path.best_k == 3
    assert path.choose("elbow").estimator(1).inertia_ > path.estimator(2).inertia_


@pytest.mark.parametrize("criterion", ["mdl", "aic"])
def test_an_unknown_criterion_names_those_of_k_means(criterion):
    message = rf"^criterion='{criterion}' is not one of 'silhouette', 'elbow', 'bic'\.$"
    with pytest.raises(ValueError, match=message):
        path_of("KM", criterion=criterion)


@pytest.mark.parametrize("name", ["CROINFO", "CCMod", "ELBM", "TauCC"])
def test_what_is_no_k_means_is_refused(name):
    with pytest.raises(ValueError, match=r"k-means"):
        path_of(name)


def test_what_has_no_number_of_clusters_is_refused():
    with pytest.raises(ValueError, match=r"is none of the Poisson family"):
        path_of(methods()["KM"](2)[:1])


@pytest.mark.parametrize("criterion", ["silhouette", "elbow"])
def test_extending_gives_the_longer_path(criterion):
    whole = path_of("RF+KM", criterion=criterion)
    parts = path_of("RF+KM", n_clusters=[5, 2], criterion=criterion)
    before = parts.estimator(5).labels_
    parts.extend(X, ALL)
    np.testing.assert_array_equal(parts.estimator(5).labels_, before)
    assert parts.totals.tobytes() == whole.totals.tobytes()
    pd.testing.assert_frame_equal(
        parts.to_frame().drop(columns="seconds"),
        whole.to_frame().drop(columns="seconds"),
        check_exact=True,
    )


def test_the_estimator_is_left_alone_and_what_is_given_wins():
    estimator = methods()["RF+KM"](7, random_state=9, n_init=8)
    before = clone(estimator)[-1].get_params()
    path = path_of(estimator, n_init=2, n_jobs=2)
    assert estimator[-1].get_params() == before
    assert not hasattr(estimator[-1], "labels_")
    found = path.estimator(4)[-1]
    assert (found.n_clusters, found.n_init, found.random_state) == (4, 2, 0)
    assert path_of(estimator, random_state=None).estimator(4)[-1].random_state == 9


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, pd.DataFrame])
def test_k_means_alone_has_a_path(make):
    path = path_of(KMeans(), make(X))
    for k in ALL:
        alone = KMeans(k, n_init=3, random_state=0).fit(sp.csr_matrix(X, dtype=float))
        found = path.estimator(k)
        assert type(found) is KMeans
        np.testing.assert_array_equal(found.labels_, alone.labels_)
        np.testing.assert_array_equal(found.predict(X.astype(float)), alone.labels_)
    assert repr(path) == repr(path_of(KMeans(), X))


def test_spherical_k_means_is_the_same_for_any_number_of_threads():
    paths = [path_of(SphericalKMeans(), n_jobs=n_jobs) for n_jobs in (1, 2, 4)]
    for path in paths[1:]:
        assert path.totals.tobytes() == paths[0].totals.tobytes()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["KM", "SKM", "RF+KM"])
@pytest.mark.parametrize("criterion", ["elbow", "silhouette"])
def test_sparse_counts_stay_sparse(name, criterion):
    """Dense they would take 400 MB."""
    X = scattered((500, 100_000), 5000)
    path_of(name, X[:, :50], [2], n_init=1)
    tracemalloc.start()
    try:
        path_of(name, X, [2, 3], n_init=1, criterion=criterion)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150e6


def test_progress_is_told_by_k(capsys):
    path_of("KM", n_clusters=[2, 3], verbose=1, criterion="elbow")
    expected = ["Runs: 1/6 K = 2", "Runs: 4/6 K = 3"]
    assert capsys.readouterr().err.splitlines() == expected


def test_a_path_survives_pickle():
    path = path_of("TF-IDF+SKM")
    again = pickle.loads(pickle.dumps(path))
    pd.testing.assert_frame_equal(again.to_frame(), path.to_frame())
    np.testing.assert_array_equal(
        again.best_estimator.predict(X), path.best_estimator.labels_
    )


@pytest.mark.parametrize("steps", [[("rf", RelativeFrequency())], []])
def test_a_pipeline_of_scikit_learn_has_a_path(steps):
    k_means = KMeans(2, n_init=3, random_state=0)
    plain = path_of(Pipeline([*steps, ("k_means", k_means)]))
    ours = path_of("RF+KM" if steps else "KM")
    np.testing.assert_array_equal(plain.totals, ours.totals)
    assert plain.to_frame()["loss"].tolist() == ours.to_frame()["loss"].tolist()
    assert type(plain.best_estimator) is Pipeline
    np.testing.assert_array_equal(
        plain.best_estimator.predict(X), ours.best_estimator.predict(X)
    )


def test_k_means_from_given_centres_has_a_path():
    path = path_of(KMeans(2, init=X[:2].astype(float)), n_clusters=[2], n_init=1)
    assert path.best_k == 2


@pytest.mark.parametrize("number", [3, "auto", None])
def test_one_number_is_no_path(number):
    with pytest.raises(ValueError, match="must be several numbers, such as"):
        select_n_clusters(X, number)
    with pytest.raises(ValueError, match="must be several numbers, such as"):
        stability(X, number)
