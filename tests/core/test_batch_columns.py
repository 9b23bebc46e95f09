"""The loops over columns of clusters and batches against plain formulas."""

import numpy as np
import pytest

from threecpo._core.codes import NOISE, RELEVANT, SHARED
from threecpo._core.loops import balancing, batch_columns
from threecpo._core.loops.rows import TIE
from threecpo._core.loops.simd import WIDTH


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


def in_use(groups):
    places = np.empty((2, len(groups)), np.int64)
    n_relevant, n_shared = batch_columns.find_columns_in_use(groups, *places)
    return places[0, :n_relevant], places[1, :n_shared]


def test_columns_in_use_are_found(groups):
    relevant, shared = in_use(groups)
    np.testing.assert_array_equal(relevant, np.flatnonzero(groups == RELEVANT))
    np.testing.assert_array_equal(shared, np.flatnonzero(groups == SHARED))


@pytest.mark.parametrize("with_shared", [True, False])
def test_sums_of_columns_in_use(cells, groups, with_shared):
    if not with_shared:
        groups[groups == SHARED] = NOISE
    relevant, shared = in_use(groups)
    n_clusters, n_batches, _ = cells.shape
    by_cluster = np.empty((n_clusters, len(relevant) + 1))
    by_batch = np.empty((n_batches, len(relevant) + 1))
    totals = np.empty((n_clusters, n_batches))
    out = by_cluster, by_batch, totals
    batch_columns.sum_columns_in_use(cells, relevant, shared, *out)
    behind = cells[:, :, shared if with_shared else relevant].sum(axis=2)
    used = np.dstack([cells[:, :, relevant], behind])
    np.testing.assert_allclose(by_cluster, used.sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(by_batch, used.sum(axis=0), rtol=1e-13)
    expected = cells[:, :, groups != NOISE].sum(axis=2)
    np.testing.assert_allclose(totals, expected, rtol=1e-13)


def test_margins_are_shares_over_those_of_all(cells):
    by_batch = cells.sum(axis=0)
    effects = np.empty_like(by_batch)
    batch_columns.fill_margin_effects(by_batch, effects)
    shares = by_batch / np.maximum(by_batch.sum(axis=1, keepdims=True), 1e-300)
    overall = by_batch.sum(axis=0) / by_batch.sum()
    expected = np.divide(shares, overall, out=np.zeros_like(shares), where=overall > 0)
    np.testing.assert_allclose(effects, expected, rtol=1e-12)


def test_a_batch_without_counts_has_no_margins():
    effects = np.empty((2, 3))
    batch_columns.fill_margin_effects(np.array([[1.0, 0, 3], [0, 0, 0]]), effects)
    np.testing.assert_array_equal(effects, [[1, 0, 1], [0, 0, 0]])


def test_what_was_found_of_c1_is_put_among_all(groups):
    n_relevant = int((groups == RELEVANT).sum())
    found = np.arange(1.0, 2 * n_relevant + 3).reshape(2, -1)
    out = np.zeros((2, len(groups)))
    batch_columns.put_relevant(groups, found, out)
    np.testing.assert_array_equal(out[:, groups == RELEVANT], found[:, :-1])
    assert not out[:, groups != RELEVANT].any()


def test_rates_of_batches_are_centred_in_their_part():
    rng = np.random.default_rng(0)
    clusters, batches = rng.gamma(2.0, 1.0, (3, 5)), rng.gamma(2.0, 1.0, (3, 5))
    batches[0, 0] = batches[2, 1] = 0.0
    masses = np.array([3.0, 5, 2])
    of_cluster, of_batch = (np.array(a, np.int32) for a in ([0, 1, 0], [0, 0, 1]))
    products = clusters[:, None] * batches
    logs = np.log(batches, out=np.zeros_like(batches), where=batches > 0)
    means, workspace = np.empty((2, 5)), np.empty((2, 5))
    batch_columns.fill_mean_logs(masses, of_batch, batches, logs, means, workspace)
    for part in range(2):
        weights = masses[:, None] * (batches > 0) * (of_batch == part)[:, None]
        weights /= np.maximum(weights.sum(axis=0), 1e-300)
        np.testing.assert_allclose(means[part], (weights * logs).sum(axis=0))
    arrays = of_cluster, of_batch, np.exp(means)
    batch_columns.centre_effects(*arrays, clusters, batches)
    batch_columns.fill_mean_logs(
        *(masses, of_batch, batches),
        *(np.log(np.where(batches > 0, batches, 1.0)), means, workspace),
    )
    np.testing.assert_allclose(means, 0, atol=1e-14)
    together = of_cluster[:, None] == of_batch
    now = clusters[:, None] * batches
    np.testing.assert_allclose(now[together], products[together])


def test_sizes_are_sums_of_products_of_the_first_columns(cells):
    rng = np.random.default_rng(0)
    n_clusters, n_batches, n_columns = cells.shape
    clusters = rng.gamma(2.0, 1.0, (n_clusters, n_columns))
    batches = rng.gamma(2.0, 1.0, (n_batches, n_columns))
    sizes, workspace = np.empty((n_clusters, n_batches)), np.empty(WIDTH)
    for n in (n_columns, n_columns - 1):
        balancing.fill_sizes(clusters, batches, n, sizes, workspace)
        expected = np.einsum("kj,bj->kb", clusters[:, :n], batches[:, :n])
        np.testing.assert_allclose(sizes, expected, rtol=1e-13)


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


@pytest.mark.parametrize("with_shared", [True, False])
def test_scales_of_rows(cells, groups, with_shared):
    if not with_shared:
        groups[groups == SHARED] = NOISE
    outliers = np.full(cells.shape[1:], 0.5)
    of_batches, of_cells, rates = scales_of(cells, outliers, groups)
    cell_totals, scales, clusters, batches = rates
    totals, used = cells.sum(axis=0) + outliers, groups != NOISE
    in_use = totals[:, used].sum(axis=1)
    base = totals[:, groups == SHARED].sum(axis=1) if with_shared else in_use
    outside = outliers[:, used].sum(axis=1) / in_use
    np.testing.assert_allclose(of_batches, [base, in_use, outside])
    of_shared = clusters[:, -1:] * batches[:, -1] / base
    there = cell_totals > 0
    factors = np.where(there, scales / np.where(there, cell_totals, 1.0), 1.0)
    with_rates = np.where(there, factors * of_shared, 1.0)
    expected = [scales * of_shared, np.log(factors), np.log(with_rates)]
    np.testing.assert_allclose(of_cells, expected, rtol=1e-12, atol=1e-14)


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
