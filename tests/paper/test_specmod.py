"""CoclustSpecMod against a dense singular value decomposition."""

import numpy as np
import pytest
import scipy.sparse as sp
from random_tables import drawn
from sklearn.metrics import adjusted_rand_score

from paper.cocluster import CoclustSpecMod
from paper.cocluster._base import Table
from paper.cocluster._specmod import embed, leading_vectors


def table(X):
    return Table.of(sp.csr_array(X.astype(float)))


@pytest.mark.parametrize("n_vectors", [1, 3, 30])
@pytest.mark.parametrize("transposed", [False, True])
def test_points_are_those_of_the_dense_decomposition(n_vectors, transposed):
    X = drawn(0)[0].T if transposed else drawn(0)[0]
    a, b = (X.sum(axis=axis) ** -0.5 for axis in (1, 0))
    U, values, Vt = np.linalg.svd(a[:, None] * X * b, full_matrices=False)
    assert values[0] == pytest.approx(1.0)
    parts = [a[:, None] * U[:, :n_vectors], b[:, None] * Vt[:n_vectors].T]
    expected = np.vstack([part / np.linalg.norm(part, axis=0) for part in parts])
    points = embed(table(X), n_vectors, np.random.default_rng(0))
    # Distances do not depend on the order and the signs of the vectors.
    np.testing.assert_allclose(
        points @ points.T, expected @ expected.T, rtol=0, atol=1e-10
    )
    first = points[: len(X), np.argmax(abs(points.sum(axis=0)))]
    np.testing.assert_allclose(first, first[0], atol=1e-10)


def test_a_table_by_hand():
    """Two blocks apart: a row and a column of one block point the same way."""
    X = np.array([[2, 2, 0], [2, 2, 0], [0, 0, 4]])
    points = embed(table(X), 2, np.random.default_rng(0))
    near = abs(points[:, None] - points).max(axis=2) < 1e-8
    block = np.array([0, 0, 1, 0, 0, 1])
    np.testing.assert_array_equal(near, block[:, None] == block)
    model = CoclustSpecMod(2, random_state=0).fit(X)
    assert model.criterion_ == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_array_equal(model.row_labels_, model.column_labels_)


def test_signs_of_left_and_right_vectors_belong_together():
    X = sp.csr_array(drawn(1)[0].astype(float))
    left, right = leading_vectors(X, 3, np.random.default_rng(0))
    np.testing.assert_allclose(X @ right, left * np.diag(left.T @ X @ right), atol=1e-9)
    assert (np.diag(left.T @ X @ right) > 0).all()


def test_a_table_of_low_rank_gives_the_same_bits_again():
    """svds of scipy 1.17 draws random numbers of its own here."""
    X = np.kron(np.eye(3), np.ones((40, 30)))
    points = [embed(table(X), 5, np.random.default_rng(7)) for _ in range(3)]
    np.testing.assert_array_equal(points[0], points[1])
    np.testing.assert_array_equal(points[0], points[2])


def test_permuted_rows_and_columns_give_permuted_points():
    X, _, _ = drawn(2)
    rng = np.random.default_rng(2)
    i, j = rng.permutation(X.shape[0]), rng.permutation(X.shape[1])
    points = embed(table(X), 3, np.random.default_rng(0))
    other = embed(table(X[i][:, j]), 3, np.random.default_rng(0))
    order = np.concatenate([i, len(i) + j])
    np.testing.assert_allclose(
        (points @ points.T)[np.ix_(order, order)], other @ other.T, atol=1e-9
    )


def test_classic3(load_data):
    X, labels = load_data("classic3")
    model = CoclustSpecMod(3, random_state=0).fit(X)
    assert adjusted_rand_score(labels, model.labels_) > 0.92
