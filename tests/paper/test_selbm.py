"""SELBM against the dense complete-data log-likelihood, in both variants."""

import numpy as np
import pytest
import scipy.sparse as sp
from random_tables import blocky, dense, drawn, entropy_term, log_shares
from sklearn.metrics import adjusted_rand_score

from paper.cocluster import SELBM
from paper.cocluster._base import Table
from paper.cocluster._elbm import Likelihood
from paper.cocluster._mod import rows_by_modularity
from paper.cocluster._selbm import Diagonal, run_selbm


def run(X, rows, columns, variant, max_iter=100):
    table = Table.of(sp.csr_array(X.astype(float)))
    likelihood = Likelihood.of(table, variant)
    return run_selbm(likelihood, rows, columns, 4, max_iter, 0.0)


def rates(X, rows, columns, variant):
    """Rate of each diagonal block, and of the rest, from sums over cells."""
    Y, weights = dense(X, variant)
    inside = rows[:, None] == columns
    own = np.zeros(4)
    for k in range(4):
        block = np.outer(rows == k, columns == k)
        own[k] = Y[block].sum() / weights[block].sum() if block.any() else np.nan
    background = Y[~inside].sum() / weights[~inside].sum()
    return own + (0.2 if variant == "code" else 0.0), background


def log_likelihood(X, rows, columns, variant):
    Y, weights = dense(X, variant)
    own, background = rates(X, rows, columns, variant)
    inside = rows[:, None] == columns
    alpha = np.where(inside, own[rows][:, None], background)
    value = (Y * np.log(alpha) - weights * alpha).sum()
    return value + entropy_term(rows) + entropy_term(columns)


@pytest.mark.parametrize("variant", ["model", "code"])
@pytest.mark.parametrize("start", range(3))
def test_one_sweep_by_hand(variant, start):
    X, rows, columns = blocky(start, n_clusters=(4, 4))
    Y, weights = dense(X, variant)
    epsilon = X.sum() ** -2.0 if variant == "code" else 0.0
    Z, W = np.eye(4)[rows], np.eye(4)[columns]
    own, background = rates(X, rows, columns, variant)
    scores = np.log(own / background) * (Y @ W) - (own - background) * (weights @ W)
    new_rows = (scores + log_shares(rows, 4, epsilon)).argmax(axis=1)
    Z = np.eye(4)[new_rows]
    own, background = rates(X, new_rows, columns, variant)
    scores = np.log(own / background) * (Y.T @ Z) - (own - background) * (weights.T @ Z)
    new_columns = (scores + log_shares(columns, 4, epsilon)).argmax(axis=1)
    one = run(X, rows, columns, variant, max_iter=1)
    np.testing.assert_array_equal(one.rows, new_rows)
    np.testing.assert_array_equal(one.columns, new_columns)
    expected = log_likelihood(X, one.rows, one.columns, variant)
    assert one.criterion == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("start", range(3))
def test_the_likelihood_of_the_model_never_falls(start):
    X, _, columns = drawn(start, n_clusters=(4, 4))
    table = Table.of(sp.csr_array(X.astype(float)))
    done = run(X, rows_by_modularity(table, columns, 4), columns, "model")
    assert len(done.trace) > 2
    assert np.diff(done.trace).min() >= -1e-5
    expected = log_likelihood(X, done.rows, done.columns, "model")
    assert done.criterion == pytest.approx(expected, rel=1e-6)


def test_rates_by_hand():
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


def test_permuted_rows_and_columns_give_permuted_labels(seed):
    X, rows, columns = drawn(seed, n_clusters=(4, 4))
    rng = np.random.default_rng(seed)
    i, j = rng.permutation(len(rows)), rng.permutation(len(columns))
    for variant in ("model", "code"):
        done = run(X, rows, columns, variant)
        other = run(X[i][:, j], rows[i], columns[j], variant)
        np.testing.assert_array_equal(done.rows[i], other.rows)
        np.testing.assert_array_equal(done.columns[j], other.columns)


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


def test_classic3(load_data):
    X, labels = load_data("classic3")
    model = SELBM(3, random_state=0).fit(X)
    assert adjusted_rand_score(labels, model.labels_) == pytest.approx(0.95, abs=0.015)


@pytest.mark.slow
def test_classic3_as_coded(load_data):
    X, labels = load_data("classic3")
    model = SELBM(3, variant="code", random_state=0).fit(X)
    assert adjusted_rand_score(labels, model.labels_) == pytest.approx(0.227, abs=0.015)
