"""The BIC of X-means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def x_means_bic(inertia: float, sizes: NDArray[Any], n_columns: int) -> float:
    """BIC of a k-means fit as printed by Pelleg and Moore (2000); larger is better.

    ``sizes`` are the rows of each cluster, of which none is empty. The formula is kept
    to the letter: the variance is not divided by ``n_columns``, and every cluster has
    its own K in R_n - K, which favours many clusters where rows are few. A perfect fit
    scores infinity.
    """
    n_rows, n_clusters = sizes.sum(), len(sizes)
    if inertia <= 0.0 or n_rows <= n_clusters:
        return np.inf
    variance = inertia / (n_rows - n_clusters)
    log_likelihood = (
        sizes @ np.log(sizes / n_rows)
        - n_rows / 2 * np.log(2 * np.pi)
        - n_rows * n_columns / 2 * np.log(variance)
        - (n_rows - n_clusters**2) / 2
    )
    n_parameters = n_clusters * (n_columns + 1)
    return float(log_likelihood - n_parameters / 2 * np.log(n_rows))
