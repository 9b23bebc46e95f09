"""Each co-clustering method against its dense formulas."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import xlogy
from sklearn.metrics import adjusted_rand_score, mutual_info_score

from containers import planted
from paper.cocluster import (
    ELBM,
    SELBM,
    CoclustInfo,
    CoclustMod,
    CoclustSpecMod,
    TauCC,
    _taucc,
)
from paper.cocluster._base import Table, renumber
from paper.cocluster._elbm import Likelihood, equal_draws, run_elbm
from paper.cocluster._info import log_ratios, run_info
from paper.cocluster._mod import rows_by_modularity, run_mod
from paper.cocluster._selbm import Diagonal, run_selbm
from paper.cocluster._specmod import embed, leading_vectors
from paper.cocluster._taucc import (
    merged_sums,
    nearest,
    phase,
    reassign,
    run_taucc,
    start_labels,
    tau,
)


def drawn(seed, shape=(50, 30), n_clusters=(4, 3), rate=0.4):
    """A random table without empty rows or columns, and a random start."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rate, size=shape)
    X[:, 0] += 1
    X[0] += 1
    rows, columns = (
        rng.integers(k, size=n, dtype=np.int32)
        for k, n in zip(n_clusters, shape, strict=True)
    )
    return X, rows, columns


def square(seed):
    return drawn(seed, n_clusters=(4, 4))


def blocky(seed, n_clusters=(4, 3)):
    """A table with weak blocks, and a start near them that leaves no cluster empty."""
    rng = np.random.default_rng(seed)
    rows, columns = (
        (np.arange(n) % k).astype(np.int32)
        for n, k in zip((50, 30), n_clusters, strict=True)
    )
    X = rng.poisson(np.where(rows[:, None] == columns, 4.0, 1.0))
    for labels, k in zip((rows, columns), n_clusters, strict=True):
        labels[::4] = rng.integers(k, size=len(labels[::4]))
    return X, rows, columns


def table(X):
    return Table.of(sp.csr_array(X.astype(float)))


def dense(X, variant):
    """Values and weights of every cell."""
    weights = np.outer(X.sum(axis=1), X.sum(axis=0))
    return (X, weights / X.sum()) if variant == "model" else (X * weights, weights)


def log_shares(labels, n_clusters, epsilon=0.0):
    sizes = np.bincount(labels, minlength=n_clusters)
    return np.log(sizes / len(labels) + epsilon)


def entropy_term(labels):
    sizes = np.bincount(labels)
    return xlogy(sizes, sizes / len(labels)).sum()


def elbm_run(X, rows, columns, variant, max_iter=100, n_clusters=(4, 3)):
    likelihood = Likelihood.of(table(X), variant)
    return run_elbm(likelihood, rows, columns, n_clusters, max_iter, 0.0)


def elbm_rates(X, rows, columns, variant):
    Y, weights = dense(X, variant)
    Z, W = np.eye(4)[rows], np.eye(3)[columns]
    epsilon = X.sum() ** -2.0 if variant == "code" else 0.0
    return Z.T @ Y @ W / (Z.T @ weights @ W) + epsilon


def elbm_likelihood(X, rows, columns, variant):
    """Over cells, one by one, for clusters that all have members."""
    Y, weights = dense(X, variant)
    alpha = elbm_rates(X, rows, columns, variant)[np.ix_(rows, columns)]
    value = (xlogy(Y, alpha) - weights * alpha).sum()
    return value + entropy_term(rows) + entropy_term(columns)


