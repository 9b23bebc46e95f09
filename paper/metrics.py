"""Scores of clusters and column groups, and measures of counts, of the paper.

The scores compare labels of any kind (numbers, strings, anything that can be a key of a
dict), and only by which rows have the same. The label -1 of outliers is one like the
others, unless :func:`without_outliers` leaves them out.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from threecpo._core import seeding
from threecpo._options import check_non_negative
from threecpo._validation import check_counts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from threecpo._core.counts import Counts


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
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 2])
    0.75
    """
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
    >>> classes, clusters = [5, 5, 7, 7], [0, 0, 1, -1]
    >>> without_outliers(classes, clusters)
    (array([5, 5, 7]), array([0, 0, 1]))
    >>> clustering_accuracy(classes, clusters)
    0.75
    >>> clustering_accuracy(*without_outliers(classes, clusters))
    1.0
    """
    classes = _one_row(labels_true, "labels_true")
    found = _one_row(labels_pred, "labels_pred")
    _check_lengths(classes, found)
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
    >>> outlier_free_scores(["a", "a", "b", "b"], [0, 0, 1, -1])
    {'ACC': 1.0, 'NMI': 1.0, 'ARI': 1.0, 'n_outliers': 1}
    """
    classes, clusters = without_outliers(labels_true, labels_pred)
    if not len(clusters):
        message = "Every row is an outlier; there is nothing to score."
        raise ValueError(message)
    both = _codes(classes, "labels_true"), _codes(clusters, "labels_pred")
    return {
        "ACC": clustering_accuracy(*both),
        "NMI": float(normalized_mutual_info_score(*both)),
        "ARI": float(adjusted_rand_score(*both)),
        "n_outliers": np.size(labels_pred) - len(clusters),
    }


def _contingency(labels_true: Any, labels_pred: Any) -> sp.csr_array:
    """Number of rows of each class (row) in each cluster (column)."""
    classes = _codes(labels_true, "labels_true")
    clusters = _codes(labels_pred, "labels_pred")
    _check_lengths(classes, clusters)
    ones = np.ones(len(classes), dtype=np.int64)
    return sp.coo_array((ones, (classes, clusters))).tocsr()


@dataclass(frozen=True)
class ColumnRecovery:
    """How well groups of columns were found.

    Parameters
    ----------
    precision : float
        Share of true C1 columns among those found as C1.
    recall : float
        Share of found columns among the true C1.
    f1 : float
        Harmonic mean of precision and recall.
    accuracy : float
        Share of columns in their true group of the three.
    """

    precision: float
    recall: float
    f1: float
    accuracy: float


def column_recovery(
    true_groups: ArrayLike | Any, found_groups: ArrayLike | Any
) -> ColumnRecovery:
    """How well the relevant columns, and all three groups, were found.

    Parameters
    ----------
    true_groups : array-like of shape (n_columns,)
        Groups 1 (C1), 0 (C0) and -1 (C-).
    found_groups : array-like of shape (n_columns,)
        Groups found, such as ``column_groups_``.

    Returns
    -------
    ColumnRecovery
        Precision, recall and F1 of C1, and the accuracy over the three groups. Where
        C1 is empty in both, the first three are 1; where it is empty in one, 0.

    Examples
    --------
    >>> column_recovery([1, 1, 0, 0, -1, -1], [1, 1, 1, 1, 0, -1])
    ColumnRecovery(precision=0.5, recall=1.0, f1=0.6666666666666666, accuracy=0.5)
    """
    true = _groups(true_groups, "true_groups")
    found = _groups(found_groups, "found_groups")
    _check_lengths(true, found, ("true_groups", "found_groups"))
    accuracy = float(np.mean(true == found))
    both = int(np.sum((true == 1) & (found == 1)))
    n_true, n_found = int(np.sum(true == 1)), int(np.sum(found == 1))
    if not n_true and not n_found:
        return ColumnRecovery(1.0, 1.0, 1.0, accuracy)
    return ColumnRecovery(
        precision=both / n_found if n_found else 0.0,
        recall=both / n_true if n_true else 0.0,
        f1=2 * both / (n_true + n_found),
        accuracy=accuracy,
    )


def _groups(groups: Any, name: str) -> NDArray[Any]:
    array = _one_row(groups, name)
    wrong = [group for group in array.tolist() if group not in (1, 0, -1)]
    if wrong:
        message = f"{name} holds {wrong[0]!r}; groups are 1, 0 and -1."
        raise ValueError(message)
    return array


