"""CoclustMod against modularity by the dense formula."""

import numpy as np
import pytest
import scipy.sparse as sp
from random_tables import drawn
from sklearn.metrics import adjusted_rand_score

from paper.cocluster import CoclustMod
from paper.cocluster._base import Table
from paper.cocluster._mod import run_mod


def run(X, columns, max_iter=100, tol=0.0):
    return run_mod(Table.of(sp.csr_array(X.astype(float))), columns, 4, max_iter, tol)


def excess(X):
    return X - np.outer(X.sum(axis=1), X.sum(axis=0)) / X.sum()


def modularity(X, rows, columns):
    return excess(X)[rows[:, None] == columns].sum() / X.sum()


def test_a_table_by_hand():
    X = np.array([[3, 1], [0, 4]])
    model = CoclustMod(2, random_state=0).fit(X)
    assert model.criterion_ == pytest.approx((3 + 4) / 8 - (4 * 3 + 4 * 5) / 64)
    np.testing.assert_array_equal(model.row_labels_, model.column_labels_)
    assert model.labels_[0] != model.labels_[1]


def test_one_sweep_by_hand():
    X, _, columns = drawn(1, n_clusters=(4, 4))
    B, eye = excess(X), np.eye(4)
    rows = (B @ eye[columns]).argmax(axis=1)
    one = run(X, columns, max_iter=1)
    np.testing.assert_array_equal(one.rows, rows)
    np.testing.assert_array_equal(one.columns, (B.T @ eye[rows]).argmax(axis=1))
    assert one.criterion == pytest.approx(modularity(X, one.rows, one.columns))


@pytest.mark.parametrize("start", range(3))
def test_the_criterion_is_the_modularity_and_never_falls(start):
    X, _, columns = drawn(start, n_clusters=(4, 4))
    done = run(X, columns)
    assert done.criterion == pytest.approx(modularity(X, done.rows, done.columns))
    assert np.diff(done.trace).min() >= -1e-12
    assert -1.0 <= done.criterion <= 1.0
    assert len(done.trace) > 2


def test_one_cluster_has_modularity_0():
    X, _, _ = drawn(0)
    model = CoclustMod(1, random_state=0).fit(X)
    assert model.criterion_ == pytest.approx(0.0, abs=1e-12)


def test_permuted_rows_and_columns_give_permuted_labels(seed):
    X, _, columns = drawn(seed, n_clusters=(4, 4))
    rng = np.random.default_rng(seed)
    i, j = rng.permutation(len(X)), rng.permutation(len(columns))
    done, other = run(X, columns), run(X[i][:, j], columns[j])
    np.testing.assert_array_equal(done.rows[i], other.rows)
    np.testing.assert_array_equal(done.columns[j], other.columns)


def test_classic3(load_data):
    X, labels = load_data("classic3")
    model = CoclustMod(3, random_state=0).fit(X)
    assert adjusted_rand_score(labels, model.labels_) == pytest.approx(0.95, abs=0.015)