@pytest.mark.parametrize("variant", ["model", "code"])
@pytest.mark.parametrize("start", range(3))
def test_one_sweep_of_elbm_by_hand(variant, start):
    X, rows, columns = blocky(start)
    Y, weights = dense(X, variant)
    epsilon = X.sum() ** -2.0 if variant == "code" else 0.0
    W = np.eye(3)[columns]
    alpha = elbm_rates(X, rows, columns, variant)
    scores = Y @ W @ np.log(alpha).T - weights @ W @ alpha.T
    new_rows = (scores + log_shares(rows, 4, epsilon)).argmax(axis=1)
    Z, alpha = np.eye(4)[new_rows], elbm_rates(X, new_rows, columns, variant)
    scores = Y.T @ Z @ np.log(alpha) - weights.T @ Z @ alpha
    new_columns = (scores + log_shares(columns, 3, epsilon)).argmax(axis=1)
    one = elbm_run(X, rows, columns, variant, max_iter=1)
    np.testing.assert_array_equal(one.rows, new_rows)
    np.testing.assert_array_equal(one.columns, new_columns)
    assert one.criterion == pytest.approx(
        elbm_likelihood(X, new_rows, new_columns, variant), rel=1e-6
    )


def test_the_model_is_information_plus_shares():
    """With exact margins the linear term is constant."""
    X, rows, columns = blocky(1)
    done = elbm_run(X, rows, columns, "model", max_iter=1)
    table = np.eye(4)[done.rows].T @ X @ np.eye(3)[done.columns] / X.sum()
    margins = np.outer(table.sum(axis=1), table.sum(axis=0))
    shares = entropy_term(done.rows) + entropy_term(done.columns)
    kept = X.sum() * (xlogy(table, table / margins).sum() - 1)
    assert done.criterion == pytest.approx(kept + shares, rel=1e-6)


def test_empty_clusters_of_the_model_stay_empty():
    X, rows, columns = drawn(2)
    done = elbm_run(X, np.where(rows == 3, 0, rows).astype(np.int32), columns, "model")
    assert set(done.rows) <= {0, 1, 2}


def test_only_the_code_gives_empty_clusters_a_share():
    table = Table.of(sp.csr_array(np.ones((4, 2))))
    rows = np.array([0, 0, 0, 2], dtype=np.int32)
    shares = Likelihood.of(table, "model").log_shares(rows, 3)
    np.testing.assert_allclose(shares, [np.log(0.75), -np.inf, np.log(0.25)])
    shares = Likelihood.of(table, "code").log_shares(rows, 3)
    np.testing.assert_allclose(shares, np.log([0.75 + 1 / 64, 1 / 64, 0.25 + 1 / 64]))


def test_empty_clusters_of_the_code_score_only_a_logarithm():
    """Where all other scores lie below, everything jumps into the empty cluster."""
    X = np.eye(6, dtype=int)
    rows = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    columns = np.array([0, 1, 2, 0, 1, 2], dtype=np.int32)
    done = elbm_run(X, rows, columns, "code", max_iter=1)
    # Y = X; rate 1/4 + 1/36 inside a touched block, 1/36 elsewhere.
    touched, absent = 1 / 4 + 1 / 36, 1 / 36
    inside = np.log(touched) - 2 * (2 * touched + absent) + np.log(1 / 3 + 1 / 36)
    assert inside > np.log(1 / 36)
    assert 3 not in done.rows
    scores = {}
    for weight in (1, 40):
        table = Table.of(sp.csr_array(weight * X.astype(float)))
        likelihood = Likelihood.of(table, "code")
        blocks, weights = np.zeros((4, 3)), np.zeros((4, 3))
        blocks[0, 0], weights[0, 0] = 2.0, 4.0
        scores[weight] = likelihood.rates(blocks, weights)
        assert likelihood.epsilon == (6 * weight) ** -2.0
    values, logs = scores[40]
    assert values[0, 0] == 0.5 + 240**-2.0
    assert logs[0, 0] == np.log(values[0, 0])
    assert not values[1:].any()
    assert not logs[1:].any()


def test_the_code_starts_rows_and_columns_alike():
    table = Table.of(sp.csr_array(np.ones((7, 5))))
    rows, columns = equal_draws(np.random.default_rng(0), table, (3, 3))
    np.testing.assert_array_equal(rows[:5], columns)
    assert set(rows) <= {0, 1, 2}
    assert len(rows) == 7


