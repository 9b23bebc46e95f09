"""Measures of counts themselves: distances of rows, information of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._options import check_non_negative
from .._validation import check_counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


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
    >>> from threecpo import poisson_distance
    >>> poisson_distance([[2, 4], [1, 2], [6, 0]]).round(2)
    array([[0.  , 0.  , 3.81],
           [0.  , 0.  , 2.85],
           [3.81, 2.85, 0.  ]])

    With scikit-learn's agglomerative clustering:

    >>> from sklearn.cluster import AgglomerativeClustering
    >>> distances = poisson_distance([[2, 4], [1, 2], [6, 0]])
    >>> by_pairs = AgglomerativeClustering(metric="precomputed", linkage="complete")
    >>> by_pairs.fit_predict(distances)
    array([0, 0, 1])
    """
    from .._core import seeding

    x = check_counts(X)
    y = None if Y is None else check_counts(Y)
    if y is not None and y.n_columns != x.n_columns:
        message = f"X has {x.n_columns} columns and Y {y.n_columns}; they must agree."
        raise ValueError(message)
    return seeding.pairwise_distances(x, y, check_non_negative("prior", prior))


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
    >>> from threecpo import column_information
    >>> column_information([[9, 5, 0], [1, 5, 10]]).round(2)
    array([0.42, 0.  , 0.63])
    """
    from .._core import seeding

    return seeding.column_information(
        check_counts(X), check_non_negative("prior", prior)
    )