def poisson_distance(
    X: ArrayLike | Any, Y: ArrayLike | Any = None, prior: float = 1e-3
) -> NDArray[np.float64]:
    """Likelihood-ratio distance between rows of counts.

    The distance of two rows is what the Poisson log-likelihood loses when both must
    have the same proportions: half the statistic of the likelihood-ratio test for
    independence in the table of the two rows. It does not depend on row sizes alone:
    proportional rows have distance 0.

    Parameters
    ----------
    X : CountTable, array-like or sparse matrix of shape (n_rows_x, n_columns)
        Counts.
    Y : CountTable, array-like or sparse matrix, (n_rows_y, n_columns), default=None
        Other counts; ``X`` itself if None, and the result is then exactly symmetric
        with a diagonal of zeros.
    prior : float, default=1e-3
        Added to every count.

    Returns
    -------
    ndarray of shape (n_rows_x, n_rows_y)
        Distances, 0 or more.

    Examples
    --------
    >>> poisson_distance([[2, 4], [1, 2], [6, 0]]).round(2)
    array([[0.  , 0.  , 3.81],
           [0.  , 0.  , 2.85],
           [3.81, 2.85, 0.  ]])
    """
    x = check_counts(X)
    y = None if Y is None else check_counts(Y)
    if y is not None and y.n_columns != x.n_columns:
        message = f"X has {x.n_columns} columns and Y {y.n_columns}; they must agree."
        raise ValueError(message)
    return _pairwise_distances(x, y, check_non_negative("prior", prior))


def column_information(X: ArrayLike | Any, prior: float = 1e-3) -> NDArray[np.float64]:
    """Information that each column may hold about clusters of the rows.

    The Kullback-Leibler divergence of the column's distribution over the rows from the
    rows' shares of all counts: 0 for a column that follows the row sizes. Half of the
    columns, those with the largest values, are where :class:`ThreeCPO` starts.

    Parameters
    ----------
    X : CountTable, array-like or sparse matrix of shape (n_rows, n_columns)
        Counts.
    prior : float, default=1e-3
        Added to every count.

    Returns
    -------
    ndarray of shape (n_columns,)
        One value a column, in nats.

    Examples
    --------
    >>> column_information([[9, 5, 0], [1, 5, 10]]).round(2)
    array([0.42, 0.  , 0.63])
    """
    return seeding.column_information(
        check_counts(X), check_non_negative("prior", prior)
    )


def _pairwise_distances(
    x: Counts, y: Counts | None, prior: float
) -> NDArray[np.float64]:
    """All distances d(a, b) of rows of x and y (of x and x: exactly symmetric)."""
    distances = seeding.RowDistances.of(y or x, prior)
    rows = distances.terms if y is None else seeding.RowTerms.of(x, prior)
    out = np.empty((x.n_rows, len(distances.terms.row_sizes)))
    for i in range(len(out)):
        out[i] = distances.to(rows, i)
        if y is None:
            out[i, :i] = out[:i, i]
            out[i, i] = 0.0
    return out


def _codes(labels: Any, name: str) -> NDArray[np.int64]:
    """Whole numbers from 0 that are equal where the labels are."""
    array = _one_row(labels, name)
    if array.dtype != object:
        return np.unique(array, return_inverse=True)[1]
    numbers: dict[Any, int] = {}
    try:
        found = [numbers.setdefault(label, len(numbers)) for label in array]
    except TypeError as error:
        message = f"{name} holds something that cannot be a label: {error}."
        raise ValueError(message) from error
    return np.array(found, dtype=np.int64)


def _one_row(labels: Any, name: str) -> NDArray[Any]:
    """Labels as an array; of objects where numpy would turn some into strings."""
    if hasattr(labels, "dtype"):
        array = np.asarray(labels)
        if array.ndim != 1:
            message = f"{name} must be one row of labels; its shape is {array.shape}."
            raise ValueError(message)
        return array
    try:
        given = list(labels)
    except TypeError as error:
        message = f"{name} must be one row of labels; it is {labels!r}."
        raise ValueError(message) from error
    kinds = {type(label) for label in given}
    if kinds in ({int}, {float}, {bool}, {str}):
        return np.array(given)
    return np.fromiter(given, dtype=object, count=len(given))


def _check_lengths(
    first: NDArray[Any],
    second: NDArray[Any],
    names: tuple[str, str] = ("labels_true", "labels_pred"),
) -> None:
    if len(first) != len(second):
        message = (
            f"{names[0]} has length {len(first)} and {names[1]} {len(second)}; "
            "they must agree."
        )
        raise ValueError(message)
    if not len(first):
        message = f"{names[0]} and {names[1]} are empty."
        raise ValueError(message)
