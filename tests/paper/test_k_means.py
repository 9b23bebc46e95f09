"""Spherical k-means, k-means over the number of clusters, and its criteria."""

import tracemalloc
from itertools import product
from math import inf, log, pi

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, silhouette_samples, silhouette_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize
from sklearn.utils.estimator_checks import check_estimator

from containers import CONTAINERS, planted, scattered
from paper import kmeans_path, methods
from paper.kmeans import SphericalKMeans
from paper.kmeans_path import elbow, k_means_path, silhouettes, x_means_bic
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


X, TRUE = planted(n_rows=30)
ALL = range(2, 7)
K_MEANS = ("KM", "SKM", "STD+KM", "RCA+KM", "TF-IDF+SKM")


def path_of(name, X=X, n_clusters=ALL):
    return k_means_path(X, n_clusters, methods()[name](2, random_state=0), n_init=3)


def transformed(name, X=X):
    """What k-means gets, dense; unit rows where it is spherical."""
    estimator = methods()[name](2)
    Z = estimator[:-1].fit_transform(X) if isinstance(estimator, Pipeline) else X
    Z = Z.toarray() if sp.issparse(Z) else np.asarray(Z, dtype=float)
    return normalize(Z) if name.endswith("SKM") else Z


@pytest.mark.parametrize("name", K_MEANS)
def test_every_fit_is_that_of_the_pipeline_alone(name):
    path, Z = path_of(name), transformed(name)
    assert path.n_clusters == list(ALL)
    for k, fit in zip(ALL, path.fits, strict=True):
        alone = methods()[name](k, random_state=0, n_init=3).fit(X)
        np.testing.assert_array_equal(fit.labels, alone.labels_)
        assert fit.inertia == alone.inertia_
        expected = silhouette_score(Z, alone.labels_)
        assert fit.silhouette == pytest.approx(expected, abs=1e-9)
        assert fit.bic == x_means_bic(fit.labels, fit.inertia, Z.shape[1])


@pytest.mark.parametrize("name", K_MEANS)
def test_criteria_choose_the_best_fit(name):
    path = path_of(name)
    for criterion in ("silhouette", "bic"):
        values = [getattr(fit, criterion) for fit in path.fits]
        fit, totals = path.choose(criterion)
        assert fit.n_clusters == ALL[np.argmax(values)]
        np.testing.assert_array_equal(totals, -np.array(values))
    fit, totals = path.choose("elbow")
    assert fit.n_clusters == (elbow(np.array(ALL), path.inertias) or ALL[-1])
    np.testing.assert_array_equal(totals == 0, np.array(ALL) == fit.n_clusters)


def test_a_curve_without_an_elbow_goes_on_to_its_end():
    fit, totals = path_of("KM", n_clusters=[2, 3]).choose("elbow")
    assert fit.n_clusters == 3
    assert totals.tolist() == [1.0, 0.0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_clusters_of_equal_rows_are_found_once():
    rows = np.repeat([[9, 1, 0], [0, 5, 5]], 5, axis=0)
    path = path_of("SKM", rows, [3, 2, 3])
    assert path.n_clusters == [2, 3]
    assert [fit.n_found for fit in path.fits] == [2, 2]


def test_one_cluster_has_no_silhouette_and_is_not_chosen_by_it():
    path = path_of("RF+KM", n_clusters=range(1, 5))
    assert np.isnan(path.fits[0].silhouette)
    assert path.choose("silhouette").fit.n_found == 3


def test_an_unknown_criterion_is_refused():
    with pytest.raises(ValueError, match="criterion='aic' is not one of 'silhouette'"):
        path_of("KM").choose("aic")


def test_what_is_no_k_means_is_refused():
    with pytest.raises(ValueError, match="CoclustMod is not k-means"):
        path_of("CCMod")


def test_k_means_alone_has_a_path_and_is_left_alone():
    estimator = KMeans(7, random_state=0, n_init=8)
    path = k_means_path(sp.csr_array(X), ALL, estimator, n_init=3)
    assert (estimator.n_clusters, estimator.n_init) == (7, 8)
    assert not hasattr(estimator, "labels_")
    for fit, other in zip(path.fits, path_of("KM").fits, strict=True):
        np.testing.assert_array_equal(fit.labels, other.labels)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sparse_counts_stay_sparse():
    """Dense they would take 400 MB."""
    X = scattered((500, 100_000), 5000)
    path_of("RF+KM", X[:, :50], [2])
    tracemalloc.start()
    try:
        path_of("RF+KM", X, [2, 3])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150e6


# Inertia of k-means on wholesales and on optdigits, and of spherical k-means on
# BBCSports, in thousandths of the first.
PATHS = [
    (
        """1000 710 573 467 417 364 319 290 263 249 228 219 202 190 179
        167 157 148 140 133 127 121 115 110 106 101 97 93 89""",
        8,
    ),
    (
        """1000 909 843 783 731 693 662 632 613 594 580 565 553 542 531
        523 515 509 501 497 490 487 479 476 471 465 461 455 454""",
        9,
    ),
    (
        """1000 978 958 938 927 919 909 898 892 881 879 875 870 866 862
        860 856 848 847 844 839 835 832 825 822 822 818 819 814""",
        11,
    ),
]
OTHERS = [
    ([1, 2, 3, 4, 5, 6, 7, 8], [1000, 700, 450, 300, 220, 180, 160, 150], 4),
    # Two bends: the first counts.
    ([1, 2, 3, 4, 5, 6, 7, 8], [100, 60, 58, 57, 20, 10, 5, 0], 2),
    # The fall behind the first peak is less than a step.
    ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], [99, 80, 75, 64, 48, 25, 20, 15, 9, 5, 0], 6),
    ([2, 3, 5, 8, 13, 21, 34], [1000, 700, 450, 300, 220, 180, 160], 8),
    ([2, 4, 8, 16, 32], [90, 50, 30, 20, 15], 8),
    ([2, 4, 5, 6, 8, 10], [97, 91, 72, 63, 60, 50], 6),
    # The top is flat: its end counts.
    ([1, 2, 3, 4, 5], [16, 6, 2, 1, 0], 3),
    # A worse fit behind a better one.
    ([2, 3, 4, 5, 6, 7], [100, 30, 31, 20, 10, 0], 3),
]
WITHOUT = [
    ([2], [5]),
    ([2, 3], [5, 1]),
    ([2, 3, 4], [9, 2, 1]),
    ([2, 3, 4], [7, 7, 7]),
    ([2, 3, 4, 5, 6], [40, 30, 20, 10, 0]),
    ([2, 3, 4, 5], [9, 8, 5, 0]),
    ([1, 2, 3, 4], [100, 40, 40, 0]),
]


