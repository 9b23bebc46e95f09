"""Scores without the row and T, beside their formulas, slow and dense."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracle import assert_agrees, size_of_terms
from strategies import labelled_counts, priors
from threecpo._core import confidence
from threecpo._core.batch_model import rates_of
from threecpo._core.codes import inner_labels
from threecpo._core.matrices import from_dense
from threecpo._core.rows import RowInfo
from threecpo._core.rules import EXACT, scores
from threecpo._core.sums import sum_by_labels
from threecpo._core.workers import SERIAL


def found_for(Y, labels, groups, prior, weights=None, batches=None, columns=None):
    n_clusters = int(labels.max()) + 1
    names = () if batches is None else tuple(map(str, range(batches.max() + 1)))
    counts = from_dense(Y).with_rows(RowInfo(weights, batches, names))
    counts = counts.with_column_weights(columns)
    inside = inner_labels(labels, n_clusters)
    sums = sum_by_labels(counts, inside, n_clusters, groups, prior).smoothed(prior)
    exact = scores(counts, EXACT.profile(sums, groups), SERIAL)
    terms = confidence.left_out_terms(sums, groups)
    return confidence.left_out_scores(counts, labels, terms, exact, SERIAL), sums


def numerators_left(c, y, weight, prior):
    """Sums without one copy of a row, or without it where its weight is less than 1.

    Of a lighter row the prior stays, which is nobody's own.
    """
    floor = prior or 1e-3
    if weight >= 1:
        return np.maximum(c - (y + prior), floor)
    return np.where(y > 0, np.maximum(c - weight * y, weight * floor), c)


def dense_scores(Y, labels, groups, prior, weights=None):
    """S'_ik as the definition has it, row by row."""
    X, w = Y + prior, np.ones(len(Y)) if weights is None else weights
    relevant, shared = groups == 1, groups == 0
    n_clusters = labels.max() + 1
    out = np.zeros((len(X), n_clusters))
    for i, x in enumerate(X):
        for k in range(n_clusters):
            c = (w[:, None] * X)[labels == k].sum(axis=0)
            tops, zero = c[relevant], c[shared].sum()
            if k == labels[i] and w[i] > 0:
                tops = numerators_left(tops, Y[i, relevant], w[i], prior)
                extra = prior * (shared.sum() - 1) * (w[i] >= 1)
                zero = numerators_left(zero - extra, Y[i, shared].sum(), w[i], prior)
            values = np.append(x[relevant], x[shared].sum())
            tops = np.append(tops, zero) if shared.any() else tops
            values = values[: len(tops)]
            with np.errstate(divide="ignore", invalid="ignore"):
                total = tops.sum() or 1.0  # an empty cluster has shares of 0
                terms = values * np.log(tops / total)
            out[i, k] = np.where(values > 0, terms, 0.0).sum() if relevant.any() else 0
    for i, a in enumerate(labels):
        if a >= 0 and w[i] > 0:
            others = np.delete(out[i], a)
            out[i, a] = max(out[i, a], others.max(initial=-np.inf))
    return out


def dense_ratio(scores, labels, sizes, shares_of, weights=1.0, cells=None):
    """T before it is raised to 1, pair by pair; shares of a cluster in a cell."""
    cells, pairs = np.zeros(len(labels), int) if cells is None else cells, {}
    for i, a in enumerate(labels):
        if a >= 0:
            others = np.where(np.arange(scores.shape[1]) == a, -np.inf, scores[i])
            b = int(others.argmax())
            if np.isfinite(scores[i, a] - others[b]):
                pairs.setdefault((a, b, cells[i]), []).append(i)
    top = bottom = 0.0
    for (a, b, cell), rows in pairs.items():
        if len(rows) >= 5:
            z, r = scores[rows, a] - scores[rows, b], np.maximum(sizes[rows], 1.0)
            p, q = shares_of(a, cell), shares_of(b, cell)
            d = np.log(p / q)
            top += ((z - r * z.sum() / r.sum()) ** 2 / r).sum()
            # w X d of Poisson counts X, of which w X are p for one of size.
            bottom += len(rows) * (weights * p * (d - (p * d).sum()) ** 2).sum()
    return top / bottom if bottom > 0 else np.nan


