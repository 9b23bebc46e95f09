"""Confidence of rows, and stability of clusters."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

import oracle
import threecpo
from fitting import X, blocks_of, fit
from model_files import change_header, rewrite
from threecpo import ThreeCPO, distributed, results
from threecpo._core.overlaps import shared_rows
from threecpo._fit import calibration
from threecpo._fit import stability as measured
from threecpo._fit.distinct import thinned
from threecpo.results import read_table, write_table

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
        distributed.fit(blocks, blocks_of(Y, 90))
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


COLUMNS = [
    *("node", "clusters", "rows", "jaccard", "jaccard_sd", "gain", "expected"),
    *("z", "p_value", "p_adjusted", "distinct", "verdict"),
]


def planted(seed=0, n_clusters=3, n_rows=240, n_columns=40, distance=0.7):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % n_clusters
    rates = 4 * np.exp(distance * rng.standard_normal((n_clusters, n_columns)))
    return rng.poisson(rates[labels]), labels


@pytest.fixture(scope="module")
def fitted():
    X, _ = planted()
    return ThreeCPO(3, random_state=0, n_jobs=1).fit(X), X


def same(a, b):
    return all(
        np.array_equal(np.asarray(a[c]), np.asarray(b[c]))
        or np.array_equal(
            np.asarray(a[c], float), np.asarray(b[c], float), equal_nan=True
        )
        for c in COLUMNS
    )


def test_planted_clusters_are_found_again_and_real(fitted):
    model, X = fitted
    table = model.stability(X)
    assert list(table) == COLUMNS
    assert table["node"].tolist() == list(range(5))
    assert table["rows"].tolist()[-1] == len(X)
    assert (table["jaccard"] > 0.95).all()
    assert table["distinct"].all()
    assert (table["p_adjusted"][3:] <= 0.05).all()
    assert np.isnan(table["p_value"][:3]).all()
    assert table["verdict"].tolist() == ["stable"] * 3 + ["", ""]


def test_a_divided_cluster_is_neither(fitted):
    _, X = fitted
    model = ThreeCPO(4, random_state=0).fit(X)
    table = model.stability(X)
    joins = table["distinct"][4:].tolist()
    assert joins.count(False) == 1
    assert table["jaccard"][:4].min() < 0.8
    apart = np.asarray(table["distinct"][:4])
    assert apart.sum() == 2  # the two halves of one planted cluster are not
    verdicts = np.where(apart, "stable", "not distinct").tolist()
    assert table["verdict"].tolist() == verdicts + [""] * 3
    assert model.stability(X, n_resamples=0)["verdict"].tolist() == [""] * 7


def test_verdicts_weigh_all_evidence():
    """A join of 0 and 1 below the one with 2; each piece of evidence can fail."""

    def verdicts(p_values, jaccards, confidence):
        found = measured.Stability(
            members=[[0], [1], [2], [0, 1], [0, 1, 2]],
            sizes=np.ones(5, int),
            jaccards=np.array(jaccards, float).reshape(-1, 5),
            splits=[None] * 5,
            adjusted=np.array(p_values),
            level=0.05,
        )
        record = SimpleNamespace(n_clusters=3, confidence=None, rows=None)
        if confidence is not None:
            record.rows = SimpleNamespace(labels=np.arange(3))
            record.rows.nearest_labels = record.rows.labels
            record.empty_rows = np.zeros(3, bool)
            record.confidence = SimpleNamespace(probabilities=np.diag(confidence))
        return results.stability_table(found, record)["verdict"].tolist()[:3]

    clear, again = [0.01] * 5, [0.9] * 5
    assert verdicts(clear, again, [0.9, 0.7, 0.6]) == ["stable"] * 3
    assert verdicts(clear, again, None) == ["stable"] * 3
    assert verdicts(clear, again, [0.9, 0.59, 0.9]) == ["stable", "doubtful", "stable"]
    halves = [[0.9, 0.74, np.nan, 1, 1]]
    assert verdicts(clear, halves, None) == ["stable", "doubtful", "doubtful"]
    some = [0.3, 0.3, 0.01, 0.3, 0.01]
    assert verdicts(some, halves, None) == ["doubtful", "not distinct", "doubtful"]
    assert verdicts(some, again, [0.9, 0.59, 0.9]) == [
        *("doubtful", "not distinct", "stable")
    ]
    untold = [np.nan, np.nan, 0.01, np.nan, 0.01]
    assert verdicts(untold, halves, None) == ["doubtful"] * 3
    assert verdicts(some, [], None) == [""] * 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("mean", [3.0, 0.2])
def test_no_cluster_of_noise_is_stable(mean):
    X = np.random.default_rng(1).poisson(mean, (200, 30))
    model = ThreeCPO(4, random_state=0).fit(X)
    verdicts = model.stability(X)["verdict"][: model.n_clusters_]
    assert len(verdicts) == 4
    assert "stable" not in verdicts.tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_chance_is_called_real_in_few_tables():
    called = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.poisson(rng.standard_gamma(np.full((150, 40), 2.0)) * 2)
        model = ThreeCPO(4, random_state=0).fit(X)
        called += bool(np.any(model.stability(X, n_resamples=0)["distinct"]))
    assert called <= 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_short_rows_of_one_cluster_are_not_called_distinct():
    """A search finds a large gain in them; rows of one count tell nothing at all."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.1, (1500, 30))
    table = ThreeCPO(4, random_state=0).fit(X).stability(X, n_resamples=0)
    assert not np.any(table["distinct"])
    assert np.asarray(table["p_value"])[-1] > 0.05
    short = rng.poisson(0.03, (1500, 30))
    table = ThreeCPO(4, random_state=0).fit(short).stability(short, n_resamples=0)
    assert np.isnan(np.asarray(table["p_adjusted"])).all()
    assert not np.any(table["distinct"])