def test_only_the_code_starts_so(monkeypatch):
    starts = {}

    def spy(likelihood, rows, columns, *rest):
        starts[variant] = rows, columns
        return run_elbm(likelihood, rows, columns, *rest)

    monkeypatch.setattr("paper.cocluster._elbm.run_elbm", spy)
    for variant in ("model", "code"):
        ELBM(3, variant=variant, n_init=1, random_state=0).fit(drawn(0)[0])
    agree = {
        name: (rows[:30] == columns).mean() for name, (rows, columns) in starts.items()
    }
    assert agree["code"] == 1.0 > agree["model"]


def test_the_variants_differ():
    X, _, _ = drawn(4)
    fits = [ELBM(3, variant=v, random_state=0).fit(X) for v in ("model", "code")]
    assert adjusted_rand_score(*(model.labels_ for model in fits)) < 0.9
    assert abs(fits[1].criterion_) > 100 * abs(fits[0].criterion_)


def selbm_run(X, rows, columns, variant, max_iter=100):
    likelihood = Likelihood.of(table(X), variant)
    return run_selbm(likelihood, rows, columns, 4, max_iter, 0.0)


def selbm_rates(X, rows, columns, variant):
    """Rate of each diagonal block, and of the rest, from sums over cells."""
    Y, weights = dense(X, variant)
    inside = rows[:, None] == columns
    own = np.zeros(4)
    for k in range(4):
        block = np.outer(rows == k, columns == k)
        own[k] = Y[block].sum() / weights[block].sum() if block.any() else np.nan
    background = Y[~inside].sum() / weights[~inside].sum()
    return own + (0.2 if variant == "code" else 0.0), background


def selbm_likelihood(X, rows, columns, variant):
    Y, weights = dense(X, variant)
    own, background = selbm_rates(X, rows, columns, variant)
    inside = rows[:, None] == columns
    alpha = np.where(inside, own[rows][:, None], background)
    value = (Y * np.log(alpha) - weights * alpha).sum()
    return value + entropy_term(rows) + entropy_term(columns)


@pytest.mark.parametrize("variant", ["model", "code"])
@pytest.mark.parametrize("start", range(3))
def test_one_sweep_of_selbm_by_hand(variant, start):
    X, rows, columns = blocky(start, n_clusters=(4, 4))
    Y, weights = dense(X, variant)
    epsilon = X.sum() ** -2.0 if variant == "code" else 0.0
    Z, W = np.eye(4)[rows], np.eye(4)[columns]
    own, background = selbm_rates(X, rows, columns, variant)
    scores = np.log(own / background) * (Y @ W) - (own - background) * (weights @ W)
    new_rows = (scores + log_shares(rows, 4, epsilon)).argmax(axis=1)
    Z = np.eye(4)[new_rows]
    own, background = selbm_rates(X, new_rows, columns, variant)
    scores = np.log(own / background) * (Y.T @ Z) - (own - background) * (weights.T @ Z)
    new_columns = (scores + log_shares(columns, 4, epsilon)).argmax(axis=1)
    one = selbm_run(X, rows, columns, variant, max_iter=1)
    np.testing.assert_array_equal(one.rows, new_rows)
    np.testing.assert_array_equal(one.columns, new_columns)
    expected = selbm_likelihood(X, one.rows, one.columns, variant)
    assert one.criterion == pytest.approx(expected, rel=1e-6)


def test_rates_of_selbm_by_hand():
    values, weights = np.array([6.0, 2.0, 0.0]), np.array([3.0, 4.0, 0.0])
    own, background = Diagonal(values, weights, (20.0, 15.0), 0.0).rates()
    np.testing.assert_allclose(own, [2.0, 0.5, 1.0], rtol=1e-7)
    assert background == pytest.approx(12 / 8)
    own, background = Diagonal(values, weights, (20.0, 15.0), 1e-6).rates()
    np.testing.assert_allclose(own, [2.200001, 0.700001, 0.200001], rtol=1e-12)
    assert background == pytest.approx(1.500001, rel=1e-12)


