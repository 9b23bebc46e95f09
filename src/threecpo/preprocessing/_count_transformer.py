"""What all transformers of counts share: one check, one representation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._validation import check_counts
from ..table import CountTable

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts


class CountTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base of the transformers: checks counts, and gives back the kind it was given."""

    def fit(self, X: ArrayLike | Any, y: object = None) -> Self:  # noqa: ARG002
        """Check X and learn what later rows are compared with.

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix, (n_rows, n_columns)
            Counts, 0 or more; never changed.
        y : None
            Not used; here for scikit-learn's conventions.

        Returns
        -------
        CountTransformer
            The fitted transformer itself.
        """
        self._check_parameters()
        self._learn(check_counts(X, self))
        return self

    def transform(self, X: ArrayLike | Any) -> Any:
        """Transform the rows of X.

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix, (n_rows, n_columns)
            Counts of the same columns; never changed.

        Returns
        -------
        ndarray or sparse matrix of shape (n_rows, n_columns)
            New values, in memory of their own. Where the transformer keeps sparsity,
            a CountTable and sparse input give CSR with sorted 32-bit indices and no
            stored zeros.
        """
        if self.__sklearn_tags__().requires_fit:
            check_is_fitted(self)
        self._check_parameters()
        out = self._transformed(check_counts(X, self, reset=False))
        if not sp.issparse(out):
            return out
        if sp.issparse(X):
            return out if isinstance(X, sp.sparray) else sp.csr_matrix(out)
        # A frame of pandas has `sparse` where all of its columns are sparse.
        keeps = isinstance(X, CountTable) or hasattr(X, "sparse")
        return out if keeps else out.toarray()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""

    def _learn(self, counts: Counts) -> None:
        """Store what ``_transformed`` needs beside the row itself."""

    def _transformed(self, counts: Counts) -> sp.csr_array | NDArray[np.float64]:
        raise NotImplementedError


class RowTransformer(CountTransformer):
    """Base of those that look at one row at a time and learn nothing."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class CanonicalCounts(RowTransformer):
    """Counts as they are, checked and made canonical.

    Puts the checks and errors of :class:`threecpo.ThreeCPO` in front of estimators of
    scikit-learn, and what they need of sparse input: sorted 32-bit indices, duplicates
    added up, no stored zeros. Sparse input stays sparse.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_columns,)
        Column names, where X is a frame whose columns have names.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from threecpo.preprocessing import CanonicalCounts
    >>> twice = sp.coo_array(([1, 2, 0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    >>> twice.nnz, CanonicalCounts().fit_transform(twice).nnz
    (3, 1)
    """

    def _transformed(self, counts: Counts) -> sp.csr_array:
        return with_values(counts, counts.data.copy())


def with_values(counts: Counts, values: NDArray[np.float64]) -> sp.csr_array:
    """Return these values in the places of the counts, which share no memory."""
    matrix = counts.matrix()
    parts = (values, matrix.indices.copy(), matrix.indptr.copy())
    return sp.csr_array(parts, shape=matrix.shape)


def for_each_count(counts: Counts, values: NDArray[Any]) -> NDArray[Any]:
    """Return one value a row as one value a stored count."""
    return np.repeat(values, np.diff(counts.indptr))


def row_totals(counts: Counts) -> NDArray[np.float64]:
    """Return the sum of each row."""
    return np.asarray(counts.matrix().sum(axis=1))


def row_extremes(counts: Counts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest and the largest value of each row, zeros included."""
    matrix = counts.matrix()
    return matrix.min(axis=1).toarray(), matrix.max(axis=1).toarray()