def collected(X, groups):
    """C1, and all of C0 as one column."""
    relevant, shared = X[:, groups == 1], X[:, groups == 0]
    if not (groups == 0).any():
        return relevant
    return np.column_stack([relevant, shared.sum(axis=1)])


def as_best_of_others(scores, i, own):
    """A row is at least as likely of its own cluster as of any other."""
    scores[i, own] = max(scores[i, own], np.delete(scores[i], own).max())


def test_a_light_row_raises_nothing_that_it_has_none_of():
    Y, groups = np.zeros((7, 3)), np.array([0, 0, 1], dtype=np.int8)
    Y[0, 2] = 1.0
    labels, weights = np.zeros(7, dtype=int), np.full(7, 0.25)
    found, _ = found_for(Y, labels, groups, 0.0, weights)
    assert found.scores[0, 0] == 0.0


@given(labelled_counts(min_rows=2, huge=False), priors, st.data())
def test_scores_without_the_row(case, prior, data):
    weight = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5, 3.0])
    n_rows = len(case.Y)
    weights = None
    if data.draw(st.booleans()):
        weights = data.draw(st.lists(weight, min_size=n_rows, max_size=n_rows))
        weights = np.array(weights)
    # Sums of a cluster without any weight are nothing, and so are its shares.
    there = np.ones(n_rows) if weights is None else weights
    assume(all((there[case.labels == k] > 0).any() for k in set(case.labels)))
    found, _ = found_for(case.Y, case.labels, case.groups, prior, weights)
    expected = dense_scores(case.Y, case.labels, case.groups, prior, weights)
    size = size_of_terms((case.Y + prior).sum()) * 10
    assert_agrees(found.scores, expected, size)


@pytest.mark.parametrize("prior", [1e-3, 0.0])
def test_whole_weights_are_repeated_rows(prior, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, size=80)
    labels = rng.integers(3, size=80)
    Y = rng.poisson(rng.dirichlet(np.ones(6), size=3)[labels] * 60).astype(float)
    groups = np.array([1, 1, 1, 1, 0, 0], dtype=np.int8)
    weighted, sums = found_for(Y, labels, groups, prior, weights.astype(float))
    copies = (np.repeat(each, weights, axis=0) for each in (Y, labels))
    repeated, same = found_for(*copies, groups, prior)
    assert_agrees(np.repeat(weighted.scores, weights, axis=0), repeated.scores, 1e6)
    ratio = confidence.dispersion_ratio(weighted, sums, groups)
    again = confidence.dispersion_ratio(repeated, same, groups)
    assert ratio == pytest.approx(again, rel=1e-9)


def test_t_hangs_on_no_unit_of_light_weights(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=60)
    Y = rng.poisson(rng.dirichlet(np.ones(6), size=2)[labels] * 60).astype(float)
    groups, weights = np.ones(6, dtype=np.int8), rng.uniform(0.1, 0.9, 60)
    ratios = []
    for unit in (1.0, 1e-3):
        found = found_for(Y, labels, groups, 1e-3, unit * weights)
        ratios.append(confidence.dispersion_ratio(*found, groups))
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-9)


def batched(seed, effect=0.7):
    """Counts of three clusters, overdispersed, in two batches with effects."""
    rng = np.random.default_rng(seed)
    labels, batches = rng.integers(3, size=200), rng.integers(2, size=200)
    rates = rng.dirichlet(np.ones(6), size=3)[labels] * rng.gamma(5, 20, (200, 1))
    rates *= np.exp(rng.normal(0, effect, (2, 6)))[batches]
    Y = rng.poisson(rates * rng.gamma(2, 0.5, rates.shape)).astype(float)
    return Y, labels, batches.astype(np.int32)


