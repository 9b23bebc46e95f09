"""How well clusters agree with true labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import metrics

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_SCORES: dict[str, Any] = {
    "ARI": metrics.adjusted_rand_score,
    "NMI": metrics.normalized_mutual_info_score,
    "ACC": metrics.clustering_accuracy,
    "purity": metrics.purity,
}
SCORE_NAMES = tuple(_SCORES)


def agreement(truth: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Scores of clusters against true labels, on the rows that have one.

    Parameters
    ----------
    truth : array-like of shape (n_rows,)
        True label of each row, from 0; rows with -1 are left out.
    labels : array-like of shape (n_rows,)
        Cluster of each row; outliers (-1) count as one more cluster.

    Returns
    -------
    dict of str to float
        ``ARI`` (adjusted Rand index), ``NMI`` (normalised mutual information), ``ACC``
        (accuracy) and ``purity``; 1 at best.

    Examples
    --------
    >>> from threecpo.results import agreement
    >>> agreement([0, 0, 1, 1, -1], [1, 1, 0, 0, 0])["ARI"]
    1.0
    """
    true, found = np.asarray(truth), np.asarray(labels)
    known = true >= 0
    return {
        name: float(score(true[known], found[known])) for name, score in _SCORES.items()
    }
