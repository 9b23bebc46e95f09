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
_ONE_SIDED = ("homogeneity", "completeness")


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
        (accuracy) and ``purity``; ``homogeneity`` (clusters hold one class each) and
        ``completeness`` (classes lie in one cluster each). All are 1 at best. Where
        there are more clusters than classes, purity and homogeneity say whether
        clusters are parts of classes, which ARI and ACC count as failure.

    Examples
    --------
    >>> from threecpo.results import agreement
    >>> agreement([0, 0, 1, 1, -1], [1, 1, 0, 0, 0])["ARI"]
    1.0
    """
    true, found = np.asarray(truth), np.asarray(labels)
    if true.shape != found.shape:
        message = (
            f"truth has shape {true.shape}, labels {found.shape}: one of each for "
            "every row."
        )
        raise ValueError(message)
    known = true >= 0
    from sklearn.metrics import completeness_score, homogeneity_score

    both = true[known], found[known]
    scores = {name: float(score(*both)) for name, score in _SCORES.items()}
    one_sided = homogeneity_score(*both), completeness_score(*both)
    return scores | dict(zip(_ONE_SIDED, map(float, one_sided), strict=True))
