"""ELBM against the dense complete-data log-likelihood, in both variants."""

import numpy as np
import pytest
import scipy.sparse as sp
from random_tables import blocky, dense, drawn, entropy_term, log_shares
from scipy.special import xlogy
from sklearn.metrics import adjusted_rand_score

from paper.cocluster import ELBM, CoclustInfo
from paper.cocluster._base import Table
from paper.cocluster._elbm import Likelihood, equal_draws, run_elbm


def run(X, rows, columns, variant, max_iter=100, n_clusters=(4, 3)):
    table = Table.of(sp.csr_array(X.astype(float)))
    likelihood = Likelihood.of(table, variant)
    return run_elbm(likelihood, rows, columns, n_clusters, max_iter, 0.0)


def rates(X, rows, columns, variant):
    Y, weights = dense(X, variant)
    Z, W = np.eye(4)[rows], np.eye(3)[columns]
    epsilon = X.sum() ** -2.0 if variant == "code" else 0.0
    return Z.T @ Y @ W / (Z.T @ weights @ W) + epsilon


def log_likelihood(X, rows, columns, variant):
    """Over cells, one by one, for clusters that all have members."""
    Y, weights = dense(X, variant)
    alpha = rates(X, rows, columns, variant)[np.ix_(rows, columns)]
    value = (xlogy(Y, alpha) - weights * alpha).sum()
    return value + entropy_term(rows) + entropy_term(columns)


@pytest.mark.parametrize("variant", ["model", "code"])
@pytest.mark.parametrize("start", range(3))
def test_one_sweep_by_hand(variant, start):
    X, rows, columns = blocky(start)
    Y, weights = dense(X, variant)
    epsilon = X.sum() ** -2.0 if variant == "code" else 0.0
    W = np.eye(3)[columns]
    alpha = rates(X, rows, columns, variant)
    scores = Y @ W @ np.log(alpha).T - weights @ W @ alpha.T
    new_rows = (scores + log_shares(rows, 4, epsilon)).argmax(axis=1)
    Z, alpha = np.eye(4)[new_rows], rates(X, new_rows, columns, variant)
    scores = Y.T @ Z @ np.log(alpha) - weights.T @ Z @ alpha
    new_columns = (scores + log_shares(columns, 3, epsilon)).argmax(axis=1)
    one = run(X, rows, columns, variant, max_iter=1)
    np.testing.assert_array_equal(one.rows, new_rows)
    np.testing.assert_array_equal(one.columns, new_columns)
    assert one.criterion == pytest.approx(
        log_likelihood(X, new_rows, new_columns, variant), rel=1e-6
    )


@pytest.mark.parametrize("start", range(3))
def test_the_likelihood_of_the_model_never_falls(start):
    X, rows, columns = drawn(start)
    done = run(X, rows, columns, "model")
    assert len(done.trace) > 2
    assert np.diff(done.trace).min() >= -1e-5
    if set(done.rows) == set(range(4)) and set(done.columns) == set(range(3)):
        expected = log_likelihood(X, done.rows, done.columns, "model")
        assert done.criterion == pytest.approx(expected, rel=1e-6)


def test_the_model_is_information_plus_shares():
    """With exact margins the linear term is constant."""
    X, rows, columns = blocky(1)
    done = run(X, rows, columns, "model", max_iter=1)
    table = np.eye(4)[done.rows].T @ X @ np.eye(3)[done.columns] / X.sum()
    margins = np.outer(table.sum(axis=1), table.sum(axis=0))
    shares = entropy_term(done.rows) + entropy_term(done.columns)
    kept = X.sum() * (xlogy(table, table / margins).sum() - 1)
    assert done.criterion == pytest.approx(kept + shares, rel=1e-6)


def test_empty_clusters_of_the_model_stay_empty():
    X, rows, columns = drawn(2)
    done = run(X, np.where(rows == 3, 0, rows).astype(np.int32), columns, "model")
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
    done = run(X, rows, columns, "code", max_iter=1)
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


def test_permuted_rows_and_columns_give_permuted_labels(seed):
    X, rows, columns = drawn(seed)
    rng = np.random.default_rng(seed)
    i, j = rng.permutation(len(rows)), rng.permutation(len(columns))
    for variant in ("model", "code"):
        done = run(X, rows, columns, variant)
        other = run(X[i][:, j], rows[i], columns[j], variant)
        np.testing.assert_array_equal(done.rows[i], other.rows)
        np.testing.assert_array_equal(done.columns[j], other.columns)


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


def test_classic3(load_data):
    X, labels = load_data("classic3")
    model = ELBM(3, random_state=0).fit(X)
    assert adjusted_rand_score(labels, model.labels_) == pytest.approx(0.96, abs=0.015)
    similar = CoclustInfo(3, random_state=0).fit(X)
    assert adjusted_rand_score(similar.labels_, model.labels_) > 0.95
