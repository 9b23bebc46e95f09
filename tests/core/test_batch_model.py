"""Rates of clusters and batches against the plain formulas, and what follows."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oracle
import oracle_batches
from strategies import labelled_counts, penalties
from threecpo._core import model
from threecpo._core.batch_model import parts, rates_of
from threecpo._core.codes import inner_labels
from threecpo._core.dispersion import dispersions
from threecpo._core.matrices import from_dense
from threecpo._core.rows import RowInfo
from threecpo._core.rules import EXACT, scores
from threecpo._core.sums import sum_by_labels
from threecpo._core.workers import SERIAL
from threecpo._options import resolve_penalty

priors = st.sampled_from([1e-3, 1.0])


@st.composite
def cases(draw, *, outliers=True):
    """Counts with labels, groups, and two or three batches."""
    case = draw(labelled_counts(min_rows=4, huge=False, outliers=outliers))
    n_rows = len(case.Y)
    rest = st.lists(st.integers(0, 2), min_size=n_rows - 2, max_size=n_rows - 2)
    batches = np.array([0, 1, *draw(rest)])
    _, batches = np.unique(batches, return_inverse=True)
    return case, batches


def counts_of(case, batches):
    names = tuple(map(str, range(batches.max() + 1)))
    return from_dense(case.Y).with_rows(
        RowInfo(batches=batches.astype(np.int32), batch_names=names)
    )


def sums_of(case, batches, prior):
    labels = inner_labels(case.labels, case.n_clusters)
    options = case.n_clusters, case.groups, prior
    return sum_by_labels(counts_of(case, batches), labels, *options).smoothed(prior)


@given(cases(), priors, penalties)
@settings(max_examples=40, deadline=None)
def test_the_loss_equals_the_oracle(given_case, prior, penalty):
    case, batches = given_case
    sums = sums_of(case, batches, prior)
    step = model.column_step(sums, case.groups, resolve_penalty(penalty), (1, 0, -1))
    ours = model.loss(step.scores, case.groups)
    X = case.Y + prior
    theirs = oracle_batches.loss(X, case.labels, case.groups, batches, penalty)
    assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-3)
    likelihood = model.log_likelihood(sums, case.groups, sums)
    prices = resolve_penalty(penalty)(sums.totals, case.n_clusters, len(X))
    assert -likelihood + prices[case.groups == 1].sum() == pytest.approx(
        ours, rel=1e-6, abs=1e-3
    )


@given(cases(outliers=False), priors)
@settings(max_examples=40, deadline=None)
def test_row_scores_are_likelihoods_with_the_size_refitted(given_case, prior):
    case, batches = given_case
    assume((case.groups == 1).any())
    sums = sums_of(case, batches, prior)
    rates = rates_of(sums, case.groups)
    found = scores(counts_of(case, batches), EXACT.profile(sums, case.groups), SERIAL)
    X = case.Y + prior
    relevant, shared = X[:, case.groups == 1], X[:, case.groups == 0]
    expected = np.empty_like(found)
    for i, b in enumerate(batches):
        totals = X[batches == b][:, case.groups == 0].sum(axis=0)
        portions = totals / max(totals.sum(), 1e-300)
        for k in range(case.n_clusters):
            own = rates.clusters[k] * rates.batches[b]
            row = np.append(relevant[i], shared[i])
            there = np.append(own[:-1], own[-1] * portions)
            mu = row.sum() * there / there.sum()
            expected[i, k] = (oracle.times_log(row, mu) - mu).sum()
    expected -= expected[:, :1]
    found -= found[:, :1]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-7)


@given(cases(), priors)
@settings(max_examples=30, deadline=None)
def test_dispersions_use_the_expected_counts_of_the_model(given_case, prior):
    case, batches = given_case
    sums, counts = sums_of(case, batches, prior), counts_of(case, batches)
    labels = inner_labels(case.labels, case.n_clusters)
    X = case.Y + prior
    mu = oracle_batches.expected(X, case.labels, case.groups, batches)
    n_lost = case.n_clusters + batches.max()
    facts = X, case.labels, case.groups, prior
    expected = oracle.dispersions(*facts, mu=mu, n_lost=n_lost)
    found = dispersions(counts, labels, sums, case.groups)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_parts_of_clusters_and_batches_that_share_no_rows():
    masses = np.array([[3.0, 0, 0], [1, 2, 0], [0, 0, 5]])
    n_parts, of_cluster, of_batch = parts(masses)
    assert n_parts == 2
    assert of_cluster.tolist() == [0, 0, 1]
    assert of_batch.tolist() == [0, 0, 1]


@given(cases(outliers=False), priors)
@settings(max_examples=30, deadline=None)
def test_effects_of_batches_have_the_mean_one_in_every_part(given_case, prior):
    case, batches = given_case
    assume((case.groups != -1).any())
    rates = rates_of(sums_of(case, batches, prior), case.groups)
    _, _, of_batch = parts(rates.cell_totals)
    for part in np.unique(of_batch):
        own = of_batch == part
        weights = rates.cells.batch_weights[own, None]
        means = (weights * np.log(rates.batches[own])).sum(axis=0) / weights.sum()
        np.testing.assert_allclose(means, 0, atol=1e-9)


def test_one_cluster_needs_no_relevant_column():
    rng = np.random.default_rng(0)
    Y, batches = rng.poisson(5.0, (30, 4)).astype(float), np.arange(30) % 3
    info = RowInfo(batches=batches.astype(np.int32), batch_names=("a", "b", "c"))
    counts = from_dense(Y).with_rows(info)
    groups = np.ones(4, np.int8)
    sums = sum_by_labels(counts, np.zeros(30, np.int32), 1, groups, 1e-3)
    step = model.column_step(
        sums.smoothed(1e-3), groups, resolve_penalty("mdl"), (1, 0, -1)
    )
    assert not (step.groups == 1).any()
