"""Where fits start: init, column_init and seed_columns."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

from containers import planted
from fitting import GROUPS, INITS, TRUE, X, blocks_of, fit
from threecpo import CountTable, ThreeCPO, distributed
from threecpo._core import search
from threecpo._core.matrices import from_dense
from threecpo._fit.starting import seed_evidence
from threecpo.datasets import make_synth


@pytest.mark.parametrize("init", INITS)
def test_every_start_finds_the_planted_clusters_and_draws_anew(init):
    X, labels = planted()
    model = fit(X, init=init, n_init=5)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    assert len(model.restart_losses_) == 5
    noise = np.random.default_rng(0).poisson(3.0, size=(60, 8))
    model = fit(noise, n_clusters=4, init=init, n_init=8, column_penalty=None)
    assert len(set(model.restart_losses_)) > 1


@pytest.mark.parametrize("init", INITS)
def test_every_start_looks_only_at_the_first_relevant_columns(init):
    groups = [1] * 6 + [-1] * 4
    options = {
        "init": init,
        "column_init": groups,
        "groups": (1, -1),
        "column_penalty": lambda totals, K, n: 1e9 * (np.arange(len(totals)) >= 6),
    }
    other = X.copy()
    other[:, 6:] = other[::-1, 6:]
    np.testing.assert_array_equal(fit(**options).labels_, fit(other, **options).labels_)


def test_labels_as_a_start_make_one_run():
    X, labels = planted()
    for make in (np.array, list, pd.Series, lambda x: x.astype("u1")):
        model = fit(X, init=make(labels), n_init=10)
        assert len(model.restart_losses_) == 1
        assert model.history_["rows_moved"].tolist() == [0] * model.n_iter_
        np.testing.assert_array_equal(model.labels_, labels)
    given = np.roll(labels, 5)
    assert fit(X, init=given).history_["rows_moved"].any()
    np.testing.assert_array_equal(given, np.roll(labels, 5))


def test_labels_may_leave_clusters_out():
    X, labels = planted(2)
    with pytest.warns(ConvergenceWarning, match="n_clusters=5"):
        model = fit(X, 5, init=3 * labels)
    assert model.n_clusters_ == 2
    np.testing.assert_array_equal(model.labels_, labels)


def test_labels_may_mark_outliers_where_these_are_asked_for():
    model = fit(init=TRUE, outliers="iterative")
    assert (model.labels_ == -1).sum() >= 10
    with pytest.raises(ValueError, match="from 0 to 2"):
        fit(init=TRUE)


def test_bad_starts_are_refused():
    n = len(X)
    matrix, text = np.zeros((n, 1), dtype=int), np.full(n, "a")
    others = [np.full(n, 3), np.full(n, -1), np.zeros(n)]
    for bad in ([0, 1, 2], matrix, text, *others, None, 3):
        with pytest.raises(ValueError, match=f"init must be.*each of the {n} rows"):
            fit(init=bad)
    with pytest.raises(NotFittedError):
        fit(init=ThreeCPO())


def test_a_fitted_model_as_a_start_is_a_fixed_point(model):
    warm = ThreeCPO(3, init=model, n_init=10)
    copy = clone(warm)
    assert copy.init is model
    again = copy.fit(X)
    assert again.loss_ == model.loss_
    assert again.n_iter_ == 1
    assert len(again.restart_losses_) == 1
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.column_groups_, model.column_groups_)


def test_a_fitted_model_can_start_on_other_rows_and_with_other_groups(model):
    other, labels = planted(seed=1)
    assert adjusted_rand_score(fit(other, init=model).labels_, labels) == 1.0
    assert set(fit(init=model, groups=(1, -1)).column_groups_) <= {1, -1}


def test_a_fitted_model_with_outliers_starts_with_them():
    model = fit(outliers="iterative")
    again = fit(outliers="iterative", init=model)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert (fit(init=model).labels_ >= 0).all()


def test_a_model_of_other_columns_or_more_clusters_is_no_start(model):
    with pytest.raises(ValueError, match=r"10 columns.*X has 9"):
        fit(X[:, :9], init=model)
    with pytest.raises(ValueError, match=r"3 clusters.*n_clusters=2"):
        fit(n_clusters=2, init=model)


@pytest.mark.parametrize("column_init", ["information", "random", GROUPS])
def test_every_column_start_finds_the_planted_groups(column_init):
    X, labels = planted()
    model = fit(X, column_init=column_init, n_init=5)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    assert model.column_groups_.tolist() == GROUPS


def test_random_columns_depend_on_the_seed():
    _, labels = planted(n_background=20)
    options = {"init": labels.clip(0), "column_init": "random", "groups": (1, -1)}
    entered = {
        fit(**options, random_state=s).history_["into_relevant"][0] for s in range(10)
    }
    assert len(entered) > 1


def test_half_of_the_columns_start_relevant_or_all_where_noise_is_forbidden():
    for groups, n_first in (((1, 0, -1), X.shape[1] // 2), ((1, 0), X.shape[1])):
        history = fit(groups=groups, init="random-centers").history_
        before = history["relevant"][0] - history["into_relevant"][0]
        assert before + history["out_of_relevant"][0] == n_first


def test_bad_groups_as_a_start_are_refused():
    for bad, message in (
        ([1, 0], "each of the 10 columns"),
        ([2] * 10, "one of 1, 0, -1"),
        ([0] * 10, "at least one column in C1"),
        (None, "column_init must be"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(column_init=bad)
    with pytest.raises(ValueError, match="one of 1, 0 for each"):
        fit(column_init=GROUPS, groups=(1, 0))


def test_a_model_of_the_same_columns_in_another_order_is_refused():
    names = [f"c{j}" for j in range(X.shape[1])]
    model = fit(pd.DataFrame(X, columns=names))
    turned = pd.DataFrame(X, columns=names)[names[::-1]]
    with pytest.raises(ValueError, match="same columns in another order; put the"):
        fit(turned, init=model)
    fit(pd.DataFrame(X, columns=[f"other {name}" for name in names]), init=model)


@pytest.mark.parametrize("noise_columns", [3, 30])
def test_clusters_are_found_among_columns_of_noise(noise_columns):
    """Uniform noise has the most information, so the paper's first C1 is noise."""
    found = []
    for seed in range(10):
        X, truth = make_synth(
            noise_columns=noise_columns, perturbed=0.0, random_state=seed
        )
        model = ThreeCPO(3, random_state=seed).fit(X)
        found.append(adjusted_rand_score(truth, model.labels_))
        relevant = model.column_groups_ == 1
        assert relevant.sum() >= 2 or found[-1] < 0.9
    # Nine or ten of them; without runs from all columns none.
    assert np.count_nonzero(np.array(found) > 0.99) >= 9


