"""Scores of clusters against classes, with and without outliers."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ._labels import check_lengths, codes, one_row

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def clustering_accuracy(
    labels_true: ArrayLike | Any, labels_pred: ArrayLike | Any
) -> float:
    """Share of rows whose cluster stands for their class (ACC).

    Clusters stand for classes one to one, in the way that is best for the score (by the
    Hungarian method); clusters or classes that are too many stand for none.

    Parameters
    ----------
    labels_true : array-like of shape (n_rows,)
        Classes.
    labels_pred : array-like of shape (n_rows,)
        Clusters found.

    Returns
    -------
    float
        From above 0 to 1, where 1 is the same partition.

    Examples
    --------
    >>> from threecpo.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 2])
    0.75
    """
    from scipy.optimize import linear_sum_assignment

    table = _contingency(labels_true, labels_pred).toarray()
    classes, clusters = linear_sum_assignment(table, maximize=True)
    return float(table[classes, clusters].sum() / table.sum())


def purity(labels_true: ArrayLike | Any, labels_pred: ArrayLike | Any) -> float:
    """Share of rows that are of the commonest class of their cluster.

    More clusters never lower it, and a cluster for each row gives 1: read it beside the
    number of clusters.

    Parameters
    ----------
    labels_true : array-like of shape (n_rows,)
        Classes.
    labels_pred : array-like of shape (n_rows,)
        Clusters found.

    Returns
    -------
    float
        From above 0 to 1; at least :func:`clustering_accuracy`.

    Examples
    --------
    >>> from threecpo.metrics import purity
    >>> purity(["a", "a", "b", "b"], [1, 1, 0, 2])
    1.0
    """
    table = _contingency(labels_true, labels_pred)
    return float(table.max(axis=0).sum() / table.sum())


def without_outliers(
    labels_true: ArrayLike | Any, labels_pred: ArrayLike | Any
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both labels of the rows that are no outliers.

    Any score of what is left is the paper's score with a star.

    Parameters
    ----------
    labels_true : array-like of shape (n_rows,)
        Classes, of any kind.
    labels_pred : array-like of shape (n_rows,)
        Clusters found, as numbers; below 0 for an outlier.

    Returns
    -------
    tuple of two ndarrays
        Classes and clusters of the rows whose cluster is 0 or more.

    Examples
    --------
    >>> from threecpo.metrics import clustering_accuracy, without_outliers
    >>> classes, clusters = [5, 5, 7, 7], [0, 0, 1, -1]
    >>> without_outliers(classes, clusters)
    (array([5, 5, 7]), array([0, 0, 1]))
    >>> clustering_accuracy(classes, clusters)
    0.75
    >>> clustering_accuracy(*without_outliers(classes, clusters))
    1.0
    """
    classes = one_row(labels_true, "labels_true")
    found = one_row(labels_pred, "labels_pred")
    check_lengths(classes, found)
    if found.dtype == object:
        found = np.asarray(found.tolist())
    if found.dtype.kind not in "iuf" or np.isnan(found).any():
        message = (
            "labels_pred must be numbers, below 0 for an outlier; it is "
            f"{reprlib.repr(found.tolist())}."
        )
        raise ValueError(message)
    kept = found >= 0
    return classes[kept], found[kept]


def outlier_free_scores(
    labels_true: ArrayLike | Any, labels_pred: ArrayLike | Any
) -> dict[str, float]:
    """ACC, NMI and ARI of the rows that are no outliers (ACC*, NMI*, ARI*).

    Parameters
    ----------
    labels_true : array-like of shape (n_rows,)
        Classes, of any kind.
    labels_pred : array-like of shape (n_rows,)
        Clusters found, as numbers; below 0 for an outlier.

    Returns
    -------
    dict of str to float
        ``ACC`` (:func:`clustering_accuracy`), ``NMI`` and ``ARI`` of what
        :func:`without_outliers` leaves, and ``n_outliers``, the number of rows left
        out. If that is all of them, a ValueError says so.

    Examples
    --------
    >>> from threecpo.metrics import outlier_free_scores
    >>> outlier_free_scores(["a", "a", "b", "b"], [0, 0, 1, -1])
    {'ACC': 1.0, 'NMI': 1.0, 'ARI': 1.0, 'n_outliers': 1}
    """
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    classes, clusters = without_outliers(labels_true, labels_pred)
    if not len(clusters):
        message = "Every row is an outlier; there is nothing to score."
        raise ValueError(message)
    both = codes(classes, "labels_true"), codes(clusters, "labels_pred")
    return {
        "ACC": clustering_accuracy(*both),
        "NMI": float(normalized_mutual_info_score(*both)),
        "ARI": float(adjusted_rand_score(*both)),
        "n_outliers": np.size(labels_pred) - len(clusters),
    }


def _contingency(labels_true: Any, labels_pred: Any) -> sp.csr_array:
    """Number of rows of each class (row) in each cluster (column)."""
    classes = codes(labels_true, "labels_true")
    clusters = codes(labels_pred, "labels_pred")
    check_lengths(classes, clusters)
    ones = np.ones(len(classes), dtype=np.int64)
    return sp.coo_array((ones, (classes, clusters))).tocsr()
