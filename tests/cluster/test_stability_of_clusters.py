"""Clusters that are there are stable and distinct; those of chance are not."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from threecpo import ThreeCPO, results
from threecpo._fit import stability as measured
from threecpo._fit.distinct import thinned
from threecpo.results import STABILITY, read_table, write_table

COLUMNS = [
    "node",
    "clusters",
    "rows",
    "jaccard",
    "jaccard_sd",
    "gain",
    "expected",
    "z",
    "p_value",
    "p_adjusted",
    "distinct",
    "verdict",
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
    assert same(read_table(tmp_path / "stability.csv", STABILITY), table)
