"""Paths over the number of clusters and "auto", of rows that come in blocks."""

import numpy as np
import pytest
import scipy.sparse as sp
from block_fits import (
    Crash,
    assert_same_bits,
    assert_same_path,
    before_each_pass,
    counts_of,
    evenly,
    shapeless,
)
from sklearn.base import clone

from paper.poisson import PoissonL
from threecpo import ThreeCPO, distributed, select_n_clusters
from threecpo._fit.block_rows import BlockRows
from threecpo._fit.budget import MemoryBudget
from threecpo._fit.checkpoint import Checkpoint
from threecpo._fit.record_files import record_to_arrays

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
OPTIONS = {"n_init": 2, "random_state": 0}
WANTED = range(1, 6)


def path_of(blocks, wanted=WANTED, *, sample_rows=100, **options):
    return distributed.select_n_clusters(
        blocks, wanted, sample_rows=sample_rows, **OPTIONS | options
    )


def auto(**options):
    return ThreeCPO("auto", **{"max_clusters": 5} | OPTIONS | options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"criterion": "mdl", "estimator": ThreeCPO(outliers="iterative")},
        {"estimator": ThreeCPO(robust={"columns": 1.2, "rows": 1.5})},
        {"estimator": PoissonL()},
    ],
    ids=str,
)
def test_a_sample_of_all_rows_is_the_path_in_memory(options, seed):
    X, _ = counts_of(seed, n_rows=120)
    expected = select_n_clusters(X, WANTED, **OPTIONS | options)
    for sample_rows in (120, None):
        found = path_of(evenly(X, 4), sample_rows=sample_rows, **options)
        assert_same_path(found, expected)


def test_auto_of_a_sample_of_all_rows_is_auto_in_memory(seed):
    X, _ = counts_of(seed, n_rows=120)
    weights = np.arange(120) % 3
    for rows in ({}, {"sample_weight": weights}, {"batch": weights}):
        expected = auto().fit(X, **rows)
        found = distributed.fit(auto(), evenly(X, 4), **rows)
        assert_same_path(found.k_path_, expected.k_path_)
        np.testing.assert_array_equal(found.labels_, expected.labels_)
        np.testing.assert_allclose(
            found.probabilities_, expected.probabilities_, rtol=1e-12
        )
        assert found.record_.parameters == expected.record_.parameters
        assert found.get_params() == expected.get_params()


@pytest.fixture
def end_after(monkeypatch):
    """Call it with a number, and the fit ends when so many passes are saved."""
    save = Checkpoint.save

    def end_after(number):
        saved = []

        def crashing(self, shared):
            if len(saved) == number:
                raise Crash
            save(self, shared)
            saved.append(shared.n_passes)

        monkeypatch.setattr(Checkpoint, "save", crashing)

    return end_after


@pytest.mark.parametrize(
    "estimator",
    [
        ThreeCPO(),
        ThreeCPO(init="random-labels", outliers="final"),
        ThreeCPO(robust={"columns": 1.2}),
    ],
    ids=str,
)
def test_every_cut_gives_the_same_bits(estimator, seed):
    X, _ = counts_of(seed)
    expected = path_of(X, estimator=estimator, n_jobs=1)
    for n_blocks in (2, 7):
        blocks = evenly(X, n_blocks)
        found = path_of(blocks, estimator=estimator, n_jobs=2)
        assert_same_path(found, expected)


def test_each_fit_of_a_path_is_at_a_fixed_point_of_all_rows(seed):
    X, _ = counts_of(seed)
    path = path_of(evenly(X, 3))
    for k in WANTED:
        model = path.estimator(k)
        assert model.record_.converged
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        again = ThreeCPO(model.n_clusters_, init=model).fit(X)
        np.testing.assert_array_equal(again.labels_, model.labels_)
        assert again.loss_ == pytest.approx(model.loss_, rel=1e-12)


def test_creeping_runs_end_early_where_that_is_allowed(asked):
    X = shapeless()
    path_of(X, tol=0.0)
    n_exact = len(asked)
    asked.clear()
    path_of(X, tol=0.01)
    assert len(asked) < n_exact
    with pytest.raises(ValueError, match="tol=-1"):
        path_of(X, tol=-1)


@pytest.fixture
def asked(monkeypatch):
    """How many clusters every run of every pass is for."""
    numbers = []
    before_each_pass(
        monkeypatch,
        lambda asked: numbers.append([each.profile.n_clusters for each in asked]),
    )
    return numbers


def test_one_run_of_each_number_goes_on_and_all_share_a_reading(asked):
    blocks = evenly(counts_of()[0], 4)
    path_of(blocks)
    assert asked[0] == [5, 4, 3, 2, 1]
    # The first scan, the sample, the passes, and twice what the criterion needs.
    assert {read.reads for read in blocks} == {4 + len(asked)}