@pytest.mark.parametrize("n_init", [3, 6])
def test_first_columns_that_are_given_stay_the_only_ones(n_init, monkeypatch):
    firsts, run = [], search.run

    def spying(counts, groups, *rest):
        firsts.append(groups.tolist())
        return run(counts, groups, *rest)

    monkeypatch.setattr(search, "run", spying)
    fit(n_clusters=4, n_init=n_init, column_init=[1] * 6 + [-1] * 4)
    assert [1] * 10 not in firsts
    fit(n_clusters=4, n_init=n_init)
    # Runs come in fours, two of them with all columns.
    assert firsts.count([1] * 10) >= n_init // 4 * 2 + max(0, n_init % 4 - 2)


COLUMNS = [f"c{j}" for j in range(10)]
SHARES = np.stack([X[k == TRUE, :6].sum(axis=0) for k in range(3)])
SHARES = SHARES / SHARES.sum(axis=1, keepdims=True)
# Of each class the column that it has most of, against the others; in reverse order.
MARKS = [int(np.argmax(SHARES[k] / SHARES.sum(axis=0))) for k in range(3)]
SEEDS = {f"of class {k}": [f"c{MARKS[k]}"] for k in (2, 1, 0)}
FRAME = pd.DataFrame(X, columns=COLUMNS)


def seeded(n_clusters=3, **options):
    return ThreeCPO(n_clusters, **{"random_state": 0, "n_init": 3} | options)


def test_clusters_are_those_of_the_columns():
    assert len(set(MARKS)) == 3
    inside = TRUE >= 0
    found = seeded(seed_columns=SEEDS).fit(FRAME)
    assert found.cluster_names_.tolist() == list(SEEDS)
    assert (found.labels_[inside] == 2 - TRUE[inside]).mean() > 0.9
    np.testing.assert_array_equal(found.predict(FRAME), found.labels_)
    by_number = {name: [int(column[1:])] for name, (column,) in SEEDS.items()}
    table = CountTable(X, column_names=COLUMNS)
    for seeds, given in ((SEEDS, table), (by_number, X), (by_number, sp.csr_array(X))):
        again = seeded(seed_columns=seeds).fit(given)
        np.testing.assert_array_equal(again.labels_, found.labels_)
    other_order = dict(reversed(SEEDS.items()))
    again = seeded(seed_columns=other_order).fit(FRAME)
    assert again.cluster_names_.tolist() == list(other_order)
    assert (again.labels_[inside] == TRUE[inside]).mean() > 0.9
    # The others are free, and a path begins with those that have columns.
    some = seeded(3, seed_columns=dict(list(SEEDS.items())[:1])).fit(FRAME)
    assert some.cluster_names_[0] == "of class 2"
    assert (some.labels_[TRUE == 2] == 0).mean() > 0.9
    assert (np.diff(np.bincount(some.labels_)[1:]) <= 0).all()
    path = seeded("auto", max_clusters=4, seed_columns=SEEDS).fit(FRAME).k_path_
    assert path.n_clusters.tolist() == [3, 4]


