"""probabilities_, predict_proba and T of fitted models."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import oracle
import threecpo
from fitting import X, fit
from model_files import change_header, rewrite
from threecpo import ThreeCPO, distributed, results
from threecpo._core.overlaps import shared_rows
from threecpo._fit import calibration

OPTIONS = {
    "default": {},
    "iterative": {"outliers": "iterative"},
    "final": {"outliers": "final"},
    "no prior": {"prior": 0.0},
    "one cluster": {"n_clusters": 1},
    "no C0": {"groups": (1, -1)},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_best_cluster_is_the_label(name):
    model = fit(**OPTIONS[name])
    found = model.probabilities_
    assert found.shape == (len(X), model.n_clusters_)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    inside = np.arange(len(X)), model.nearest_labels_
    assert (found[inside] >= found.max(axis=1)).all()
    new = model.predict_proba(X)
    np.testing.assert_array_equal(new.argmax(axis=1), model.nearest_labels_)
    assert model.temperature_ >= 1.0
    if name == "default":  # rows look surer if they count themselves
        assert (new[inside] >= found[inside] - 1e-12).all()
        assert new[inside].mean() > found[inside].mean()


def overlapping(distance, seed=0, n_rows=400, n_columns=30):
    """Three Poisson clusters, and the cluster of each row."""
    rng = np.random.default_rng(seed)
    rates = 2 * np.exp(distance * rng.standard_normal((3, n_columns)))
    true = np.arange(n_rows) % 3
    return rng.poisson(rates[true]), true


@pytest.mark.parametrize(
    ("distance", "n_right"), [(0.0, 0.37), (0.2, 0.66), (0.5, 0.99)]
)
def test_calibrated_confidence_is_the_share_that_is_right(distance, n_right):
    """On average over tables: that of one hangs on chance."""
    shares = []
    for seed in range(4, 8):
        Y, true = overlapping(distance, seed)
        model = ThreeCPO(3, column_penalty=None, random_state=0).fit(Y)
        shared = shared_rows(true, model.labels_)
        right = shared[linear_sum_assignment(-shared)].sum() / len(Y)
        found = model.measure_confidence(Y)
        every = np.arange(len(Y)), model.labels_
        before, after = (each.probabilities_[every].mean() for each in (model, found))
        shares.append((right, before, after))
        # The order of the clusters of a row stays, and so does all else of the fit.
        order = found.probabilities_.argsort(axis=1)
        np.testing.assert_array_equal(order, model.probabilities_.argsort(axis=1))
        np.testing.assert_array_equal(found.labels_, model.labels_)
        assert found.predict_proba(Y[:5]).max() <= model.predict_proba(Y[:5]).max()
    right, before, after = np.mean(shares, axis=0)
    assert right == pytest.approx(n_right, abs=0.05)
    assert after == pytest.approx(right, abs=0.05)
    if distance < 0.5:
        assert before > right + 0.1


@pytest.mark.parametrize(
    ("n_clusters", "clear", "penalty"), [(2, 1.2, None), (3, 2.5, "mdl")]
)
def test_calibration_survives_poor_fits_of_drawn_tables(n_clusters, clear, penalty):
    """One C0 column that varies by chance, and draws that the search fails in."""
    rng = np.random.default_rng([5, 4])
    shares = np.full(2, 0.5) if n_clusters == 2 else rng.dirichlet(np.full(3, 3.0))
    true = rng.choice(n_clusters, 600, p=shares)
    effects = rng.normal(0, 0.2 * clear * np.sqrt(30 / 200), (n_clusters, 200))
    rates = 2.0 * rng.gamma(2, 0.5, 200) * np.exp(effects)
    Y = rng.poisson(rates[true] * rng.gamma(10, 0.1, (600, 1)))
    options = {"column_penalty": penalty, "random_state": 5}
    model = ThreeCPO(n_clusters, **options).fit(Y)
    shared = shared_rows(true, model.labels_)
    right = shared[linear_sum_assignment(-shared)].sum() / len(Y)
    found = model.measure_confidence(Y).probabilities_
    assert right > 0.85
    assert found[np.arange(600), model.labels_].mean() == pytest.approx(right, abs=0.05)


@pytest.mark.parametrize(
    ("n_rows", "n_counts", "n_drawn"),
    [
        (600, 18_000, 600),
        (5_000, 1_500_000, 5_000),
        (20_000, 100_000, 20_000),
        (20_000, 1_400_000, 5_000),
        (14_000, 9_800_000, 2_143),
        (1_300_000, 2_600_000_000, 2_000),
    ],
)
def test_drawn_rows_are_few_only_where_they_are_long(n_rows, n_counts, n_drawn):
    assert calibration.sample_size(n_rows, n_counts) == n_drawn


def test_calibration_is_the_same_for_any_threads_and_blocks(monkeypatch):
    """Of all rows, and of a sample."""
    Y, _ = overlapping(0.3)
    monkeypatch.setattr(calibration, "LEAST_ROWS", 100)
    for most in (calibration.MOST_COUNTS, 4000):
        monkeypatch.setattr(calibration, "MOST_COUNTS", most)
        expected = ThreeCPO(3, n_init=3, random_state=0, n_jobs=1).fit(Y)
        expected = expected.measure_confidence(Y)
        threads = ThreeCPO(3, n_init=3, random_state=0, n_jobs=3)
        blocks = ThreeCPO(3, n_init=3, random_state=0)
        threads.calibrates = blocks.calibrates = True
        threads.fit(Y)
        distributed.fit(blocks, [lambda i=i: Y[i : i + 90] for i in range(0, 400, 90)])
        for found in (threads, blocks):
            assert found.temperature_ == expected.temperature_
            assert found.probabilities_.tobytes() == expected.probabilities_.tobytes()


def test_fits_of_a_path_are_measured_afterwards():
    path = threecpo.select_n_clusters(X, [2, 3], n_init=3, random_state=0)
    model = path.estimator(3)
    assert not hasattr(model, "probabilities_")
    with pytest.raises(AttributeError, match="measure_confidence"):
        model.predict_proba(X)
    measured = model.measure_confidence(X)
    assert measured.probabilities_.shape == (len(X), 3)
    with pytest.raises(ValueError, match="X has 5 rows"):
        model.measure_confidence(X[:5])
    with pytest.raises(ValueError, match="was merged"):
        model.cut(2).measure_confidence(X)
    assert not hasattr(model.cut(2), "probabilities_")


def test_damaged_confidence_is_refused(tmp_path):
    path, model = tmp_path / "model.npz", fit()
    for change in (np.negative, np.zeros_like, lambda p: p[:, 1:]):
        model.save(path)
        rewrite(path, lambda a, c=change: a.update(probabilities=c(a["probabilities"])))
        with pytest.raises(ValueError, match=r"damaged .*probabilities"):
            threecpo.load(path)
    for name, values in (
        ("temperature", (0.5, None, "x", float("nan"))),
        ("dispersion", (-0.5, "x", float("nan"), True)),
    ):
        for value in values:
            model.save(path)
            change_header(path, lambda h, n=name, v=value: h["record"].update({n: v}))
            with pytest.raises(ValueError, match=rf"damaged .*{name}"):
                threecpo.load(path)


def test_the_dispersion_is_the_median_of_the_columns():
    model = fit()
    expected = oracle.dispersions(
        X + 1e-3, model.labels_, model.column_groups_, prior=1e-3
    )
    assert model.dispersion_ == pytest.approx(np.median(expected), rel=1e-6)
    varied = np.random.default_rng(0).negative_binomial(X + 1, 0.2)
    assert fit(varied).dispersion_ > 3 > model.dispersion_


def test_joined_clusters_have_no_dispersion_without_counts():
    model = fit(n_clusters=5)
    assert model.cut(3).dispersion_ is None
    assert model.cut(3).temperature_ == model.temperature_
    assert model.cut(3, X=X).dispersion_ > 0
    assert fit(np.zeros((4, 3)), n_clusters=1).dispersion_ is None


def test_the_mean_confidence_of_each_cluster_is_a_fact_and_in_its_table():
    model = fit(outliers="final")
    inside = model.labels_ >= 0
    own = model.probabilities_.max(axis=1)
    means = [own[inside & (model.labels_ == k)].mean() for k in range(3)]
    assert results.fit_facts(model)["confidence"] == pytest.approx(means)
    assert results.cluster_table(model)["confidence"] == pytest.approx(means)
    path = threecpo.select_n_clusters(X, [3], n_init=2, random_state=0)
    unknown = path.estimator(3)
    assert results.fit_facts(unknown)["confidence"] == [None] * 3
    assert np.isnan(results.cluster_table(unknown)["confidence"]).all()
