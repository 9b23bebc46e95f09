"""Rates fitted to sums where sweeps of proportional fitting converge slowly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from scipy.sparse.csgraph import connected_components

from threecpo._core.batch_model import MAX_SWEEPS, fit_rates
from threecpo._core.codes import linked_parts


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