def test_a_contrast_of_0_is_replaced_in_the_code():
    # 0.5 + 0.2 over 0.7 is 1, whose logarithm is 0.
    diagonal = Diagonal(
        np.array([4.0, 1.0]), np.array([2.0, 2.0]), (12.0, 14.0), epsilon=1e-300
    )
    own, background = diagonal.rates()
    assert own[1] == background == 0.7
    logs, differences = diagonal.contrasts()
    assert logs[1] == 1e-8 * logs[0] > 0
    assert differences[1] == 0


def test_the_model_starts_with_rows_by_modularity(monkeypatch):
    X, _, _ = drawn(3)
    starts = {}

    def spy(likelihood, rows, columns, *rest):
        starts[variant] = rows, columns
        return run_selbm(likelihood, rows, columns, *rest)

    monkeypatch.setattr("paper.cocluster._selbm.run_selbm", spy)
    for variant in ("model", "code"):
        SELBM(4, variant=variant, n_init=1, random_state=0).fit(X)
    rows, columns = starts["model"]
    excess = X - np.outer(X.sum(axis=1), X.sum(axis=0)) / X.sum()
    np.testing.assert_array_equal(rows, (excess @ np.eye(4)[columns]).argmax(axis=1))
    rows, columns = starts["code"]
    np.testing.assert_array_equal(rows[: len(columns)], columns)


def info_run(X, rows, columns, n_clusters=(4, 3), max_iter=100, tol=0.0):
    return run_info(table(X), rows, columns, n_clusters, max_iter, tol)


def information(X, rows, columns):
    """Mutual information in loops."""
    total, value = X.sum(), 0.0
    for k in np.unique(rows):
        for h in np.unique(columns):
            share = X[rows == k][:, columns == h].sum() / total
            margins = X[rows == k].sum() * X[:, columns == h].sum() / total**2
            value += share * np.log(share / margins) if share else 0.0
    return value


def test_one_sweep_of_info_by_hand():
    """Rows move by the table of the start, columns by that of the moved rows."""
    X, rows, columns = drawn(1)
    P, eye = X / X.sum(), np.eye(4)
    W = np.eye(3)[columns]

    def deltas(Z):
        blocks = Z.T @ P @ W
        return np.log(blocks / np.outer(blocks.sum(axis=1), blocks.sum(axis=0)))

    new_rows = (P @ W @ deltas(eye[rows]).T).argmax(axis=1)
    new_columns = (P.T @ eye[new_rows] @ deltas(eye[new_rows])).argmax(axis=1)
    one = info_run(X, rows, columns, max_iter=1)
    np.testing.assert_array_equal(one.rows, new_rows)
    np.testing.assert_array_equal(one.columns, new_columns)
    assert one.criterion == pytest.approx(information(X, new_rows, new_columns))


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
    done = info_run(X, np.where(rows == 3, 0, rows).astype(np.int32), columns)
    assert set(done.rows) <= {0, 1, 2}


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
    long, short = info_run(X, rows, columns), info_run(X, rows, columns, tol=0.05)
    assert len(short.trace) < len(long.trace)
    assert short.trace == long.trace[: len(short.trace)]


def mod_run(X, columns, max_iter=100, tol=0.0):
    return run_mod(table(X), columns, 4, max_iter, tol)


def excess(X):
    return X - np.outer(X.sum(axis=1), X.sum(axis=0)) / X.sum()


def modularity(X, rows, columns):
    return excess(X)[rows[:, None] == columns].sum() / X.sum()


def test_one_sweep_of_mod_by_hand():
    X, _, columns = square(1)
    B, eye = excess(X), np.eye(4)
    rows = (B @ eye[columns]).argmax(axis=1)
    one = mod_run(X, columns, max_iter=1)
    np.testing.assert_array_equal(one.rows, rows)
    np.testing.assert_array_equal(one.columns, (B.T @ eye[rows]).argmax(axis=1))
    assert one.criterion == pytest.approx(modularity(X, one.rows, one.columns))


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


def test_a_table_of_specmod_by_hand():
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


def started(seed):
    X, rows, columns = drawn(seed, n_clusters=(12, 10))
    return X, renumber(rows), renumber(columns)


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


def test_a_table_of_taucc_by_hand():
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