@pytest.mark.parametrize(("shared", "prior"), [(0, 1.0), (2, 1e-3)])
def test_scores_and_t_without_a_row_of_a_batch(shared, prior, seed):
    """Rates of the cluster from the sums without the row, all else held."""
    Y, labels, batches = batched(seed)
    groups = np.array([1] * (6 - shared) + [0] * shared, dtype=np.int8)
    found, sums = found_for(Y, labels, groups, prior, batches=batches)
    fit, X = rates_of(sums, groups), collected(Y + prior, groups)
    width = X.shape[1]
    rates, effects = fit.clusters[:, :width], fit.batches[:, :width]
    c = np.array([X[labels == k].sum(axis=0) for k in range(3)])
    expected = np.empty((len(X), 3))
    for i, (x, a, b) in enumerate(zip(X, labels, batches, strict=True)):
        own = rates.copy()
        own[a] *= np.maximum(c[a] - x, prior) / c[a]
        totals = (own * effects[b]).sum(axis=1)
        expected[i] = x @ np.log(own).T - x.sum() * np.log(totals)
        as_best_of_others(expected, i, a)
    np.testing.assert_allclose(found.scores, expected, rtol=1e-7)

    def shares_of(k, b):
        return rates[k] * effects[b] / (rates[k] @ effects[b])

    args = expected, labels, X.sum(axis=1), shares_of
    ratio = confidence.dispersion_ratio(found, sums, groups)
    assert ratio == pytest.approx(dense_ratio(*args, cells=batches), rel=1e-6)
    assert ratio > 1.5


@pytest.mark.parametrize("prior", [1e-3, 0.5])
def test_scores_and_t_where_columns_count_for_less(prior, seed):
    """Counts times their weights, and each column's variance by itself."""
    Y, labels, _ = batched(seed)
    groups = np.array([1, 1, 1, 1, 0, 0], dtype=np.int8)
    w = np.array([1.0, 0.25, 0.5, 1.0, 0.125, 1.0])
    found, sums = found_for(Y, labels, groups, prior, columns=w)
    X = w * (Y + prior)
    c = np.array([X[labels == k].sum(axis=0) for k in range(3)])
    expected = np.empty((len(X), 3))
    for i, (x, a) in enumerate(zip(X, labels, strict=True)):
        own = c.copy()
        own[a] = np.maximum(c[a] - x, w * prior)
        own[a, groups == 0] = c[a, groups == 0] - x[groups == 0]
        shares = collected(own / own.sum(axis=1, keepdims=True), groups)
        expected[i] = collected(x[None], groups)[0] @ np.log(shares).T
        as_best_of_others(expected, i, a)
    differences = found.scores - expected
    np.testing.assert_allclose(
        differences, np.repeat(differences[:, :1], 3, axis=1), atol=1e-7
    )
    p = c / c.sum(axis=1, keepdims=True)
    shared = X[:, groups == 0].sum(axis=0)
    portions = p[:, groups == 0].sum(axis=1, keepdims=True)
    p[:, groups == 0] = portions * shared / shared.sum()
    args = expected, labels, X.sum(axis=1), lambda k, _: p[k], w
    ratio = confidence.dispersion_ratio(found, sums, groups)
    assert ratio == pytest.approx(dense_ratio(*args), rel=1e-6)


@pytest.mark.parametrize(("prior", "outliers"), [(1e-3, True), (0.0, False)])
def test_t_of_planted_counts(prior, outliers, seed):
    Y, labels, _ = batched(seed, effect=0.0)
    groups = np.array([1, 1, 1, 1, 0, 0], dtype=np.int8)
    if outliers:
        labels[:10] = -1
    found, sums = found_for(Y, labels, groups, prior)
    X = collected(Y + prior, groups)
    p = np.array([X[labels == k].sum(axis=0) for k in range(3)])
    p = np.maximum(p, prior or 1e-3)
    p /= p.sum(axis=1, keepdims=True)
    expected = dense_ratio(found.scores, labels, X.sum(axis=1), lambda k, _: p[k])
    ratio = confidence.dispersion_ratio(found, sums, groups)
    assert ratio == pytest.approx(expected, rel=1e-9)
    assert ratio > 1.5
    assert confidence.temperature(found, sums, groups) == ratio


@pytest.mark.parametrize("downweighted", [False, True])
def test_t_of_poisson_counts_is_about_1(downweighted):
    ratios = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        labels = rng.integers(2, size=1000)
        shares = rng.dirichlet(np.full(20, 5.0), size=2)
        Y = rng.poisson(shares[labels] * rng.gamma(10, 5, (1000, 1))).astype(float)
        groups = np.ones(20, dtype=np.int8)
        columns = rng.uniform(0.05, 1, 20) if downweighted else None
        found = found_for(Y, labels, groups, 1e-3, columns=columns)
        ratios.append(confidence.dispersion_ratio(*found, groups))
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