def test_rows_that_a_cluster_starts_from_may_leave_it():
    """Some rows of the second kind have more of the first kind's column than its own.

    They are the clearest rows of that column, and clearly of the second kind else.
    """
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 1], 60)
    rates = np.array([[5.0, 40, 5, 20], [3, 5, 40, 20]])
    Y = rng.poisson(rates[kinds])
    astray = np.arange(60, 64)
    Y[astray, 0] = 12
    seeds = {"first": [0]}
    every = (("first", (0,)),)
    _, clear = seed_evidence(every, Y.sum(axis=0), from_dense(Y * 1.0))
    assert np.isin(astray, np.argsort(-clear)[:12]).all()
    found = seeded(2, seed_columns=seeds).fit(Y)
    np.testing.assert_array_equal(found.labels_, kinds)
    assert (found.margins_ >= 0).all()
    readers = blocks_of(Y, 50)
    over = distributed.fit(seeded(2, seed_columns=seeds), readers)
    np.testing.assert_array_equal(over.labels_, kinds)


def test_evidence_against_plain_formulas():
    Y = np.random.default_rng(0).poisson(3.0, size=(30, 6)).astype(float)
    Y[3] = 0
    seeds = (("a", (0, 2)), ("b", (5,)))
    best, clear = seed_evidence(seeds, Y.sum(axis=0), from_dense(Y))
    for i, row in enumerate(Y):
        scores = [0.0]
        for _, columns in seeds:
            x = row[list(columns)].sum()
            e = row.sum() * Y[:, list(columns)].sum() / Y.sum()
            scores.append(x * np.log(x / e) - (x - e) if x > e else 0.0)
        a, b = sorted(scores)[-2:]
        assert clear[i] == pytest.approx(b - a, abs=1e-12)
        if b > a:
            assert best[i] == np.argmax(scores) - 1


def test_with_known_labels_of_the_same_clusters():
    rows = np.flatnonzero(TRUE == 0)[:3]
    known = np.full(len(X), "", dtype=object)
    known[rows] = "of class 2"  # wrong, and held
    known[np.flatnonzero(TRUE == 1)[:2]] = "another"
    found = seeded(4, seed_columns=SEEDS).fit(FRAME, known_labels=known)
    assert found.cluster_names_.tolist() == [*SEEDS, "another"]
    assert (found.labels_[rows] == 0).all()
    assert (found.labels_[known == "another"] == 3).all()
    numbers = np.full(len(X), -1)
    numbers[rows] = 0
    held = seeded(3, seed_columns=SEEDS).fit(FRAME, known_labels=numbers)
    assert (held.labels_[rows] == 0).all()
    assert held.cluster_names_.tolist() == list(SEEDS)


REFUSED = [
    ({"a": ["scrum"]}, "seed_columns: 'scrum' is not a column of X"),
    ({"a": ["c0"], "b": ["c1", "c0"]}, "'c0' is in 'a' and in 'b'"),
    ({"a": "c0"}, "'a' needs a list of columns, not 'c0'"),
    ({"a": []}, "'a' needs a list of columns, not []"),
    ([["c0"]], "must be a dict from names of clusters"),
    ({k: [f"c{k}"] for k in range(4)}, "n_clusters=3, but 4 clusters are known"),
]


def test_bad_seed_columns_are_refused():
    for seeds, words in REFUSED:
        with pytest.raises(ValueError, match=re.escape(words)):
            seeded(seed_columns=seeds).fit(FRAME)


def test_columns_without_counts():
    empty = FRAME.assign(none=0)
    with pytest.warns(UserWarning, match="column 10 of 'a' has no counts"):
        seeded(seed_columns={"a": ["none", "c0"]}).fit(empty)
    with (
        pytest.warns(UserWarning, match="has no counts"),
        pytest.raises(ValueError, match="no row has more of the columns of 'a'"),
    ):
        seeded(seed_columns={"a": ["none"]}).fit(empty)
    with pytest.raises(ValueError, match="are two starts"):
        seeded(seed_columns=SEEDS, init=TRUE.clip(0)).fit(FRAME)
