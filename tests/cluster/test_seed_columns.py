"""Clusters that start from columns: in the order of the dict, with its names."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fitting import TRUE, X
from threecpo import CountTable, ThreeCPO, distributed, load
from threecpo._core.matrices import from_dense
from threecpo._fit.starting import seed_evidence

COLUMNS = [f"c{j}" for j in range(10)]
SHARES = np.stack([X[k == TRUE, :6].sum(axis=0) for k in range(3)])
SHARES = SHARES / SHARES.sum(axis=1, keepdims=True)
# Of each class the column that it has most of, against the others; in reverse order.
MARKS = [int(np.argmax(SHARES[k] / SHARES.sum(axis=0))) for k in range(3)]
SEEDS = {f"of class {k}": [f"c{MARKS[k]}"] for k in (2, 1, 0)}
FRAME = pd.DataFrame(X, columns=COLUMNS)


def model(n_clusters=3, **options):
    return ThreeCPO(n_clusters, **{"random_state": 0, "n_init": 3} | options)


def test_clusters_are_those_of_the_columns():
    assert len(set(MARKS)) == 3
    found = model(seed_columns=SEEDS).fit(FRAME)
    assert found.cluster_names_.tolist() == list(SEEDS)
    inside = TRUE >= 0
    assert (found.labels_[inside] == 2 - TRUE[inside]).mean() > 0.9
    np.testing.assert_array_equal(found.predict(FRAME), found.labels_)
    other_order = dict(reversed(SEEDS.items()))
    again = model(seed_columns=other_order).fit(FRAME)
    assert again.cluster_names_.tolist() == list(other_order)
    assert (again.labels_[inside] == TRUE[inside]).mean() > 0.9


def test_the_others_are_free():
    first = dict(list(SEEDS.items())[:1])
    found = model(3, seed_columns=first).fit(FRAME)
    assert found.cluster_names_[0] == "of class 2"
    assert (found.labels_[TRUE == 2] == 0).mean() > 0.9
    free = np.bincount(found.labels_)[1:]
    assert (np.diff(free) <= 0).all()


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
    _, clear = seed_evidence(every, Y.sum(axis=0), 0, from_dense(Y * 1.0))
    assert np.isin(astray, np.argsort(-clear)[:12]).all()
    found = model(2, seed_columns=seeds).fit(Y)
    np.testing.assert_array_equal(found.labels_, kinds)
    assert (found.margins_ >= 0).all()
    readers = [lambda i=i: Y[i : i + 50] for i in range(0, len(Y), 50)]
    over = distributed.fit(model(2, seed_columns=seeds), readers)
    np.testing.assert_array_equal(over.labels_, kinds)


def test_by_number_in_arrays_and_tables():
    expected = model(seed_columns=SEEDS).fit(FRAME).labels_
    by_number = {name: [int(column[1:])] for name, (column,) in SEEDS.items()}
    for given in (X, sp.csr_array(X)):
        found = model(seed_columns=by_number).fit(given)
        np.testing.assert_array_equal(found.labels_, expected)
    table = CountTable(X, column_names=COLUMNS)
    np.testing.assert_array_equal(
        model(seed_columns=SEEDS).fit(table).labels_, expected
    )


def test_evidence_against_plain_formulas():
    Y = np.random.default_rng(0).poisson(3.0, size=(30, 6)).astype(float)
    Y[3] = 0
    seeds = (("a", (0, 2)), ("b", (5,)))
    best, clear = seed_evidence(seeds, Y.sum(axis=0), 0, from_dense(Y))
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
    found = model(4, seed_columns=SEEDS).fit(FRAME, known_labels=known)
    assert found.cluster_names_.tolist() == [*SEEDS, "another"]
    assert (found.labels_[rows] == 0).all()
    assert (found.labels_[known == "another"] == 3).all()
    numbers = np.full(len(X), -1)
    numbers[rows] = 0
    held = model(3, seed_columns=SEEDS).fit(FRAME, known_labels=numbers)
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
            model(seed_columns=seeds).fit(FRAME)


def test_columns_without_counts():
    empty = FRAME.assign(none=0)
    with pytest.warns(UserWarning, match="column 10 of 'a' has no counts"):
        model(seed_columns={"a": ["none", "c0"]}).fit(empty)
    with (
        pytest.warns(UserWarning, match="has no counts"),
        pytest.raises(ValueError, match="no row has more of the columns of 'a'"),
    ):
        model(seed_columns={"a": ["none"]}).fit(empty)
    with pytest.raises(ValueError, match="are two starts"):
        model(seed_columns=SEEDS, init=TRUE.clip(0)).fit(FRAME)


def test_paths_begin_with_them_and_files_keep_them(tmp_path):
    found = model("auto", max_clusters=4, seed_columns=SEEDS).fit(FRAME)
    assert found.k_path_.n_clusters.tolist() == [3, 4]
    found.save(tmp_path / "model.npz")
    loaded = load(tmp_path / "model.npz")
    assert loaded.seed_columns == SEEDS
    assert loaded.cluster_names_.tolist() == found.cluster_names_.tolist()
    assert len(loaded.cut(2).cluster_names_) == 2
    assert loaded.split(FRAME, 0).n_clusters_ == found.n_clusters_ + 1
