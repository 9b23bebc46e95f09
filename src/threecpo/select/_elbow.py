"""The elbow of a falling curve of losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def elbow(n_clusters: NDArray[Any], losses: NDArray[Any]) -> int | None:
    """Where a convex falling curve bends most, by Kneedle (Satopää et al., 2011).

    ``n_clusters`` ascend. The first peak above the straight line from which the curve
    comes down by more than a mean step (S = 1) is the elbow; None if there is no such.
    """
    if np.ptp(losses) == 0.0:
        return None
    x, y = _unit(n_clusters), _unit(losses)
    height = (1.0 - y) - x
    step = np.diff(x).mean()
    peaks = height >= np.maximum(
        np.r_[height[0], height[:-1]], np.r_[height[1:], height[-1]]
    )
    peak = None
    for i in range(len(height) - 1):
        peak = i if peaks[i] else peak
        if peak is not None and height[i + 1] < height[peak] - step:
            return int(n_clusters[peak])
    return None


def _unit(values: NDArray[Any]) -> NDArray[np.float64]:
    """Scaled to [0, 1]."""
    return (values - values.min()) / np.ptp(values)
