"""Rates of clusters and batches against the plain formulas, and what follows."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse.csgraph import connected_components

import oracle
import oracle_batches
from strategies import labelled_counts, penalties
from threecpo._core import model
from threecpo._core.batch_model import MAX_SWEEPS, fit_rates, parts, rates_of
from threecpo._core.codes import NOISE, RELEVANT, inner_labels, linked_parts
from threecpo._core.dispersion import dispersions
from threecpo._core.loops import batch_columns
from threecpo._core.loops.rows import TIE
from threecpo._core.loops.simd import WIDTH
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


@pytest.fixture(params=[(3, 2, 7), (4, 3, 2 * WIDTH + 5), (1, 2, WIDTH)])
def cells(request):
    """Sums by cluster, batch and column: some are 0, cluster 0 is in batch 0 only."""
    rng = np.random.default_rng(0)
    found = rng.poisson(rng.gamma(0.7, 4.0, request.param)).astype(float)
    found[0, 1:] = 0.0
    found[:, :, 0] = 0.0
    return found


@pytest.fixture
def groups(cells):
    return (np.arange(cells.shape[2]) % 4 % 3 - 1).astype(np.int8)


def scales_of(cells, outliers, groups):
    """Scales of cells for some rates, and the rates."""
    rng = np.random.default_rng(1)
    n_clusters, n_batches, _ = cells.shape
    n_columns = int((groups == RELEVANT).sum()) + 1
    totals = cells.sum(axis=0) + outliers
    cell_totals = cells[:, :, groups != NOISE].sum(axis=2)
    scales = cell_totals * rng.gamma(2.0, 1.0, cell_totals.shape)
    clusters = rng.gamma(2.0, 1.0, (n_clusters, n_columns))
    batches = rng.gamma(2.0, 1.0, (n_batches, n_columns))
    of_batches, of_cells = np.empty((3, n_batches)), np.empty((3, *scales.shape))
    rates = cell_totals, scales, clusters, batches
    given = totals, outliers, groups, *rates
    batch_columns.fill_scales(*given, of_batches, of_cells)
    return of_batches, of_cells, rates


def test_scores_of_columns(cells, groups):
    rng = np.random.default_rng(2)
    n_clusters, n_batches, n_columns = cells.shape
    outliers = rng.poisson(1.0, (n_batches, n_columns)).astype(float)
    of_batches, of_cells, _ = scales_of(cells, outliers, groups)
    _, in_use, outlier_scales = of_batches
    shared_scales, log_factors, log_shared = of_cells
    log_shared[-1, 0] = -np.inf
    totals, masses = cells.sum(axis=0) + outliers, np.arange(2.0, n_batches + 2)
    log_totals = np.log(totals, out=np.zeros_like(totals), where=totals > 0)
    own = rng.normal(size=(n_clusters, n_columns))
    effects = rng.normal(size=(n_batches, n_columns))
    sizes, prices = rng.normal(size=(2, n_columns))
    terms = batch_columns.BatchTerms(
        *(cells, cells.sum(axis=1), cells.sum(axis=0), outliers, totals, log_totals),
        *(own, effects, sizes, log_factors, log_shared, np.log(in_use)),
        *(np.log(masses), outlier_scales, shared_scales.sum(axis=0), prices),
    )
    scores, ties = np.empty((n_columns, 3)), np.empty(n_columns)
    workspace = np.empty((4, n_columns))
    batch_columns.score_columns(terms, scores, ties, workspace)
    noise = (totals * (log_totals - np.log(masses)[:, None] - 1)).sum(axis=0)
    background = (
        outliers * (log_totals - np.log(in_use)[:, None])
        - outlier_scales[:, None] * totals
    ).sum(axis=0)
    weights = log_totals + log_shared[:, :, None]
    shared = np.where(cells > 0, cells * np.where(cells > 0, weights, 0), 0)
    shared = shared.sum(axis=(0, 1)) - shared_scales.sum(axis=0) @ totals
    weights = own[:, None] + effects + log_factors[:, :, None] - 1
    relevant = (cells * weights).sum(axis=(0, 1))
    expected = [noise, shared + background + sizes, relevant + background + sizes]
    expected[2] = expected[2] - prices
    np.testing.assert_allclose(scores, np.transpose(expected), rtol=1e-9, atol=1e-9)
    terms_sizes = (totals * (np.abs(log_totals) + 1)).sum(axis=0) + np.abs(sizes)
    np.testing.assert_allclose(ties, 10 * TIE * terms_sizes)


def balanced(cells):
    """Fit to the sums of cells of cluster, batch and column; also what is expected."""
    by_cluster, by_batch, totals = (cells.sum(axis=axis) for axis in (1, 0, 2))
    scales, clusters = totals.copy(), np.zeros_like(by_cluster)
    batches = np.where(by_batch > 0, 1.0, 0.0)
    rates = scales, clusters, batches
    n_steps = fit_rates(by_cluster, by_batch, totals, *rates)
    return n_steps, np.einsum("kb,kj,bj->kbj", *rates)


def assert_fits(cells, expected, gap):
    for axis in range(3):
        wanted, found = cells.sum(axis=axis), expected.sum(axis=axis)
        # A loss this close to its minimum has sums this close to those of the data.
        assert np.abs(found - wanted).max() <= np.sqrt(2 * gap * cells.sum())


def sharing_little():
    """Cells of clusters that share few rows of a batch; some are empty."""
    rng = np.random.default_rng(0)
    cells = rng.poisson(rng.gamma(0.2, 5.0, (4, 3, 6))).astype(float)
    cells[0, 1:] = cells[1, 2] = cells[3, 0] = 0
    return cells


def with_words_of_its_own():
    """Cells of many columns, where a cluster has little of what others have."""
    rng = np.random.default_rng(0)
    rates = rng.gamma(0.5, 2.0, (4, 300))
    rates[0, :250] *= 1e-3
    rates[1:, 250:] *= 1e-3
    effects = rng.gamma(2.0, 2.0, (3, 300))
    shares = rng.dirichlet([1.0, 1.0, 1.0], 4)[:, :, None]
    return rng.poisson(30 * shares * rates[:, None] * effects).astype(float)


@pytest.mark.parametrize("prior", [0.0, 1e-3])
@pytest.mark.parametrize("made", [sharing_little, with_words_of_its_own])
def test_sums_are_met_where_sweeps_are_slow(made, prior):
    cells = made()
    cells += prior * (cells.sum(axis=2) > 0)[:, :, None]
    n_steps, expected = balanced(cells)
    assert MAX_SWEEPS < n_steps < 100
    assert_fits(cells, expected, 1e-11 * cells.sum())


def test_rates_that_go_to_zero_are_followed_to_the_end():
    # Cluster 1 has nothing of column 0 in batch 0, and cluster 0 is in batch 0 only:
    # sums leave cluster 1 nothing there, which sweeps alone approach as 1 / sweeps.
    cells = np.array([[[3.0, 2], [0, 0]], [[0, 4], [5, 1]]])
    n_steps, expected = balanced(cells)
    assert MAX_SWEEPS < n_steps < 70
    assert expected[1, 0, 0] < 1e-8
    np.testing.assert_allclose(expected, cells, atol=1e-6)


def test_newton_steps_take_a_single_column(monkeypatch):
    monkeypatch.setattr("threecpo._core.batch_model.MAX_SWEEPS", 0)
    cells = np.array([[[3.0], [2.0]], [[1.0], [5.0]], [[4.0], [4.0]]])
    _, expected = balanced(cells)
    assert_fits(cells, expected, 1e-11 * cells.sum())


@given(arrays(np.bool_, (7, 7)))
def test_linked_points_are_in_the_same_part(linked):
    linked = linked | linked.T
    n_parts, expected = connected_components(linked, directed=False)
    found = linked_parts(linked)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.int32
    assert found.max() + 1 == n_parts
