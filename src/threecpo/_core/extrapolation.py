"""Steps that converge slowly, extrapolated (Anderson's method)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Changes of steps that are remembered.
WINDOW = 8
# No number moves further than this at once: rates are known by their logarithms.
FARTHEST = 10.0
# A step that leads up is made shorter, one that is not long enough longer.
SHORTER = 4.0
LONGER = 2.0
# Rounding of values, beside their size.
ROUNDING = 1e-14


class Extrapolation:
    """Where steps of a map x → g(x) lead, from some that were made.

    The map is a descent of a function. Steps f = g(x) - x are taken to be linear in x;
    the combination of steps with the least Σ weight f² says where they would vanish.
    Where that leads up, it is tried with less of it.
    """

    def __init__(self, weights: NDArray[np.float64]) -> None:
        self.weights = weights
        self._best = self._ahead = np.empty(0)
        self._lowest, self._times = np.inf, 1.0
        self._last: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._changes: list[NDArray[np.float64]] = []
        self._moves: list[NDArray[np.float64]] = []
        self._weighted: list[NDArray[np.float64]] = []
        self._products = np.empty((0, 0))

    def after(
        self, place: NDArray[np.float64], reached: NDArray[np.float64], value: float
    ) -> tuple[NDArray[np.float64], float]:
        """Where to go after the map led from a place to ``reached``.

        Also how far the function, which has this value at the place, is from its
        minimum: Σ weight f s, with s the step to where steps vanish.
        """
        first = reached - place
        if not value <= self._lowest + ROUNDING * abs(self._lowest):
            self._ahead, self._times = self._ahead / SHORTER, 1.0
            return self._best + self._ahead, np.inf
        self._lowest, self._best = min(value, self._lowest), reached
        self._remember(reached, first)
        self._last = reached, first
        step = self._step_to_the_end(first)
        weighted = self.weights * first
        length, gap = float((weighted * first).sum()), float((weighted * step).sum())
        if gap > length:
            self._times = 1.0
        else:
            gap = float(np.sqrt(length * self.weights.sum()))
            if self._changes:  # steps do not get shorter, so the end is far
                self._forget()
                step = np.clip(self._times * first, -FARTHEST, FARTHEST)
                self._times *= LONGER
        self._ahead = step - first
        return place + step, gap

    def _step_to_the_end(self, first: NDArray[np.float64]) -> NDArray[np.float64]:
        """Step to where steps vanish, if they are linear."""
        step = first.copy()
        if self._changes:
            wanted = [(each * first).sum() for each in self._weighted]
            # As small as this, LAPACK has one thread; BLAS on long sums has more.
            shares = np.linalg.lstsq(self._products, wanted, rcond=1e-14)[0]
            for share, move in zip(shares, self._moves, strict=True):
                step -= share * move
        return np.clip(step, -FARTHEST, FARTHEST)

    def _remember(
        self, reached: NDArray[np.float64], step: NDArray[np.float64]
    ) -> None:
        """Keep how the step and what it reached have changed since the last one."""
        if self._last is None:
            return
        kept = slice(1 - WINDOW, None)
        before, step_before = self._last
        change = step - step_before
        self._changes = [*self._changes[kept], change]
        self._moves = [*self._moves[kept], reached - before]
        self._weighted = [*self._weighted[kept], self.weights * change]
        products = np.empty((len(self._changes),) * 2)
        products[:-1, :-1] = self._products[kept, kept]
        products[-1] = [(each * change).sum() for each in self._weighted]
        products[:, -1] = products[-1]
        self._products = products

    def _forget(self) -> None:
        self._changes, self._moves, self._weighted = [], [], []
        self._products = np.empty((0, 0))
