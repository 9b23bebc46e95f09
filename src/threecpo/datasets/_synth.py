"""Synth: three clusters in six columns, two of them relevant (the paper's appendix)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATIOS = np.array([[2, 3, 4, 1], [4, 1, 4, 1], [3, 2, 4, 1]])


def make_synth(
    n_rows: int = 1000, *, random_state: int | np.random.RandomState | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the synthetic data set of the paper.

    In the first four columns each of three clusters has its own proportions, (2, 3, 4,
    1), (4, 1, 4, 1) or (3, 2, 4, 1), times a row size drawn from 1 to 30. The fifth
    column is drawn from 0 to 15 and the sixth is always 20; then 1 to 5 is added to a
    fifth of all entries. So the first two columns are relevant (C1), the next two
    shared (C0) and the last two noise (C-).

    Parameters
    ----------
    n_rows : int, default=1000
        Number of rows, shared out over the clusters as equally as possible.
    random_state : int, RandomState or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_rows, 6)
        Counts.
    labels : ndarray of shape (n_rows,)
        True clusters 0, 1 and 2.

    Examples
    --------
    >>> from threecpo.datasets import make_synth
    >>> X, labels = make_synth(6, random_state=0)
    >>> labels
    array([0, 0, 1, 1, 2, 2])
    >>> X.shape
    (6, 6)
    """
    rng = check_random_state(random_state)
    labels = np.arange(n_rows) * len(RATIOS) // max(1, n_rows)
    X = np.empty((n_rows, 6), dtype=np.int64)
    X[:, :4] = rng.randint(1, 31, size=(n_rows, 1)) * RATIOS[labels]
    X[:, 4] = rng.randint(0, 16, size=n_rows)
    X[:, 5] = 20
    noisy = rng.permutation(X.size)[: X.size // 5]
    X.flat[noisy] += rng.randint(1, 6, size=len(noisy))
    return X, labels
