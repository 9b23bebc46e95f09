"""Silhouettes of several labelings at once, against scikit-learn one by one."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics import silhouette_samples, silhouette_score

from containers import scattered
from threecpo.select import _silhouette
from threecpo.select._silhouette import silhouettes

KINDS = {
    "dense": np.asarray,
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "float32": lambda X: sp.csr_array(X, dtype=np.float32),
}


def counts_and_labelings(n_rows=120, n_columns=15):
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(0.4, 3.0, size=(n_rows, n_columns)))
    return X, [rng.integers(k, size=n_rows) for k in (2, 3, 7, 30)]


@pytest.mark.parametrize("chunk_bytes", [1, 8 * 120 * 7, 2**24])
@pytest.mark.parametrize("kind", KINDS)
def test_equals_scikit_learn(kind, chunk_bytes, monkeypatch):
    monkeypatch.setattr(_silhouette, "_CHUNK_BYTES", chunk_bytes)
    X, labelings = counts_and_labelings()
    expected = [silhouette_score(X, labels) for labels in labelings]
    found = silhouettes(KINDS[kind](X), labelings)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_shares_equal_scikit_learn(kind):
    X, labelings = counts_and_labelings()
    X = kind((X + 0.1) / (X + 0.1).sum(axis=1, keepdims=True))
    expected = [silhouette_score(X, labels) for labels in labelings]
    np.testing.assert_allclose(silhouettes(X, labelings), expected, rtol=0, atol=1e-9)


def test_a_row_alone_scores_0():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [50.0]])
    labels = np.array([0, 0, 1, 1, 2])
    expected = silhouette_samples(X, labels)
    assert expected[4] == 0.0
    assert silhouettes(X, [labels])[0] == pytest.approx(expected.mean(), abs=1e-12)


def test_labels_are_names_only():
    X, labelings = counts_and_labelings()
    renamed = [np.array([-5, 90, 7, 8, 1, 2, 3])[labels] for labels in labelings[:3]]
    np.testing.assert_allclose(
        silhouettes(X, renamed), silhouettes(X, labelings[:3]), rtol=1e-12
    )


def test_one_cluster_or_as_many_as_rows_is_nan():
    X, labelings = counts_and_labelings()
    trivial = [np.zeros(120, dtype=int), np.arange(120)]
    assert np.isnan(silhouettes(X, trivial)).all()
    among = silhouettes(X, [trivial[0], labelings[0], trivial[1], labelings[1]])
    np.testing.assert_array_equal(np.isnan(among), [True, False, True, False])
    np.testing.assert_array_equal(among[[1, 3]], silhouettes(X, labelings[:2]))
    assert silhouettes(X, []).shape == (0,)


def equal_rows(kind, n_copies=20):
    rng = np.random.default_rng(1)
    directions = rng.random((3, 40))
    return kind(np.repeat(directions / directions.sum(axis=1)[:, None], n_copies, 0))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_equal_rows_have_distance_0(kind):
    X = equal_rows(kind)
    perfect = np.repeat(np.arange(3), 20)
    parted = np.tile(np.arange(20), 3)
    assert silhouettes(X, [perfect])[0] == 1.0
    assert silhouettes(X[:20], [parted[:20] % 2])[0] == 0.0


def nearly_equal_rows(kind):
    rng = np.random.default_rng(2)
    if kind == "dense":
        return rng.normal(size=(60, 3)) + 1e7
    return sp.csr_array(rng.integers(3, size=(60, 4)) + 1e5)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_small_distances_of_long_rows_keep_their_digits(kind):
    X = nearly_equal_rows(kind)
    rows = X.toarray() if kind == "sparse" else X
    labels = np.arange(60) % 2
    expected = silhouette_score(cdist(rows, rows), labels, metric="precomputed")
    assert silhouettes(X, [labels])[0] == pytest.approx(expected, abs=1e-9)


def test_a_row_is_at_distance_0_from_itself(monkeypatch):
    monkeypatch.setattr(_silhouette, "_ROUNDING", 0.0)
    X = np.random.default_rng(4).random((50, 300))
    ((_, distances),) = _silhouette._distance_chunks(X)
    np.testing.assert_allclose(distances, cdist(X, X), atol=1e-12)
    np.testing.assert_array_equal(distances.diagonal(), 0.0)


def test_x_is_left_alone():
    X, labelings = counts_and_labelings()
    for given in (X.astype(float), sp.csr_array(X.astype(float))):
        before = given.copy()
        silhouettes(given, labelings)
        assert abs(given - before).sum() == 0.0


@pytest.mark.parametrize("shape", [(4000, 4000), (40, 1_000_000)])
def test_neither_all_distances_nor_dense_rows_are_held(shape):
    X = scattered(shape, shape[0] * shape[1] // 1000)
    labels = np.arange(shape[0]) % 3
    tracemalloc.start()
    try:
        silhouettes(X, [labels])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6
