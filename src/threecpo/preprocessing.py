"""Transformations of counts before they are clustered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from ._options import check_choice
from ._parameters import SUBLINEAR
from ._validation import check_counts
from .table import CountTable

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike


__all__ = ["SublinearCounts"]


class SublinearCounts(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Reduce the weight of large counts by log(1 + x) or square root.

    Zeros stay zeros, so sparse input stays sparse. Clusters of transformed counts are
    better on some data and worse on others (docs/guide/reading.md); expected
    rates of a model are then in the new unit; tables and the report of a CountTable
    (``table=True``) show expected values in that of the counts.

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

    Examples
    --------
    >>> from threecpo.preprocessing import SublinearCounts
    >>> SublinearCounts("sqrt").fit_transform([[0, 4], [1, 9]])
    array([[0., 2.],
           [1., 3.]])

    In front of a clusterer:

    >>> from sklearn.pipeline import make_pipeline
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> model = ThreeCPO(3, random_state=0)
    >>> pipeline = make_pipeline(SublinearCounts("sqrt", table=True), model).fit(X)
    >>> bool((pipeline.predict(X) == pipeline[-1].labels_).all())
    True
    """

    def __init__(self, function: str = "log1p", *, table: bool = False) -> None:
        self.function = function
        self.table = table

    def fit(self, X: ArrayLike | Any, y: object = None) -> Self:  # noqa: ARG002
        """Check X and remember its columns.

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix, (n_rows, n_columns)
            Counts, 0 or more; never changed.
        y : None
            Not used; here for scikit-learn's conventions.

        Returns
        -------
        SublinearCounts
            The fitted transformer itself.
        """
        check_choice("function", self.function, SUBLINEAR)
        check_counts(X, self)
        return self

    def transform(self, X: ArrayLike | Any) -> Any:
        """Transform the rows of X.

        Parameters
        ----------
        X
            As in :meth:`fit`.

        Returns
        -------
        CountTable, ndarray or sparse matrix of shape (n_rows, n_columns)
            New values, in memory of their own: a table if ``table`` is set, else CSR
            where X is a CountTable or sparse, else an ndarray.
        """
        check_choice("function", self.function, SUBLINEAR)
        first = self.table and not hasattr(self, "n_features_in_")
        counts = check_counts(X, self, reset=first).transformed_by(self.function)
        if self.table and isinstance(X, CountTable):
            return replace(X, counts=counts)
        if self.table:
            names = getattr(self, "feature_names_in_", None)
            return CountTable(counts, column_names=names)
        out = counts.matrix().copy()
        if sp.issparse(X):
            return out if isinstance(X, sp.sparray) else sp.csr_matrix(out)
        # A frame of pandas has `sparse` where all of its columns are sparse.
        keeps = isinstance(X, CountTable) or hasattr(X, "sparse")
        return out if keeps else out.toarray()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.requires_fit = False
        return tags