def test_threads_and_sparse_input_give_the_same_bits(fitted):
    _, X = fitted
    options = {"random_state": 0, "outliers": "iterative"}
    model = ThreeCPO(3, n_jobs=1, **options).fit(X)
    first = model.stability(X)
    other = ThreeCPO(3, n_jobs=3, **options).fit(X)
    assert same(other.stability(sp.csr_array(X)), first)
    assert not same(model.stability(X, random_state=1), first)


def test_what_is_below_a_division_that_is_not_real_is_not_tested():
    X, _ = planted(n_clusters=2)
    model = ThreeCPO(6, random_state=0).fit(X)
    table = model.stability(X, n_resamples=0)
    p, distinct = np.asarray(table["p_adjusted"]), np.asarray(table["distinct"])
    n = model.n_clusters_
    for node in range(2 * n - 2, n - 1, -1):
        for child in model.tree_[node - n, :2].astype(int):
            if child >= n:
                assert np.isnan(p[child]) == (not distinct[node])
                if distinct[node]:
                    assert p[child] >= p[node]
    assert np.isnan(np.asarray(table["jaccard"])).all()


def test_levels_follow_the_clusters_below(fitted, monkeypatch):
    model, X = fitted
    levels = []
    original = measured.division_result

    def spied(counts, inside, plan, level, *others):
        levels.append((counts.n_rows, level))
        return original(counts, inside, plan, level, *others)

    monkeypatch.setattr(measured, "division_result", spied)
    model.stability(X, n_resamples=0, alpha=0.06)
    assert [level for _, level in levels] == pytest.approx([0.06, 0.04])
    assert levels[0][0] == len(X) > levels[1][0]


def test_many_rows_are_thinned_in_proportion():
    rng, rows = np.random.default_rng(0), np.arange(3000)
    inside = rows < 600
    kept = thinned(rows, inside, 1 / 3, rng)
    assert len(kept) == 1000
    assert inside[kept].mean() == pytest.approx(0.2)
    few = rows < 30
    kept = thinned(rows, few, 1 / 3, rng)
    assert few[kept].sum() == 20
    assert len(kept) == pytest.approx(2000, abs=2)
    assert thinned(rows, few, 2.0, rng) is rows


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("X", [np.ones((6, 3)), np.zeros((4, 2)), np.eye(5)])
def test_one_cluster_has_nothing_to_test(X):
    for k in (1, 2):
        model = ThreeCPO(k, random_state=0).fit(X)
        table = model.stability(X)
        assert len(table["node"]) == 2 * model.n_clusters_ - 1
        assert model.n_clusters_ > 1 or table["verdict"].tolist() == [""]


def test_bad_input_is_refused(fitted):
    model, X = fitted
    with pytest.raises(ValueError, match="X has 10 rows, but the model was fitted"):
        model.stability(X[:10])
    for alpha in (0, 1, -1, np.nan):
        with pytest.raises(ValueError, match="alpha"):
            model.stability(X, alpha=alpha)
    with pytest.raises(ValueError, match="n_resamples"):
        model.stability(X, n_resamples=-1)


def test_progress_hears_every_piece(fitted):
    model, X = fitted

    class Heard:
        total, steps = 0, 0

        def start(self, n):
            self.total = n

        def step(self, step):
            self.steps += step.finished

    heard = Heard()
    model.stability(X, n_resamples=4, progress=heard)
    assert heard.total == heard.steps == 4 + 2


def test_a_file_gives_it_back(fitted, tmp_path):
    model, X = fitted
    table = dict(model.stability(X))
    write_table(table, tmp_path / "stability.csv")
    assert same(read_table(tmp_path / "stability.csv"), table)
