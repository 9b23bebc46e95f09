"""Rates of clusters and batches, and scales of cells, fitted to sums of the data.

Turns of proportional fitting are quick, and mostly few are enough. Where they get on
slowly, Newton's method takes over if there are few unknowns, and turns are
extrapolated if there are many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .extrapolation import FARTHEST, Extrapolation
from .loops.simd import WIDTH
from .model import log

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How far the loss may be from its minimum, in nats for each count.
TOLERANCE = 1e-12
# Turns before something better is tried, and in all. Where there are many unknowns but
# no more products of rates than this, turns take a tenth of the time of a step that is
# extrapolated, and more of them are made first.
PLAIN_TURNS = 8
QUICK_TURNS = 32
MOST_QUICK = 1 << 16
MOST_TURNS = 500
# Unknowns up to which Newton's method is used, and what is added to its curvature: some
# rates can be changed together without any effect.
MOST_EXACT = 128
RIDGE = 1e-13


@dataclass(frozen=True)
class Balance:
    """Sums of columns and cells, and the rates and scales that are fitted to them."""

    by_cluster: NDArray[np.float64]
    by_batch: NDArray[np.float64]
    cell_totals: NDArray[np.float64]
    scales: NDArray[np.float64]
    clusters: NDArray[np.float64]
    batches: NDArray[np.float64]

    def fit(self) -> int:
        """Fit from where they are; return the number of turns."""
        tolerance = TOLERANCE * self.cell_totals.sum()
        n_unknowns = self.cell_totals.size + self.by_batch.size
        n_products = self.cell_totals.size * self.by_batch.shape[1]
        quick = n_unknowns > MOST_EXACT and n_products <= MOST_QUICK
        most = QUICK_TURNS if quick else PLAIN_TURNS
        n_turns = self._turn(tolerance, most)
        if n_turns <= most:
            return n_turns
        weights = np.concatenate([self.cell_totals.ravel(), self.by_batch.ravel()])
        if n_unknowns <= MOST_EXACT:
            return n_turns + self._descend(weights, tolerance)
        extrapolation = Extrapolation(weights)
        while n_turns < MOST_TURNS:
            place = self._place
            self._turn(0.0, 1)
            n_turns += 1
            value = -_sum(weights, place) - _sum(self.by_cluster, log(self.clusters))
            place, gap = extrapolation.after(place, self._place, value)
            if gap <= tolerance:
                break
            self._move_to(place, weights)
        return n_turns

    def _descend(self, weights: NDArray[np.float64], tolerance: float) -> int:
        """Fit by Newton's method, which is not slow where rates go to 0."""
        from .loops import balancing

        slope, curve = np.empty(len(weights)), np.empty((len(weights),) * 2)
        sums = (self.by_cluster, self.by_batch, self.cell_totals)
        n_steps = 0
        while n_steps < MOST_TURNS:
            n_steps += 1
            value, place = self._value(weights), self._place
            room = slope, curve, np.empty(len(self.batches))
            balancing.fill_curvature(*sums, self.scales, self.batches, *room)
            curve.flat[:: len(slope) + 1] += RIDGE * weights + (weights == 0)
            step = -slope
            balancing.solve_positive(curve, step)
            gap = -_sum(slope, step)
            if gap <= tolerance:
                break
            times = min(1.0, FARTHEST / np.abs(step).max())
            self._move_to(place + times * step, weights)
            while self._value(weights) > value and times > np.finfo(float).eps:
                times /= 4
                self._move_to(place + times * step, weights)
        self._turn(0.0, 1)
        return n_steps

    def _turn(self, tolerance: float, most: int) -> int:
        from .loops import balancing

        sums = (self.by_cluster, self.by_batch, self.cell_totals)
        rates = (self.scales, self.clusters, self.batches)
        room = np.empty_like(self.scales), np.empty(WIDTH)
        return int(balancing.fit_rates(*sums, *rates, tolerance, most, *room))

    @property
    def _place(self) -> NDArray[np.float64]:
        """Logarithms of scales and of rates of batches, 0 where they are 0."""
        return log(np.concatenate([self.scales.ravel(), self.batches.ravel()]))

    def _move_to(
        self, place: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> None:
        found = np.exp(place) * (weights > 0)
        n_cells = self.scales.size
        self.scales[:] = found[:n_cells].reshape(self.scales.shape)
        self.batches[:] = found[n_cells:].reshape(self.batches.shape)

    def _value(self, weights: NDArray[np.float64]) -> float:
        """Loss with the best rates of clusters, up to what does not change."""
        exposures = np.einsum("kb,bj->kj", self.scales, self.batches)
        return _sum(self.by_cluster, log(exposures)) - _sum(weights, self._place)


def _sum(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float((a * b).sum())
