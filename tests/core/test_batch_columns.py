"""The loops over columns of clusters and batches against plain formulas."""

import numpy as np
import pytest

from threecpo._core.codes import NOISE, RELEVANT
from threecpo._core.loops import batch_columns
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
