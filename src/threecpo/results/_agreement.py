"""How well clusters agree with true labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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
    if not known.any():
        message = "truth holds no label of 0 or more; there is nothing to compare."
        raise ValueError(message)
    from scipy.optimize import linear_sum_assignment
    from sklearn import metrics
    from sklearn.metrics.cluster import contingency_matrix

    both = true[known], found[known]
    table = contingency_matrix(*both)
    best = table[linear_sum_assignment(table, maximize=True)]
    scores = {
        "ARI": metrics.adjusted_rand_score(*both),
        "NMI": metrics.normalized_mutual_info_score(*both),
        "ACC": best.sum() / table.sum(),
        "purity": table.max(axis=0).sum() / table.sum(),
        "homogeneity": metrics.homogeneity_score(*both),
        "completeness": metrics.completeness_score(*both),
    }
    return {name: float(score) for name, score in scores.items()}
