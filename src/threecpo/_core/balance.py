"""Rates of clusters and batches, and scales of cells, fitted to sums of the data.

Sweeps of proportional fitting are fast, and usually few are enough. Where they would
converge slowly, Newton's method takes over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .loops.simd import WIDTH
from .model import log

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How far the loss may be from its minimum, in nats for each count.
TOLERANCE = 1e-12
# Sweeps, where so many are expected to be enough, and Newton steps.
MAX_SWEEPS = 32
MAX_NEWTON_STEPS = 100
# A Newton step changes the logarithm of no rate by more than this.
MAX_LOG_CHANGE = 10.0
# Relative rounding error of the loss.
ROUNDING = 1e-14


def fit_rates(
    by_cluster: NDArray[np.float64],
    by_batch: NDArray[np.float64],
    cell_totals: NDArray[np.float64],
    scales: NDArray[np.float64],
    clusters: NDArray[np.float64],
    batches: NDArray[np.float64],
) -> int:
    """Fit scales, clusters and batches to the sums, from their values, in place.

    Return the number of sweeps and Newton steps.
    """
    from .loops import balancing

    sums, rates = (by_cluster, by_batch, cell_totals), (scales, clusters, batches)
    workspace = np.empty_like(scales), np.empty(WIDTH)
    tolerance = TOLERANCE * cell_totals.sum()
    bounds = tolerance, MAX_SWEEPS
    n_sweeps = int(balancing.fit_by_sweeps(*sums, *rates, *bounds, *workspace))
    if n_sweeps <= MAX_SWEEPS:
        return n_sweeps
    n_steps = _descend(*sums, scales, batches, tolerance)
    balancing.fit_by_sweeps(*sums, *rates, 0.0, 1, *workspace)
    return n_sweeps + n_steps


def _descend(
    by_cluster: NDArray[np.float64],
    by_batch: NDArray[np.float64],
    cell_totals: NDArray[np.float64],
    scales: NDArray[np.float64],
    batches: NDArray[np.float64],
    tolerance: float,
) -> int:
    """Fit scales and batches by Newton's method in their logarithms.

    The rates of clusters are the best for each of them.
    """
    from .loops import balancing

    n_clusters = len(by_cluster)
    # Of a single column hstack would make arrays in the order of columns.
    weights = np.ascontiguousarray(np.hstack([cell_totals.T, by_batch]))
    logs = np.ascontiguousarray(log(np.hstack([scales.T, batches])))
    rates, exposures = np.empty_like(weights), np.empty_like(by_cluster)

    def move_to(logs: NDArray[np.float64]) -> float:
        """Set rates and exposures; return the loss up to a constant."""
        np.multiply(np.exp(logs), weights > 0, out=rates)
        sides = rates[:, :n_clusters], rates[:, n_clusters:]
        np.einsum("bk,bj->kj", *sides, out=exposures)
        return float((by_cluster * log(exposures)).sum() - (weights * logs).sum())

    step = np.empty_like(weights)
    workspace = np.empty((5, *weights.shape)), np.empty((2, WIDTH))
    tiny, n_steps = np.finfo(float).tiny, 0
    with np.errstate(over="ignore", invalid="ignore"):
        loss = move_to(logs)
        while n_steps < MAX_NEWTON_STEPS:
            n_steps += 1
            shares = np.zeros_like(exposures)
            np.divide(1.0, exposures, out=shares, where=exposures > tiny)
            given = by_cluster, shares, rates, weights, tolerance
            if not balancing.find_newton_step(*given, step, *workspace) > tolerance:
                break
            np.clip(step, -MAX_LOG_CHANGE, MAX_LOG_CHANGE, out=step)
            while not (lower := move_to(logs + step)) <= loss + ROUNDING * abs(loss):
                step /= 4
            logs += step
            loss = min(loss, lower)
    scales[:], batches[:] = rates[:, :n_clusters].T, rates[:, n_clusters:]
    return n_steps