def test_a_zero_row_does_not_join_everything():
    X = np.kron(np.eye(3, dtype=int), np.full((8, 5), 4)) + 1
    X = np.vstack([np.zeros(15, dtype=int), X])
    for init in ("prototypes", "random"):
        assert TauCC(init=init, random_state=0).fit(X).n_clusters_ > 1


def test_the_number_to_start_with_bounds_the_clusters():
    X, _, _ = drawn(6, shape=(80, 60))
    assert TauCC(init="random", n_start=2, random_state=0).fit(X).n_clusters_ == 2
    assert TauCC(init="random", n_start=20, random_state=0).fit(X).n_clusters_ > 2


def started_by_modularity(seed):
    X, _, columns = square(seed)
    return X, rows_by_modularity(table(X), columns, 4), columns


# A start, a run from there, and what its criterion is.
RUNS = {
    "CoclustInfo": (drawn, info_run, information),
    "CoclustMod": (square, lambda X, _, columns: mod_run(X, columns), modularity),
    "ELBM": (
        drawn,
        partial(elbm_run, variant="model"),
        partial(elbm_likelihood, variant="model"),
    ),
    "SELBM": (
        started_by_modularity,
        partial(selbm_run, variant="model"),
        partial(selbm_likelihood, variant="model"),
    ),
    "ELBM code": (drawn, partial(elbm_run, variant="code"), None),
    "SELBM code": (square, partial(selbm_run, variant="code"), None),
    "TauCC": (started, lambda X, *labels: run_taucc(table(X), *labels, 500), None),
}
# Floors of absent blocks allow a little.
SLACK = {"CoclustInfo": 1e-4, "CoclustMod": 1e-12}


@pytest.mark.parametrize("name", list(RUNS)[:4])
@pytest.mark.parametrize("seed", range(3))
def test_the_criterion_is_that_of_the_formula_and_never_falls(name, seed):
    start, run, criterion = RUNS[name]
    X, rows, columns = start(seed)
    done = run(X, rows, columns)
    assert len(done.trace) > 2
    assert np.diff(done.trace).min() >= -SLACK.get(name, 1e-5)
    # The dense formula of ELBM is for clusters that all have members.
    if name != "ELBM" or (len({*done.rows}), len({*done.columns})) == (4, 3):
        expected = criterion(X, done.rows, done.columns)
        assert done.criterion == pytest.approx(expected, rel=1e-6)
    if name == "CoclustMod":
        assert -1.0 <= done.criterion <= 1.0
    if name == "CoclustInfo":
        cells = np.repeat(np.arange(X.size), X.ravel())
        whole = mutual_info_score(cells // X.shape[1], cells % X.shape[1])
        assert 0.0 <= done.criterion <= min(np.log(3), whole)


@pytest.mark.parametrize("name", RUNS)
def test_permuted_rows_and_columns_give_permuted_labels(name, seed):
    start, run, _ = RUNS[name]
    X, rows, columns = start(seed)
    rng = np.random.default_rng(seed)
    i, j = rng.permutation(len(rows)), rng.permutation(len(columns))
    done, other = run(X, rows, columns), run(X[i][:, j], rows[i], columns[j])
    np.testing.assert_array_equal(done.rows[i], other.rows)
    np.testing.assert_array_equal(done.columns[j], other.columns)
    assert other.criterion == pytest.approx(done.criterion, rel=1e-9)


@pytest.mark.parametrize(
    ("model", "ari"),
    [
        (CoclustInfo(3), 0.96),
        (CoclustMod(3), 0.95),
        (CoclustSpecMod(3), 0.935),
        (ELBM(3), 0.96),
        (SELBM(3), 0.95),
        (TauCC(3), 0.95),
        pytest.param(SELBM(3, variant="code"), 0.227, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_classic3(model, ari, load_data):
    X, labels = load_data("classic3")
    found = model.set_params(random_state=0).fit_predict(X)
    assert len(np.unique(found)) == 3
    assert adjusted_rand_score(labels, found) == pytest.approx(ari, abs=0.015)