def test_numbers_wait_for_their_turn_and_end_the_same(asked, monkeypatch):
    X = shapeless()
    expected = path_of(X)
    asked.clear()
    monkeypatch.setattr(MemoryBudget, "runs_at_once", lambda *_: 1)
    found = path_of(X)
    assert_same_path(found, expected)
    assert asked[0] == [5]
    assert max(sum(k + 1 for k in each) for each in asked) <= 6
    assert [4] not in asked or asked.index([4]) > 0


def test_a_budget_that_has_no_room_for_rows_keeps_labels_alone(monkeypatch):
    X, _ = counts_of()
    expected = path_of(X)
    monkeypatch.setattr(MemoryBudget, "holds", lambda _, size: size <= 5 * 300)
    found = path_of(evenly(X, 3), max_memory="1GB")
    assert found.totals.tobytes() == expected.totals.tobytes()
    assert found.sentence() == expected.sentence()
    assert found.below() == expected.below()
    assert not hasattr(found.best_estimator, "labels_")
    model = distributed.fit(auto(), evenly(X, 3), sample_rows=100)
    np.testing.assert_array_equal(model.labels_, expected.best_estimator.labels_)


def with_rare_clusters(seed, shares=(30, 25, 20, 10, 6, 4, 2, 1.2, 1, 0.8)):
    """Clusters of these percents of the rows, each with more of eight columns."""
    rng = np.random.default_rng(seed)
    rates = np.tile(rng.gamma(2.0, size=80), (len(shares), 1))
    for line in rates:
        line[rng.choice(80, 8, replace=False)] *= 4
    labels = rng.choice(len(shares), size=6000, p=np.array(shares) / sum(shares))
    return sp.csr_array(rng.poisson(rates[labels] * rng.gamma(8, 1 / 8, (6000, 1))))


def test_auto_takes_the_best_number_alone_to_convergence(asked, monkeypatch):
    once, one_pass = [], BlockRows.one_pass

    def heard(self, plan, starts, progress):
        once.extend(start.settings.n_clusters for start in starts)
        return one_pass(self, plan, starts, progress)

    monkeypatch.setattr(BlockRows, "one_pass", heard)
    X = with_rare_clusters(seed=11)
    options = {"sample_rows": 600, "rare_clusters": False}
    model = distributed.fit(auto(max_clusters=20), evenly(X, 3), **options)
    table = model.k_path_.to_table()
    others = table["n_clusters"][~table["converged"]].tolist()
    assert table["n_clusters"][table["converged"]].tolist() == [10]
    assert {k for each in asked for k in each} == {10}
    assert sorted(once) == sorted([*others, 10])
    # Few rows of the rare clusters are in the sample, which has fewer alone.
    assert auto(max_clusters=20).fit(X[:600]).n_clusters_ < 8
    path = path_of(X, [8, 9, 10, 11, 12], sample_rows=600)
    assert path.best_k == 10


def test_auto_beyond_the_sample_finds_no_clusters_in_noise():
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(2.0, size=20) * rng.gamma(4, 0.25, size=(600, 1)))
    found = distributed.fit(auto(max_clusters=8), evenly(X, 3), sample_rows=150)
    assert found.n_clusters_ == 1
    assert found.k_path_.to_table()["converged"][:4].all()


def test_auto_leaves_the_same_numbers_out_for_any_blocks(tmp_path, end_after):
    X = shapeless()
    model = auto(max_clusters=10, n_init=4)
    expected = distributed.fit(model, evenly(X, 3), sample_rows=100).k_path_
    assert 9 not in expected.n_clusters
    kept = {"sample_rows": 100, "checkpoint": tmp_path / "state"}
    end_after(30)
    with pytest.raises(Crash):
        distributed.fit(clone(model), evenly(X, 2), **kept)
    end_after(None)
    found = distributed.fit(clone(model), evenly(X, 5), **kept).k_path_
    assert_same_path(found, expected)


def test_auto_writes_rows_elsewhere(tmp_path):
    X, _ = counts_of()
    expected = distributed.fit(auto(), X, sample_rows=100)
    rows = tmp_path / "rows"
    model = distributed.fit(auto(), evenly(X, 3), sample_rows=100, write_to=rows)
    assert not hasattr(model, "labels_")
    np.testing.assert_array_equal(distributed.read_rows(rows), expected.labels_)


@pytest.mark.parametrize("n_saved", [1, 6, 12])
def test_a_path_goes_on_from_its_checkpoint(n_saved, tmp_path, end_after):
    X = shapeless()
    expected = path_of(X)
    end_after(n_saved)
    with pytest.raises(Crash):
        path_of(evenly(X, 3), checkpoint=tmp_path / "state")
    end_after(None)
    found = path_of(evenly(X, 4), checkpoint=tmp_path / "state")
    assert_same_path(found, expected)
    again = evenly(X, 2)
    assert_same_path(path_of(again, checkpoint=tmp_path / "state"), expected)
    # A look and what the criterion needs: no sample and no pass.
    assert {read.reads for read in again} == {3}


