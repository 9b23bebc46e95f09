"""SphericalKMeans against a dense transcription."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

from containers import CONTAINERS, planted
from paper.kmeans import SphericalKMeans
from threecpo.datasets import make_synth


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def dense_run(X, labels):
    """Spherical k-means to a fixed point; labels without empty clusters."""
    rows = unit(X.astype(float))
    while True:
        used = np.unique(labels)
        centers = unit(np.array([rows[labels == k].sum(axis=0) for k in used]))
        new = np.argmax(rows @ centers.T, axis=1)
        if np.array_equal(new, labels):
            return labels, (1.0 - (rows @ centers.T).max(axis=1)).sum()
        labels = new


@pytest.mark.parametrize("start", range(3))
def test_a_run_equals_the_dense_one(start):
    rng = np.random.default_rng(start)
    X = rng.poisson(rng.gamma(1.0, size=(50, 8)) * 4)
    first = rng.integers(3, size=50)
    model = SphericalKMeans(3, init=first).fit(X)
    labels, inertia = dense_run(X, first)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    assert model.inertia_ == pytest.approx(inertia, rel=1e-12)


def test_the_same_seed_gives_what_it_gave():
    model = SphericalKMeans(12, random_state=0).fit(make_synth(random_state=0)[0])
    assert model.inertia_ == pytest.approx(5.383493954392423, rel=1e-9)
    sizes = [190, 171, 163, 83, 79, 73, 49, 48, 42, 36, 34, 32]
    assert np.bincount(model.labels_).tolist() == sizes


def test_attributes_agree_with_each_other():
    X, labels = planted()
    model = SphericalKMeans(3, random_state=0).fit(X)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-model.inertia_, rel=1e-12)
    assert model.inertia_ == model.restart_inertias_.min()
    assert model.n_clusters_ == 3


@pytest.mark.parametrize("container", ["pandas", "csr 64-bit"])
def test_frames_and_sparse_tables_give_the_same_bits(container):
    X, _ = planted()
    model = SphericalKMeans(3, random_state=0, n_init=2).fit(CONTAINERS[container](X))
    other = SphericalKMeans(3, random_state=0, n_init=2).fit(X)
    np.testing.assert_array_equal(model.labels_, other.labels_)
    assert model.inertia_ == other.inertia_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_checks():
    expected = {"check_clustering": "feeds negative values, which are no counts"}
    model = SphericalKMeans(2, random_state=0, n_init=1)
    check_estimator(model, expected_failed_checks=expected, on_skip=None)


def test_the_length_of_a_row_does_not_matter():
    X, _ = planted()
    longer = X * (1 + np.arange(len(X)) % 5)[:, None]
    first, second = (SphericalKMeans(3, random_state=0).fit(Z) for Z in (X, longer))
    assert adjusted_rand_score(first.labels_, second.labels_) == 1.0


def test_threads_change_no_bit():
    X, _ = planted()
    one, more = (SphericalKMeans(4, random_state=0, n_jobs=n).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.labels_, more.labels_)
    np.testing.assert_array_equal(one.restart_inertias_, more.restart_inertias_)


def test_an_empty_cluster_takes_the_row_furthest_from_its_centre():
    X = np.array([[9, 0, 0], [8, 1, 0], [9, 1, 0], [0, 9, 0], [0, 8, 1], [0, 0, 7]])
    model = SphericalKMeans(3, init=[0, 0, 0, 1, 1, 1]).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(model.labels_, [0, 0, 0, 1, 1, 2]) == 1.0


def test_fewer_directions_than_clusters_are_told():
    X = np.array([[1, 2], [2, 4], [3, 6], [4, 1]])
    with pytest.warns(ConvergenceWarning, match="Only 2 of n_clusters=3"):
        model = SphericalKMeans(3, random_state=0).fit(X)
    assert sorted(np.unique(model.labels_)) == [0, 1]


def test_rows_of_zeros_change_no_other_row():
    X, _ = planted()
    model = SphericalKMeans(3, random_state=0).fit(np.vstack([X, 0 * X[:2]]))
    other = SphericalKMeans(3, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_[:-2], other.labels_) == 1.0
    np.testing.assert_array_equal(model.labels_[-2:], 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": "best"}, "'k-means\\+\\+', 'random'"),
        ({"init": [0, 1]}, "from 0 to 2"),
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"max_iter": 0}, "max_iter=0"),
    ],
)
def test_bad_options_are_refused(options, message):
    X, _ = planted()
    with pytest.raises(ValueError, match=message):
        SphericalKMeans(**({"n_clusters": 3} | options)).fit(X)
