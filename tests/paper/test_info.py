"""CoclustInfo against the mutual information of the dense block table."""

import numpy as np
import pytest
import scipy.sparse as sp
from random_tables import drawn
from sklearn.metrics import adjusted_rand_score, mutual_info_score

from containers import planted
from paper.cocluster import CoclustInfo
from paper.cocluster._base import Table
from paper.cocluster._info import log_ratios, mutual_information, run_info


def run(X, rows, columns, n_clusters=(4, 3), max_iter=100, tol=0.0):
    table = Table.of(sp.csr_array(X.astype(float)))
    return run_info(table, rows, columns, n_clusters, max_iter, tol)


def information(X, rows, columns):
    """Mutual information in loops."""
    total, value = X.sum(), 0.0
    for k in np.unique(rows):
        for h in np.unique(columns):
            share = X[rows == k][:, columns == h].sum() / total
            margins = X[rows == k].sum() * X[:, columns == h].sum() / total**2
            value += share * np.log(share / margins) if share else 0.0
    return value


def test_a_table_by_hand():
    X = np.array([[3, 1], [0, 4]])
    expected = 3 / 8 * np.log(3 / 8 / (4 / 8 * 3 / 8))
    expected += 1 / 8 * np.log(1 / 8 / (4 / 8 * 5 / 8))
    expected += 4 / 8 * np.log(4 / 8 / (4 / 8 * 5 / 8))
    assert mutual_information(X.astype(float)) == pytest.approx(expected)
    model = CoclustInfo(2, random_state=0).fit(X)
    assert model.criterion_ == pytest.approx(expected)


def test_one_sweep_by_hand():
    """Rows move by the table of the start, columns by that of the moved rows."""
    X, rows, columns = drawn(1)
    P, eye = X / X.sum(), np.eye(4)
    W = np.eye(3)[columns]

    def deltas(Z):
        blocks = Z.T @ P @ W
        return np.log(blocks / np.outer(blocks.sum(axis=1), blocks.sum(axis=0)))

    new_rows = (P @ W @ deltas(eye[rows]).T).argmax(axis=1)
    new_columns = (P.T @ eye[new_rows] @ deltas(eye[new_rows])).argmax(axis=1)
    one = run(X, rows, columns, max_iter=1)
    np.testing.assert_array_equal(one.rows, new_rows)
    np.testing.assert_array_equal(one.columns, new_columns)
    assert one.criterion == pytest.approx(information(X, new_rows, new_columns))


@pytest.mark.parametrize("start", range(3))
def test_the_criterion_is_the_information_and_never_falls(start):
    X, rows, columns = drawn(start)
    done = run(X, rows, columns)
    assert done.criterion == pytest.approx(information(X, done.rows, done.columns))
    # The floor of absent blocks allows a little.
    assert np.diff(done.trace).min() >= -1e-4
    cells = np.repeat(np.arange(X.size), X.ravel())
    whole = mutual_info_score(cells // X.shape[1], cells % X.shape[1])
    assert 0.0 <= done.criterion <= min(np.log(3), whole)
    assert len(done.trace) > 2


def test_the_floor_lies_below_every_positive_ratio():
    blocks = np.array([[1e7, 0.0, 1e7], [1.0, 1e7, 1e7]])
    logs = log_ratios(blocks)
    ratio = np.log(1.0 * blocks.sum() / (blocks[1].sum() * blocks[:, 0].sum()))
    assert ratio < np.log(1e-4)
    assert logs[1, 0] == pytest.approx(ratio)
    assert logs[0, 1] == pytest.approx(ratio + np.log(0.01))
    plain = log_ratios(np.array([[2.0, 0.0], [1.0, 1.0]]))
    assert plain[0, 1] == pytest.approx(np.log(1e-4))


def test_an_empty_cluster_stays_unattractive():
    X, rows, columns = drawn(2)
    done = run(X, np.where(rows == 3, 0, rows).astype(np.int32), columns)
    assert set(done.rows) <= {0, 1, 2}


def test_permuted_rows_and_columns_give_permuted_labels(seed):
    X, rows, columns = drawn(seed)
    rng = np.random.default_rng(seed)
    i, j = rng.permutation(len(rows)), rng.permutation(len(columns))
    done, other = run(X, rows, columns), run(X[i][:, j], rows[i], columns[j])
    np.testing.assert_array_equal(done.rows[i], other.rows)
    np.testing.assert_array_equal(done.columns[j], other.columns)
    assert other.criterion == pytest.approx(done.criterion, rel=1e-12)


@pytest.mark.parametrize("factor", [0.37, 1e9])
def test_a_multiple_of_the_table_gives_the_same(factor):
    X, _ = planted(n_rows=15)
    one = CoclustInfo(3, n_init=1, random_state=0).fit(X)
    other = CoclustInfo(3, n_init=1, random_state=0).fit(factor * X)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.column_labels_, other.column_labels_)
    assert other.criterion_ == pytest.approx(one.criterion_, rel=1e-12)


def test_every_run_draws_rows_and_columns_afresh(monkeypatch):
    starts = []

    def spy(table, rows, columns, *rest):
        starts.append((rows.tobytes(), columns.tobytes()))
        return run_info(table, rows, columns, *rest)

    monkeypatch.setattr("paper.cocluster._info.run_info", spy)
    CoclustInfo(3, n_init=5, random_state=0).fit(drawn(0)[0])
    rows, columns = zip(*starts, strict=True)
    assert len(set(rows)) == len(set(columns)) == 5


def test_a_run_stops_where_the_criterion_hardly_changes():
    X, rows, columns = drawn(3)
    long, short = run(X, rows, columns), run(X, rows, columns, tol=0.05)
    assert len(short.trace) < len(long.trace)
    assert short.trace == long.trace[: len(short.trace)]


def test_classic3(load_data):
    X, labels = load_data("classic3")
    model = CoclustInfo(3, random_state=0).fit(X)
    assert adjusted_rand_score(labels, model.labels_) == pytest.approx(0.96, abs=0.015)
