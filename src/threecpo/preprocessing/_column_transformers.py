"""Transformations that compare a row with the column totals of the rows of ``fit``."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .._options import check_non_negative
from ._count_transformer import (
    CountTransformer,
    for_each_count,
    row_totals,
    with_values,
)

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from .._core.counts import Counts

BLOCK_VALUES = 1 << 20


class RevealedComparativeAdvantage(CountTransformer):
    """Revealed comparative advantage (RCA).

    The value x of a row becomes x N / (r c), with the row's total r, the column's total
    c and the total N of all counts: how many times larger x is than if the row had the
    proportions of all rows together. c and N are those of the rows of ``fit``, r is the
    row's own.

    Zero rows and columns stay 0; so does, in any later row, a column that had no counts
    in ``fit``. Sparse input stays sparse.

    Attributes
    ----------
    column_totals_ : ndarray of shape (n_columns,)
        Totals c of the rows of ``fit``; N is their sum.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_columns,)
        Column names, where X is a frame whose columns have names.

    References
    ----------
    B. Balassa, "Trade Liberalisation and 'Revealed' Comparative Advantage", The
    Manchester School 33, 1965.

    Examples
    --------
    >>> from threecpo.preprocessing import RevealedComparativeAdvantage
    >>> advantage = RevealedComparativeAdvantage().fit([[3, 1], [1, 3]])
    >>> advantage.transform([[3, 1], [1, 0]])
    array([[1.5, 0.5],
           [2. , 0. ]])
    """

    def _learn(self, counts: Counts) -> None:
        self.column_totals_ = _column_totals(counts)

    def _transformed(self, counts: Counts) -> sp.csr_array:
        shares = _shares(self.column_totals_)
        inverse = np.divide(1.0, shares, out=np.zeros_like(shares), where=shares > 0)
        frequencies = counts.data / for_each_count(counts, row_totals(counts))
        out = with_values(counts, frequencies * inverse[counts.indices])
        out.eliminate_zeros()
        return out


class PoissonStandardizer(CountTransformer):
    """Standardisation under the Poisson model (P-STD); the output is dense.

    The value x of a row becomes (x - μ) / μ^alpha with μ = r c / N, where r is the
    row's total, c the column's and N the total of all counts. c and N are those of the
    rows of ``fit``, r is the row's own. With ``alpha=0.5`` these are the standard
    scores, as a Poisson variable of mean μ has variance μ, and their squares sum to
    Pearson's chi-squared statistic.

    Where μ is 0 (in zero rows, and in columns that had no counts in ``fit``) the value
    is the limit of -μ^(1 - alpha): 0, or -1 for ``alpha=1``.

    Zeros do not stay zeros, so the output is a dense array for sparse input too:
    8 bytes for each of the n × m values.

    Parameters
    ----------
    alpha : float, default=0.5
        Weight of μ in the denominator, from 0 to 1. 0 only centres; 1 is
        :class:`RevealedComparativeAdvantage` minus 1.

    Attributes
    ----------
    column_totals_ : ndarray of shape (n_columns,)
        Totals c of the rows of ``fit``; N is their sum.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_columns,)
        Column names, where X is a frame whose columns have names.

    Examples
    --------
    >>> from threecpo.preprocessing import PoissonStandardizer
    >>> PoissonStandardizer().fit_transform([[12, 4], [4, 12], [0, 0]]).round(3)
    array([[ 1.414, -1.414],
           [-1.414,  1.414],
           [ 0.   ,  0.   ]])
    """

    def __init__(self, alpha: float = 0.5) -> None:
        self.alpha = alpha

    def _check_parameters(self) -> None:
        _check_share("alpha", self.alpha)

    def _learn(self, counts: Counts) -> None:
        self.column_totals_ = _column_totals(counts)

    def _transformed(self, counts: Counts) -> NDArray[np.float64]:
        out = counts.matrix().toarray()
        totals, shares = row_totals(counts), _shares(self.column_totals_)
        step = max(1, BLOCK_VALUES // counts.n_columns)
        for start in range(0, counts.n_rows, step):
            block = out[start : start + step]
            expected = np.outer(totals[start : start + step], shares)
            unexpected = expected == 0
            block -= expected
            block /= np.where(unexpected, 1.0, expected) ** self.alpha
            block[unexpected] = -1.0 if self.alpha == 1 else 0.0
        return out


class BM25Transformer(CountTransformer):
    """Okapi BM25 weights of the terms (columns) of documents (rows).

    The count x of a term in a document of length r (its total) becomes::

        idf * x (k + 1) / (x + k (1 - b + b r / average length))
        idf = log(1 + (n - df + 0.5) / (df + 0.5))

    where df of the n documents of ``fit`` hold the term. The 1 in the logarithm keeps
    the weight of a term in more than half of the documents above 0. n, df and the
    average length are those of the rows of ``fit``; where these held no counts at all,
    every later row is taken to be of average length.

    Zeros stay zeros, and sparse input stays sparse.

    Parameters
    ----------
    k : float, default=1.5
        How slowly more of the same term saturates; 0 only looks at whether it is there.
    b : float, default=0.75
        How much long documents are discounted, from 0 to 1.

    Attributes
    ----------
    idf_ : ndarray of shape (n_columns,)
        Inverse document frequencies, in nats.
    average_length_ : float
        Mean total of the rows of ``fit``.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_columns,)
        Column names, where X is a frame whose columns have names.

    References
    ----------
    S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and
    Beyond", Foundations and Trends in Information Retrieval 3, 2009.

    Examples
    --------
    >>> from threecpo.preprocessing import BM25Transformer
    >>> BM25Transformer().fit_transform([[2, 1, 0], [0, 1, 2]]).round(2)
    array([[0.99, 0.18, 0.  ],
           [0.  , 0.18, 0.99]])
    """

    def __init__(self, k: float = 1.5, b: float = 0.75) -> None:
        self.k = k
        self.b = b

    def _check_parameters(self) -> None:
        check_non_negative("k", self.k)
        _check_share("b", self.b)

    def _learn(self, counts: Counts) -> None:
        holding = np.bincount(counts.indices, minlength=counts.n_columns)
        self.idf_ = np.log1p((counts.n_rows - holding + 0.5) / (holding + 0.5))
        self.average_length_ = float(row_totals(counts).mean())

    def _transformed(self, counts: Counts) -> sp.csr_array:
        lengths = row_totals(counts)
        average = self.average_length_
        relative = lengths / average if average > 0 else np.ones_like(lengths)
        discounts = self.k * (1 - self.b + self.b * relative)
        saturated = counts.data + for_each_count(counts, discounts)
        weights = self.idf_[counts.indices] * (self.k + 1)
        return with_values(counts, weights * (counts.data / saturated))


def _column_totals(counts: Counts) -> NDArray[np.float64]:
    return np.asarray(counts.matrix().sum(axis=0))


def _shares(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the columns' shares of all counts; 0 where there are none."""
    return totals / (totals.sum() or 1.0)


def _check_share(name: str, value: Any) -> None:
    """Refuse what is no number from 0 to 1."""
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        message = f"{name}={value!r} must be a number from 0 to 1."
        raise ValueError(message)
