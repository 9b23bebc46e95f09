"""TauCC against Goodman and Kruskal's tau of the dense block table."""

import numpy as np
import pytest
import scipy.sparse as sp
from random_tables import drawn
from sklearn.metrics import adjusted_rand_score

from paper.cocluster import TauCC, _taucc
from paper.cocluster._base import Table, renumber
from paper.cocluster._taucc import (
    merged_sums,
    nearest,
    phase,
    reassign,
    run_taucc,
    start_labels,
    tau,
)


def started(seed):
    X, rows, columns = drawn(seed, n_clusters=(12, 10))
    return X, renumber(rows), renumber(columns)


def table(X):
    return Table.of(sp.csr_array(X.astype(float)))


def delta(X, rows, columns):
    """What row moves raise, in loops."""
    P, value = X / X.sum(), 0.0
    for k in np.unique(rows):
        for h in np.unique(columns):
            block = P[rows == k][:, columns == h].sum()
            value += block**2 / P[:, columns == h].sum()
        value -= P[rows == k].sum() ** 2
    return value


def dense_tau(X, rows, columns):
    shares = np.array([X[rows == k].sum() for k in np.unique(rows)]) / X.sum()
    return delta(X, rows, columns) / (1 - (shares**2).sum())


def test_a_table_by_hand():
    X = np.array([[3, 1], [0, 4]])
    labels = np.array([0, 1], dtype=np.int32)
    explained = (3 / 8) ** 2 / (3 / 8) + ((1 / 8) ** 2 + (4 / 8) ** 2) / (5 / 8)
    expected = (explained - 2 * 0.5**2) / (1 - 2 * 0.5**2)
    assert tau(X.astype(float), labels) == pytest.approx(expected)
    assert tau(sp.csr_array(X.astype(float)), labels) == pytest.approx(expected)
    assert tau(X.astype(float), np.zeros(2, dtype=np.int32)) == 0.0


def test_similarity_by_hand():
    X, rows, columns = drawn(1)
    P = X / X.sum()
    W, Z = np.eye(3)[columns], np.eye(4)[rows]
    A, T = P @ W, Z.T @ P @ W
    similar = A @ (T / T.sum(axis=0)).T - np.outer(P.sum(axis=1), T.sum(axis=1))
    sums = merged_sums(table(X).by_row, columns)
    labels, highest = nearest(sums, Z.T @ sums)
    np.testing.assert_array_equal(labels, similar.argmax(axis=1))
    np.testing.assert_allclose(highest, similar.max(axis=1) * X.sum(), atol=1e-12)
    np.testing.assert_array_equal(reassign(sums, rows), labels)
    own = similar[np.arange(len(rows)), rows].sum()
    assert own == pytest.approx(delta(X, rows, columns))


@pytest.mark.parametrize("start", range(3))
def test_a_pass_never_lowers_delta(start):
    X, rows, columns = started(start)
    sums = merged_sums(table(X).by_row, columns)
    values = [delta(X, rows, columns)]
    for _ in range(6):
        rows = renumber(reassign(sums, rows))
        values.append(delta(X, rows, columns))
    assert np.diff(values).min() >= -1e-12
    assert values[-1] > values[0]


def test_a_phase_ends_where_nothing_moves():
    X, rows, columns = started(2)
    sums = merged_sums(table(X).by_row, columns)
    moved, passes = phase(sums, rows)
    assert passes > 1
    again, once = phase(sums, moved)
    np.testing.assert_array_equal(again, moved)
    assert once == 1
    np.testing.assert_array_equal(np.unique(moved), np.arange(moved.max() + 1))
    assert moved.max() < 11


@pytest.mark.parametrize("start", range(3))
def test_the_result_is_a_fixed_point_with_its_tau(start):
    X, rows, columns = started(start)
    done = run_taucc(table(X), rows, columns, 500)
    assert phase(merged_sums(table(X).by_row, done.columns), done.rows)[1] == 1
    assert phase(merged_sums(table(X).by_column, done.rows), done.columns)[1] == 1
    expected = dense_tau(X, done.rows, done.columns)
    expected += dense_tau(X.T, done.columns, done.rows)
    assert done.criterion == pytest.approx(expected)


def test_rounds_go_on_while_only_columns_move():
    X, rows, columns = started(3)
    rows, _ = phase(merged_sums(table(X).by_row, columns), rows)
    done = run_taucc(table(X), rows, columns, 500)
    assert len(done.trace) > 1
    assert phase(merged_sums(table(X).by_row, done.columns), done.rows)[1] == 1


def test_the_start_by_hand():
    X, _, _ = drawn(4)
    labels = start_labels(sp.csr_array(X.astype(float)), 5, np.random.default_rng(0))
    chosen = np.random.default_rng(0).choice(len(X), 5, replace=False)
    P = X / X.sum()
    p = P.sum(axis=1)
    similar = P @ (P[chosen] / P.sum(axis=0)).T - np.outer(p, p[chosen])
    expected = similar.argmax(axis=1)
    alone = similar.max(axis=1) <= 0
    assert 0 < alone.sum() < len(X)
    expected[alone] = 5 + np.arange(alone.sum())
    np.testing.assert_array_equal(labels, np.unique(expected, return_inverse=True)[1])


@pytest.mark.parametrize("init", ["prototypes", "random"])
def test_sparse_sums_and_small_blocks_give_the_same(monkeypatch, init):
    X, _, _ = drawn(5, shape=(80, 60))
    model = TauCC(init=init, random_state=0).fit(X)
    monkeypatch.setattr(_taucc, "DENSE_SIZE", 0)
    monkeypatch.setattr(_taucc, "BLOCK_SIZE", 100)
    other = TauCC(init=init, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, other.labels_)
    np.testing.assert_array_equal(model.column_labels_, other.column_labels_)
    assert other.criterion_ == pytest.approx(model.criterion_)


def test_permuted_rows_and_columns_give_permuted_labels(seed):
    X, rows, columns = started(seed)
    rng = np.random.default_rng(seed)
    i, j = rng.permutation(len(rows)), rng.permutation(len(columns))
    done = run_taucc(table(X), rows, columns, 500)
    other = run_taucc(table(X[i][:, j]), rows[i], columns[j], 500)
    np.testing.assert_array_equal(done.rows[i], other.rows)
    np.testing.assert_array_equal(done.columns[j], other.columns)


def test_a_zero_row_does_not_join_everything():
    X = np.kron(np.eye(3, dtype=int), np.full((8, 5), 4)) + 1
    X = np.vstack([np.zeros(15, dtype=int), X])
    for init in ("prototypes", "random"):
        assert TauCC(init=init, random_state=0).fit(X).n_clusters_ > 1


def test_the_number_to_start_with_bounds_the_clusters():
    X, _, _ = drawn(6, shape=(80, 60))
    assert TauCC(init="random", n_start=2, random_state=0).fit(X).n_clusters_ == 2
    assert TauCC(init="random", n_start=20, random_state=0).fit(X).n_clusters_ > 2


def test_classic3(load_data):
    X, labels = load_data("classic3")
    model = TauCC(random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(labels, model.labels_) == pytest.approx(0.95, abs=0.015)