def test_elbow_of_real_paths():
    for text, expected in PATHS:
        losses = np.array(text.split(), dtype=float)
        assert elbow(np.arange(2, 31), losses) == expected
        # Neither the unit of the losses nor their level matters.
        assert elbow(np.arange(2, 31), losses * 2.0**40 - 2.0**45) == expected


def test_elbow_of_small_curves():
    for n_clusters, losses, expected in OTHERS:
        found = elbow(np.array(n_clusters), np.array(losses))
        assert found == expected, losses
        assert type(found) is int


def test_short_straight_flat_and_concave_curves_have_none():
    for n_clusters, losses in WITHOUT:
        assert elbow(np.array(n_clusters), np.array(losses)) is None, losses


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


@pytest.mark.parametrize("chunk_bytes", [8 * 120 * 7, 2**24])
def test_equals_scikit_learn(chunk_bytes, monkeypatch):
    monkeypatch.setattr(kmeans_path, "_CHUNK_BYTES", chunk_bytes)
    X, labelings = counts_and_labelings()
    expected = [silhouette_score(X, labels) for labels in labelings]
    for kind in KINDS.values():
        found = silhouettes(kind(X), labelings)
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
    monkeypatch.setattr(kmeans_path, "_ROUNDING", 0.0)
    X = np.random.default_rng(4).random((50, 300))
    ((_, distances),) = kmeans_path._distance_chunks(X)
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


def printed(inertia, sizes, n_columns):
    """Pelleg and Moore (2000), section 3.2, cluster by cluster."""
    R, K, M = sum(sizes), len(sizes), n_columns
    variance = inertia / (R - K)
    log_likelihood = sum(
        -R_n / 2 * log(2 * pi)
        - R_n * M / 2 * log(variance)
        - (R_n - K) / 2
        + R_n * log(R_n)
        - R_n * log(R)
        for R_n in sizes
    )
    return log_likelihood - ((K - 1) + M * K + 1) / 2 * log(R)


@pytest.mark.parametrize("sizes", [[40], [50, 1, 8, 30], [10_000] * 30])
def test_equals_the_printed_formula(sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    for inertia, n_columns in product([1e-9, 2e12], [1, 2000]):
        found = x_means_bic(labels, inertia, n_columns)
        assert found == pytest.approx(printed(inertia, sizes, n_columns), rel=1e-12)


def test_a_perfect_fit_scores_infinity():
    assert x_means_bic(np.array([0, 0, 0, 1, 1]), 0.0, 4) == inf
    assert x_means_bic(np.array([0, 1]), 0.0, 4) == inf
    assert x_means_bic(np.array([0, 1]), 1e-30, 4) == inf