def test_a_checkpoint_serves_other_numbers_of_its_path_alone(tmp_path):
    X, _ = counts_of()
    how = {"checkpoint": tmp_path / "state", "estimator": ThreeCPO(max_clusters=5)}
    whole, part = path_of(X, **how), path_of(X, range(1, 5), **how)
    assert_same_bits(part.estimator(4), whole.estimator(4))
    with pytest.raises(ValueError, match="belongs to a fit with path="):
        distributed.fit(auto(), X, checkpoint=tmp_path / "state", sample_rows=100)
    with pytest.raises(ValueError, match="holds other files, such as k-1"):
        distributed.fit(ThreeCPO(3), X, checkpoint=tmp_path / "state", sample_rows=100)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("40kB", "sums of 30 clusters in 8 columns take"),
        ("200kB", "fits of 29 numbers of clusters in 8 columns"),
    ],
)
def test_what_cannot_fit_is_refused_before_the_sample(limit, message):
    blocks = evenly(counts_of()[0], 30)
    with pytest.raises(ValueError, match=message):
        path_of(blocks, range(2, 31), max_memory=limit, n_jobs=1)
    assert {read.reads for read in blocks} == {1}


def test_labels_of_too_many_rows_are_refused():
    with pytest.raises(ValueError, match="labels of 1000000 rows for 30 numbers"):
        MemoryBudget(10**6).check_labels(10**6, 30)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"wanted": []}, "n_clusters is empty"),
        ({"sample_rows": 4}, "sample_rows=4 must be .* 5 or more"),
        ({"wanted": [500]}, "n_samples=300 should be >= n_clusters=500"),
        ({"estimator": ThreeCPO(init=np.zeros(300, int))}, "needs init by name"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        path_of(counts_of()[0], **arguments)


N_ROWS = 160
X, TRUE = counts_of(n_rows=N_ROWS)
EVERY_THIRD = np.arange(N_ROWS) % 3
KNOWN = np.where(EVERY_THIRD > 0, -1, TRUE)
# Options of the model, and what is given of its rows.
KINDS = {
    "plain": ({}, {}),
    "auto-runs": ({"n_init": "auto"}, {}),
    "few-runs": ({"n_init": 2}, {}),
    "restarts": ({"init": "poisson-k-means++"}, {}),
    "random-labels": ({"init": "random-labels"}, {}),
    "mdl": ({"criterion": "mdl"}, {}),
    "bic": ({"column_penalty": "bic"}, {}),
    "groups": ({"groups": (1, -1), "fixed_groups": {0: -1}}, {}),
    "paper": ({"assignment": "paper"}, {}),
    "outliers": ({"outliers": "iterative"}, {}),
    "final-outliers": ({"outliers": "final"}, {}),
    "robust": ({"robust": {"columns": 1.2, "rows": 1.5}}, {}),
    "seeds": ({"seed_columns": {"a": [0], "b": [3]}}, {}),
    "weights": ({}, {"sample_weight": EVERY_THIRD}),
    "batches": ({"robust": {"columns": 1.2}}, {"batch": EVERY_THIRD}),
    "known": ({}, {"known_labels": KNOWN}),
    "released": ({}, {"known_labels": KNOWN, "hold_labels": False}),
}


def in_memory(model, rows):
    return model.fit(X, **rows)


def over_all_blocks(model, rows):
    return distributed.fit(model, evenly(X, 3), **rows)


def beyond_the_sample(model, rows):
    options = {"sample_rows": 80, "rare_clusters": True}
    return distributed.fit(model, evenly(X, 3), **options, **rows)


def on_dask(model, rows):
    array = pytest.importorskip("dask.array").from_array(X, chunks=(60, -1))
    return distributed.fit(model, array, sample_rows=80, **rows)


def content(model):
    """All that a record holds, but for the number of clusters that was asked for."""
    arrays, facts = record_to_arrays(model.record_)
    asked = facts["parameters"].pop("n_clusters")
    return {name: array.tobytes() for name, array in arrays.items()}, facts, asked


CASES = [(fit, kind) for fit in (in_memory, beyond_the_sample) for kind in KINDS]
CASES += [
    (over_all_blocks, kind) for kind in ("plain", "robust", "batches", "released")
]
CASES += [(on_dask, kind) for kind in ("plain", "released")]


@pytest.mark.parametrize(("fit", "kind"), CASES)
def test_auto_is_the_fit_of_its_number(fit, kind):
    options, rows = KINDS[kind]
    auto = ThreeCPO(max_clusters=7, **{"n_init": 4, "random_state": 3} | options)
    found = fit(auto, rows)
    path = found.k_path_
    best = path._best()
    n_clusters = best.n_clusters
    expected = fit(clone(auto).set_params(n_clusters=n_clusters), rows)
    *same, asked = content(found)
    assert asked == "auto"
    assert same == list(content(expected)[:2])
    np.testing.assert_array_equal(best.labels, expected.labels_)
    of_path = path.estimator(n_clusters)
    assert of_path.restart_losses_.tolist() == expected.restart_losses_.tolist()
    assert path.to_table()["loss"].min() <= of_path.loss_ == expected.loss_
