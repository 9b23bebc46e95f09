"""Scores without the row and T, beside their formulas, slow and dense."""

import numpy as np
import pytest
from hypothesis import given

from oracle import assert_agrees, size_of_terms
from strategies import labelled_counts, priors
from threecpo._core import confidence
from threecpo._core.codes import inner_labels
from threecpo._core.counts import from_dense
from threecpo._core.sums import sum_by_labels
from threecpo._core.workers import SERIAL


def found_for(Y, labels, groups, prior):
    n_clusters = int(labels.max()) + 1
    counts = from_dense(Y)
    inside = inner_labels(labels, n_clusters)
    sums = sum_by_labels(counts, inside, n_clusters, groups, prior).smoothed(prior)
    found = confidence.left_out_scores(counts, labels, sums, groups, SERIAL)
    return found, sums


def dense_scores(Y, labels, groups, prior):
    """S'_ik as the definition has it, row by row."""
    X, floor = Y + prior, prior or 1e-3
    relevant, shared = groups == 1, groups == 0
    n_clusters = labels.max() + 1
    out = np.zeros((len(X), n_clusters))
    for i, x in enumerate(X):
        for k in range(n_clusters):
            c = X[labels == k].sum(axis=0)
            own = k == labels[i]
            tops = c[relevant] - own * x[relevant]
            zero = c[shared].sum() - own * x[shared].sum()
            if own:
                tops, zero = np.maximum(tops, floor), max(zero, floor)
            values = np.append(x[relevant], x[shared].sum())
            tops = np.append(tops, zero) if shared.any() else tops
            values = values[: len(tops)]
            with np.errstate(divide="ignore", invalid="ignore"):
                total = tops.sum() or 1.0  # an empty cluster has shares of 0
                terms = values * np.log(tops / total)
            out[i, k] = np.where(values > 0, terms, 0.0).sum() if relevant.any() else 0
    for i, a in enumerate(labels):
        if a >= 0:
            others = np.delete(out[i], a)
            out[i, a] = max(out[i, a], others.max(initial=-np.inf))
    return out


def dense_ratio(scores, labels, X, groups, floor):
    """T before it is raised to 1, pair by pair."""
    relevant, shared = groups == 1, groups == 0
    values = X[:, relevant]
    if shared.any():
        values = np.column_stack([values, X[:, shared].sum(axis=1)])
    sizes = values.sum(axis=1)
    c = np.array([values[labels == k].sum(axis=0) for k in range(labels.max() + 1)])
    p = np.maximum(c, floor)
    p /= p.sum(axis=1, keepdims=True)
    pairs = {}
    for i, a in enumerate(labels):
        if a >= 0:
            others = np.where(np.arange(len(c)) == a, -np.inf, scores[i])
            b = int(others.argmax())
            if np.isfinite(scores[i, a] - others[b]):
                pairs.setdefault((a, b), []).append(i)
    top = bottom = 0.0
    for (a, b), rows in pairs.items():
        if len(rows) >= 5:
            z = scores[rows, a] - scores[rows, b]
            r = np.maximum(sizes[rows], 1.0)
            d = np.log(p[a] / p[b])
            top += ((z - r * z.sum() / r.sum()) ** 2 / r).sum()
            bottom += len(rows) * ((p[a] * d**2).sum() - (p[a] * d).sum() ** 2)
    return top / bottom if bottom > 0 else np.nan


@given(labelled_counts(min_rows=2, huge=False), priors)
def test_scores_without_the_row(case, prior):
    found, _ = found_for(case.Y, case.labels, case.groups, prior)
    expected = dense_scores(case.Y, case.labels, case.groups, prior)
    size = size_of_terms((case.Y + prior).sum()) * 10
    assert_agrees(found.scores, expected, size)


@pytest.mark.parametrize("prior", [1e-3, 0.0])
@pytest.mark.parametrize("outliers", [False, True])
def test_t_of_planted_counts(prior, outliers, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=120)
    rates = rng.dirichlet(np.ones(6), size=3)[labels] * rng.gamma(5, 10, (120, 1))
    Y = rng.poisson(rates * rng.gamma(2, 0.5, rates.shape)).astype(float)
    groups = np.array([1, 1, 1, 1, 0, 0], dtype=np.int8)
    if outliers:
        labels[:10] = -1
    found, sums = found_for(Y, labels, groups, prior)
    ratio = confidence.dispersion_ratio(found, sums, groups)
    args = found.scores, labels, Y + prior, groups, prior or 1e-3
    assert ratio == pytest.approx(dense_ratio(*args), rel=1e-9)
    assert ratio > 1.5
    assert confidence.temperature(found, sums, groups) == ratio


def test_t_of_poisson_counts_is_about_1():
    ratios = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        labels = rng.integers(2, size=1000)
        shares = rng.dirichlet(np.full(20, 5.0), size=2)
        Y = rng.poisson(shares[labels] * rng.gamma(10, 5, (1000, 1))).astype(float)
        groups = np.ones(20, dtype=np.int8)
        ratios.append(
            confidence.dispersion_ratio(*found_for(Y, labels, groups, 1e-3), groups)
        )
    assert 0.9 < np.mean(ratios) < 1.1


class TestNothingToTell:
    def test_one_cluster(self):
        Y = np.arange(12.0).reshape(6, 2)
        labels, groups = np.zeros(6, dtype=int), np.ones(2, dtype=np.int8)
        found, sums = found_for(Y, labels, groups, 1e-3)
        assert confidence.temperature(found, sums, groups) == 1.0
        assert (confidence.probabilities(found.scores, 1.0) == 1.0).all()

    def test_few_rows_between_two_clusters(self):
        Y = np.array([[9, 1], [1, 9], [8, 2], [2, 8.0]])
        groups = np.ones(2, dtype=np.int8)
        found, sums = found_for(Y, np.array([0, 1, 0, 1]), groups, 1e-3)
        assert confidence.temperature(found, sums, groups) == 1.0

    def test_no_cluster_fits_at_all(self):
        scores = np.array([[-np.inf, -np.inf], [0.0, -np.inf]])
        expected = [[0.5, 0.5], [1.0, 0.0]]
        assert confidence.probabilities(scores, 2.0).tolist() == expected


def test_joined_clusters_are_as_likely_as_the_best_in_them():
    fine = np.array([[0.4, 0.3, 0.3], [0.1, 0.2, 0.7]])
    found = confidence.of_joined(fine, np.array([0, 1, 1], dtype=np.int32))
    assert_agrees(found, [[4 / 7, 3 / 7], [1 / 8, 7 / 8]])
