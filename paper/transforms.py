"""The paper's transformations of counts, and k-means behind them."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from threecpo import CountTable
from threecpo._options import check_choice, check_non_negative
from threecpo._validation import check_counts

from .kmeans import SphericalKMeans

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from threecpo._core.counts import Counts

BLOCK_VALUES = 1 << 20


class CountTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base of the transformers: checks counts, and gives back the kind it was given.

    Sparse input gives CSR with sorted 32-bit indices and no stored zeros, where the
    transformer keeps sparsity. X is never changed.
    """

    def fit(self, X: ArrayLike | Any, y: object = None) -> Self:  # noqa: ARG002
        """Check X and learn what later rows are compared with."""
        self._check_parameters()
        self._learn(check_counts(X, self))
        return self

    def transform(self, X: ArrayLike | Any) -> Any:
        """New values of the rows of X, in memory of their own."""
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

    Puts the checks of ThreeCPO in front of estimators of scikit-learn, and what they
    need of sparse input: sorted 32-bit indices, duplicates added up, no stored zeros.

    Examples
    --------
    >>> twice = sp.coo_array(([1, 2, 0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    >>> twice.nnz, CanonicalCounts().fit_transform(twice).nnz
    (3, 1)
    """

    def _transformed(self, counts: Counts) -> sp.csr_array:
        return _with_values(counts, counts.data.copy())


class RowStandardizer(RowTransformer):
    """Row-wise z-normalisation (STD): (x - mean) / std; the output is dense.

    The standard deviation is over m, not m - 1. A constant row becomes 0.

    Examples
    --------
    >>> RowStandardizer().fit_transform([[0, 2], [1, 9], [5, 5]])
    array([[-1.,  1.],
           [-1.,  1.],
           [ 0.,  0.]])
    """

    def _transformed(self, counts: Counts) -> NDArray[np.float64]:
        smallest, largest = _row_extremes(counts)
        # Powers of two change no digit, and keep squares within floats.
        exponents = -np.frexp(largest)[1]
        values = np.ldexp(counts.data, _for_each_count(counts, exponents))
        out = _with_values(counts, values).toarray()
        out -= out.mean(axis=1, keepdims=True)
        constant = smallest == largest
        deviations = np.sqrt(np.einsum("ij,ij->i", out, out) / counts.n_columns)
        out /= np.where(constant, 1.0, deviations)[:, None]
        out[constant] = 0.0
        return out


class RowMinMaxScaler(RowTransformer):
    """Row-wise min-max normalisation (MM): (x - min) / (max - min), zeros included.

    A constant row becomes 0. Sparse input stays sparse: a zero is its row's minimum,
    and in a row without zeros the values equal to the minimum become 0.

    Examples
    --------
    >>> RowMinMaxScaler().fit_transform([[0, 2, 4], [1, 5, 2], [5, 5, 5]])
    array([[0.  , 0.5 , 1.  ],
           [0.  , 1.  , 0.25],
           [0.  , 0.  , 0.  ]])
    """

    def _transformed(self, counts: Counts) -> sp.csr_array:
        smallest, largest = _row_extremes(counts)
        spans = np.where(smallest == largest, 1.0, largest - smallest)
        above = counts.data - _for_each_count(counts, smallest)
        out = _with_values(counts, above / _for_each_count(counts, spans))
        out.eliminate_zeros()
        return out


class RelativeFrequency(RowTransformer):
    """Shares of the row's total (RF). A zero row stays 0; sparse input stays sparse.

    Examples
    --------
    >>> RelativeFrequency().fit_transform([[1, 3], [2, 2], [0, 0]])
    array([[0.25, 0.75],
           [0.5 , 0.5 ],
           [0.  , 0.  ]])
    """

    def _transformed(self, counts: Counts) -> sp.csr_array:
        totals = _for_each_count(counts, _row_totals(counts))
        return _with_values(counts, counts.data / totals)


class RevealedComparativeAdvantage(CountTransformer):
    """Revealed comparative advantage (RCA): x N / (r c).

    r is the row's total; the column totals c and the total N are those of the rows of
    ``fit``. Zero rows and columns stay 0; so does, in any later row, a column that had
    no counts in ``fit``. Sparse input stays sparse.

    Attributes
    ----------
    column_totals_ : ndarray of shape (n_columns,)
        Totals c of the rows of ``fit``; N is their sum.

    References
    ----------
    B. Balassa, "Trade Liberalisation and 'Revealed' Comparative Advantage", The
    Manchester School 33, 1965.

    Examples
    --------
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
        frequencies = counts.data / _for_each_count(counts, _row_totals(counts))
        out = _with_values(counts, frequencies * inverse[counts.indices])
        out.eliminate_zeros()
        return out


class PoissonStandardizer(CountTransformer):
    """Standardisation under the Poisson model (P-STD); the output is dense.

    The value x of a row becomes (x - μ) / μ^alpha with μ = r c / N, where r is the
    row's total; the column totals c and the total N are those of the rows of ``fit``.
    With ``alpha=0.5`` these are the standard scores, whose squares sum to Pearson's
    chi-squared statistic. Where μ is 0 (in zero rows, and in columns that had no counts
    in ``fit``) the value is the limit of -μ^(1 - alpha): 0, or -1 for ``alpha=1``.

    Parameters
    ----------
    alpha : float, default=0.5
        Weight of μ in the denominator, from 0 to 1. 0 only centres; 1 is
        RevealedComparativeAdvantage minus 1.

    Attributes
    ----------
    column_totals_ : ndarray of shape (n_columns,)
        Totals c of the rows of ``fit``; N is their sum.

    Examples
    --------
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
        totals, shares = _row_totals(counts), _shares(self.column_totals_)
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
    every later row is taken to be of average length. Sparse input stays sparse.

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

    References
    ----------
    S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and
    Beyond", Foundations and Trends in Information Retrieval 3, 2009.

    Examples
    --------
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
        self.average_length_ = float(_row_totals(counts).mean())

    def _transformed(self, counts: Counts) -> sp.csr_array:
        lengths = _row_totals(counts)
        average = self.average_length_
        relative = lengths / average if average > 0 else np.ones_like(lengths)
        discounts = self.k * (1 - self.b + self.b * relative)
        saturated = counts.data + _for_each_count(counts, discounts)
        weights = self.idf_[counts.indices] * (self.k + 1)
        return _with_values(counts, weights * (counts.data / saturated))


class ClusteringPipeline(Pipeline):
    """A pipeline with ``labels_``, ``n_iter_`` and ``inertia_`` of its last step."""

    @property
    def labels_(self) -> NDArray[np.int32]:
        """Cluster of each row of ``fit``."""
        return self.steps[-1][1].labels_

    @property
    def n_iter_(self) -> int:
        """Iterations of the kept run."""
        return self.steps[-1][1].n_iter_

    @property
    def inertia_(self) -> float:
        """Loss of the kept run, after the transformation; smaller is better."""
        return self.steps[-1][1].inertia_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        first = get_tags(self.steps[0][1])
        tags.input_tags.positive_only = first.input_tags.positive_only
        return tags


_TRANSFORMERS = {
    "std": RowStandardizer,
    "mm": RowMinMaxScaler,
    "rf": RelativeFrequency,
    "rca": RevealedComparativeAdvantage,
    "p-std": PoissonStandardizer,
    "bm25": BM25Transformer,
}
_CHOICES = (None, "none", *_TRANSFORMERS, "tf-idf")


def k_means_pipeline(
    transformation: str | None,
    n_clusters: int = 8,
    *,
    spherical: bool = False,
    n_init: int = 10,
    random_state: Any = None,
) -> ClusteringPipeline:
    """K-means on transformed counts, as one estimator.

    Parameters
    ----------
    transformation : {None, "none", "std", "mm", "rf", "rca", "p-std", "tf-idf", "bm25"}
        What is done to the counts first, with the defaults of the transformer.
        ``"std"`` and ``"p-std"`` make the data dense.
    n_clusters : int, default=8
        Number of clusters.
    spherical : bool, default=False
        Use SphericalKMeans instead of scikit-learn's ``KMeans``. It takes no values
        below 0, so not with ``"std"`` and ``"p-std"``.
    n_init : int, default=10
        Number of runs; the one of lowest inertia is kept.
    random_state : int, RandomState, Generator or None, default=None
        Seed. A Generator gives one number, here, that becomes the seed.

    Returns
    -------
    ClusteringPipeline
        Not yet fitted; its last step, ``pipeline[-1]``, is named ``k_means``.

    Examples
    --------
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> pipeline = k_means_pipeline("rf", n_clusters=3, random_state=0).fit(X)
    >>> bool((pipeline.predict(X) == pipeline.labels_).all())
    True
    """
    check_choice("transformation", transformation, _CHOICES)
    if spherical and transformation in ("std", "p-std"):
        message = (
            f"transformation={transformation!r} makes values below 0, which spherical "
            "k-means does not take."
        )
        raise ValueError(message)
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**31))
    kind = SphericalKMeans if spherical else KMeans
    k_means = kind(n_clusters, n_init=n_init, random_state=random_state)
    return ClusteringPipeline([*_first_steps(transformation), ("k_means", k_means)])


def _first_steps(transformation: str | None) -> list[tuple[str, Any]]:
    if transformation in _TRANSFORMERS:
        return [(transformation, _TRANSFORMERS[transformation]())]
    counts = ("counts", CanonicalCounts())
    if transformation == "tf-idf":
        return [counts, ("tf-idf", TfidfTransformer())]
    return [counts]


def _with_values(counts: Counts, values: NDArray[np.float64]) -> sp.csr_array:
    """Return these values in the places of the counts, which share no memory."""
    matrix = counts.matrix()
    parts = (values, matrix.indices.copy(), matrix.indptr.copy())
    return sp.csr_array(parts, shape=matrix.shape)


def _for_each_count(counts: Counts, values: NDArray[Any]) -> NDArray[Any]:
    """Return one value a row as one value a stored count."""
    return np.repeat(values, np.diff(counts.indptr))


def _row_totals(counts: Counts) -> NDArray[np.float64]:
    return np.asarray(counts.matrix().sum(axis=1))


def _column_totals(counts: Counts) -> NDArray[np.float64]:
    return np.asarray(counts.matrix().sum(axis=0))


def _row_extremes(counts: Counts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest and the largest value of each row, zeros included."""
    matrix = counts.matrix()
    return matrix.min(axis=1).toarray(), matrix.max(axis=1).toarray()


def _shares(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the columns' shares of all counts; 0 where there are none."""
    return totals / (totals.sum() or 1.0)


def _check_share(name: str, value: Any) -> None:
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        message = f"{name}={value!r} must be a number from 0 to 1."
        raise ValueError(message)
