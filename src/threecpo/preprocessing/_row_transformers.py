"""Transformations of each row by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._names import SUBLINEAR
from .._options import check_choice
from .._validation import check_counts
from ..table import CountTable
from ._count_transformer import (
    RowTransformer,
    for_each_count,
    row_extremes,
    row_totals,
    with_values,
)

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts


class RowStandardizer(RowTransformer):
    """Row-wise z-normalisation (STD); the output is dense.

    The value x of a row becomes (x - mean) / std, with the mean and the standard
    deviation (over m, not m - 1) of the row's m values. A constant row becomes 0.

    Zeros do not stay zeros, so the output is a dense array for sparse input too:
    8 bytes for each of the n × m values.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_columns,)
        Column names, where X is a frame whose columns have names.

    Examples
    --------
    >>> from threecpo.preprocessing import RowStandardizer
    >>> RowStandardizer().fit_transform([[0, 2], [1, 9], [5, 5]])
    array([[-1.,  1.],
           [-1.,  1.],
           [ 0.,  0.]])
    """

    def _transformed(self, counts: Counts) -> NDArray[np.float64]:
        smallest, largest = row_extremes(counts)
        # Powers of two change no digit, and keep squares within floats.
        exponents = -np.frexp(largest)[1]
        values = np.ldexp(counts.data, for_each_count(counts, exponents))
        out = with_values(counts, values).toarray()
        out -= out.mean(axis=1, keepdims=True)
        constant = smallest == largest
        deviations = np.sqrt(np.einsum("ij,ij->i", out, out) / counts.n_columns)
        out /= np.where(constant, 1.0, deviations)[:, None]
        out[constant] = 0.0
        return out


class RowMinMaxScaler(RowTransformer):
    """Row-wise min-max normalisation (MM).

    The value x of a row becomes (x - min) / (max - min), with the extremes of the row's
    values, zeros included. A constant row becomes 0.

    Sparse input stays sparse: a zero is its row's minimum and becomes 0, and in a row
    without zeros the values equal to the minimum become 0.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_columns,)
        Column names, where X is a frame whose columns have names.

    Examples
    --------
    >>> from threecpo.preprocessing import RowMinMaxScaler
    >>> RowMinMaxScaler().fit_transform([[0, 2, 4], [1, 5, 2], [5, 5, 5]])
    array([[0.  , 0.5 , 1.  ],
           [0.  , 1.  , 0.25],
           [0.  , 0.  , 0.  ]])
    """

    def _transformed(self, counts: Counts) -> sp.csr_array:
        smallest, largest = row_extremes(counts)
        spans = np.where(smallest == largest, 1.0, largest - smallest)
        above = counts.data - for_each_count(counts, smallest)
        out = with_values(counts, above / for_each_count(counts, spans))
        out.eliminate_zeros()
        return out


class SublinearCounts(RowTransformer):
    """Square roots or logarithms of counts, so that large ones count for less.

    Zeros stay zeros, so sparse input stays sparse. Clusters of transformed counts are
    better on some data and worse on others (docs/transformed-counts.md); expected
    counts and rates of a model are then in the new unit.

    Parameters
    ----------
    function : {"log1p", "sqrt"}, default="log1p"
        log(1 + x), or the square root.
    table : bool, default=False
        Return a CountTable, which keeps column names and tells
        :class:`threecpo.ThreeCPO` that the values were made of counts on purpose.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_columns,)
        Column names, where X is a frame whose columns have names.

    See Also
    --------
    sublinear_pipeline : This with a clusterer behind it.

    Examples
    --------
    >>> from threecpo.preprocessing import SublinearCounts
    >>> SublinearCounts("sqrt").fit_transform([[0, 4], [1, 9]])
    array([[0., 2.],
           [1., 3.]])
    """

    def __init__(self, function: str = "log1p", *, table: bool = False) -> None:
        self.function = function
        self.table = table

    def transform(self, X: ArrayLike | Any) -> Any:
        """Transform the rows of X.

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix, (n_rows, n_columns)
            Counts of the same columns; never changed.

        Returns
        -------
        CountTable, ndarray or sparse matrix of shape (n_rows, n_columns)
            New values, in memory of their own: sparse where X is, or a table if
            ``table`` is set.
        """
        if not self.table:
            return super().transform(X)
        self._check_parameters()
        counts = check_counts(X, self, reset=not hasattr(self, "n_features_in_"))
        counts = counts.with_values(self._values(counts))
        if isinstance(X, CountTable):
            return replace(X, counts=counts)
        names = getattr(self, "feature_names_in_", None)
        return CountTable(counts, column_names=names)

    def _check_parameters(self) -> None:
        check_choice("function", self.function, SUBLINEAR)

    def _values(self, counts: Counts) -> NDArray[np.float64]:
        return getattr(np, self.function)(counts.data)

    def _transformed(self, counts: Counts) -> sp.csr_array:
        return with_values(counts, self._values(counts))


class RelativeFrequency(RowTransformer):
    """Shares of the row's total (RF).

    The value x of a row becomes x / r, with the row's total r. A zero row stays 0.
    Sparse input stays sparse.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_columns,)
        Column names, where X is a frame whose columns have names.

    Examples
    --------
    >>> from threecpo.preprocessing import RelativeFrequency
    >>> RelativeFrequency().fit_transform([[1, 3], [2, 2], [0, 0]])
    array([[0.25, 0.75],
           [0.5 , 0.5 ],
           [0.  , 0.  ]])
    """

    def _transformed(self, counts: Counts) -> sp.csr_array:
        totals = for_each_count(counts, row_totals(counts))
        return with_values(counts, counts.data / totals)
