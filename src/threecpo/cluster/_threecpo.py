"""3CPO: clusters of rows and groups of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scipy.sparse as sp
from sklearn.feature_selection import SelectorMixin

from .._validation import check_counts, check_structure
from ..table import CountTable
from . import plain
from .estimator import PoissonEstimator
from .fitting import check_is_fitted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


class ThreeCPO(SelectorMixin, PoissonEstimator, plain.ThreeCPO):
    """Poisson subspace clustering of counts (3CPO).

    Puts every row in one of K clusters and every column in one of three groups:
    *relevant* (C1), whose rate depends on the row's size and its cluster; *shared*
    (C0), whose rate depends on the row's size only; and *noise* (C-), whose rate is one
    constant. It minimises the Poisson negative log-likelihood plus a price for every
    relevant column, by alternating closed-form updates:

    1. start with the most informative half of the columns as C1 and with more clusters
       than requested, which are merged after a few iterations;
    2. assign every column to the group where it scores best, price included;
    3. assign every row to the cluster where it scores best, its own size re-fitted;
    4. repeat 2 and 3 until nothing changes; keep the best of ``n_init`` runs.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters K to start with. Clusters that lose all rows are dropped.
        ``"auto"`` chooses from 1 to ``max_clusters`` by ``criterion`` and returns the
        fit of that number; with labels or a model as ``init`` it is theirs.
    init : str, array-like of shape (n_rows,) or fitted ThreeCPO, default="merge"
        Initial clusters. ``"merge"`` starts with 3–4 × K clusters, merges the cheapest
        pairs and recombines good runs: on most data different seeds then agree more
        often, at a lower loss (not where clusters have only some tens of rows). The
        paper uses ``"poisson-k-means++"`` with ``n_init=10``. ``"random-labels"``,
        ``"random-centers"``, ``"k-means++"``, ``"k-means"``, ``"rf-k-means++"`` and
        ``"rf-k-means"`` (the last two on row shares) are available for comparison.
        Labels, or a fitted model of the same columns, start a single run from there.
    column_init : {"information", "random"} or array-like of shape (n_columns,), \
default="information"
        Initial column groups: the most informative half of the columns in C1 (with
        ``init="merge"``, all columns in two runs of four), a random half, or given
        groups 1, 0 and -1.
    n_init : int or "auto", default=6
        Number of restarts; the run with the lowest loss is kept. ``"auto"`` adds
        restarts, from 6 to at most 20, until an independent run arrives at the lowest
        loss (within 1e-9).
    max_iter : int, default=300
        Maximum number of iterations of a run.
    column_penalty : {"mdl", "bic", None} or callable, default="mdl"
        Price of a relevant column: ``"mdl"`` is (K - 1) log of its total (at least 0),
        ``"bic"`` is K/2 log n. A callable gets column totals, K and n and returns a
        price for each column.
    groups : tuple, default=(1, 0, -1)
        Groups that a column may take; must contain 1.
    assignment : {"exact", "paper"}, default="exact"
        Assignment rule of rows. ``"exact"`` re-fits the size of a row in each cluster
        and never increases the loss. ``"paper"`` is the formula of the paper, which
        omits the change in C0 and can increase it.
    outliers : {None, "iterative", "final"}, default=None
        Mark rows that fit the background (all rows together) better than any cluster:
        in every iteration, or once on the converged model.
    outlier_threshold : float, default=0.0
        By how many nats the background must be better; larger means fewer outliers.
        With ``outliers="iterative"``, the runs minimise the loss plus this threshold
        for each outlier.
    prior : float, default=1e-3
        Added to every count (a weak Gamma prior), so that every logarithm exists.
    max_clusters : int, default=30
        Largest number of clusters that ``n_clusters="auto"`` tries (and never more
        than there are rows).
    criterion : {"mdl-dispersion", "mdl"}, default="mdl-dispersion"
        How ``n_clusters="auto"`` chooses, as in :func:`threecpo.select_n_clusters`.
    robust : True, dict or None, default=None
        Downweight extreme columns and rows. ``{"columns": 10}`` downweights columns
        that vary more than 10 times as much as Poisson counts in a first fit (of five
        clusters, for any K), by 10 over their dispersion. ``{"rows": 5}`` downweights
        rows with more than 5 times the counts of the median row to that size. True is
        ``{"columns": 10, "rows": 5}``; None downweights nothing.
    seed_columns : dict of str to list or None, default=None
        Columns, by name or number, that clusters start from, such as ``{"rugby":
        ["scrum", "try"]}``. These clusters come first, in the order of the dict and
        with its names. Rows rich in the columns start there and may leave later.
    fixed_groups : dict or None, default=None
        Columns, by name or number, whose group is known: ``{"total_reads": -1}`` keeps
        a column in C- from the first start to the end.
    random_state : int, RandomState, Generator or None, default=None
        Seed. The same seed gives the same bits for any ``n_jobs``.
    n_jobs : int or None, default=None
        Number of threads. None means all cores, or one inside a joblib or Dask worker.
    verbose : int, default=0
        1 prints every run, 2 every iteration.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Cluster of each row, the largest first; -1 for an outlier.
    nearest_labels_ : ndarray of shape (n_rows,)
        Best cluster of each row, outliers too.
    outlier_scores_ : ndarray of shape (n_rows,)
        Background score minus best cluster score, in nats: above the threshold means
        outlier. Available for any value of ``outliers``.
    margins_ : ndarray of shape (n_rows,)
        Best cluster score minus the second best, in nats (infinity for one cluster).
    column_groups_ : ndarray of shape (n_columns,)
        1 (relevant), 0 (shared) or -1 (noise).
    column_scores_ : ndarray of shape (n_columns, 3)
        Log-likelihood of each column as noise, shared and relevant, price included;
        minus infinity for a group that ``groups`` or ``fixed_groups`` forbids.
        ``column_groups_`` is the arg-max, ties (relative 1e-12) going to noise before
        shared before relevant.
    cluster_rates_ : ndarray of shape (n_clusters, n_columns)
        Rates of each column inside each cluster.
    shared_rates_ : ndarray of shape (n_columns,)
        Column totals.
    noise_rates_ : ndarray of shape (n_columns,)
        Column means.
    row_scales_ : ndarray of shape (n_rows,)
        Size of each row; they sum to 1 where there are no outliers.
    loss_ : float
        Loss of the kept run: minus the sum over columns of the score in their group.
    restart_losses_ : ndarray of shape (n_runs,)
        Loss of every restart.
    history_ : dict of str to ndarray
        The kept run, one entry per iteration: ``loss``; sizes ``relevant``, ``shared``
        and ``noise`` of the column groups, columns that moved ``into_`` and ``out_of_``
        each group, and ``rows_moved`` (-1 if unknown, in fits over blocks).
    batch_names_ : ndarray of shape (n_batches,)
        Batches of the fit, sorted, where ``batch`` was given.
    batch_effects_ : ndarray of shape (n_batches, n_columns)
        Factor of each batch and column, relative to an average batch.
    column_weights_ : ndarray of shape (n_columns,)
        Weight of each column by ``robust``; see ``downweighted_columns``.
    row_weights_ : ndarray of shape (n_rows,)
        Weight of each row by ``robust``; see ``downweighted_rows``.
    n_iter_ : int
        Iterations of the kept run.
    n_clusters_ : int
        Number of clusters found.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Rows in each cluster. Outliers, and rows without counts in relevant or shared
        columns, are in none.
    k_path_ : KPath
        The fits that ``n_clusters="auto"`` chose from: all restarts for the best K, at
        most three for others (over blocks of more rows than the sample, these end after
        one pass over all rows); not saved by ``save``.
    cluster_names_ : ndarray of shape (n_clusters,)
        Name of each cluster: set by :meth:`name_clusters`, otherwise its best markers.
    tree_ : ndarray of shape (n_clusters - 1, 4)
        Hierarchy of the clusters, a linkage matrix of ``scipy.cluster.hierarchy``. See
        ``tree_table``, ``cut``, ``merge`` and ``split``.
    probabilities_ : ndarray of shape (n_rows, n_clusters)
        Posterior probability of each cluster for each row, scored as if the row had
        not been part of the fit. See ``predict_proba`` and ``measure_confidence``.
    temperature_ : float
        T, at least 1: how many times more the scores of rows vary than those of Poisson
        counts. Fits of a path do not have it; see ``measure_confidence``.
    dispersion_ : float or None
        φ: how many times more the counts of a column vary in the clusters than Poisson
        counts, the median of the columns. None for clusters merged without counts.
    drift_ : ndarray of shape (n_calls,)
        Share of the rows of each :meth:`partial_fit` that fit no cluster.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_columns,)
        Column names, where X is a table or frame whose columns have names.
    record_ : FitRecord
        All of the above as one immutable object, from which results, reports and saved
        models are made.

    See Also
    --------
    threecpo.select_n_clusters : The whole path over the number of clusters.

    Notes
    -----
    The loss counts the Poisson likelihood up to log-factorials of the data. A single
    column in C0 is a choice of scale, not a finding: with C0 empty, moving any one
    relevant column there keeps the likelihood and saves its price.

    References
    ----------
    C. Leiber, K. Puolamäki and H. Mannila, "Poisson Subspace Clustering: Focusing on
    the Essentials in Count Data".

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> model = ThreeCPO(n_clusters=3, random_state=0).fit(X)
    >>> model.column_groups_
    array([ 1,  1,  0,  0, -1, -1], dtype=int8)
    >>> new = model.predict([[20, 31, 40, 10, 7, 20], [10, 14, 20, 5, 0, 20]])
    >>> bool(new[0] == new[1])
    True
    """

    def transform(self, X: ArrayLike | Any) -> Any:
        """Relevant columns of X.

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix of shape \
(n_rows, n_columns)
            Values of the same columns, counts or others.

        Returns
        -------
        array, frame or sparse matrix of shape (n_rows, n_relevant)
            The columns of C1, in the kind of X; those of a table are sparse.
        """
        check_is_fitted(self)
        if isinstance(X, CountTable):
            counts = check_counts(X, self, reset=False)
            return counts.columns(self._get_support_mask()).matrix()
        if sp.issparse(X):
            # scikit-learn would follow the indices of a damaged matrix.
            check_structure(X)
        return super().transform(X)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """What was found; of a model that is not fitted, its parameters."""
        if not hasattr(self, "record_"):
            return str(super().__repr__(N_CHAR_MAX))
        relevant = int(self._get_support_mask().sum())
        k, m = self.n_clusters_, self.n_features_in_
        found = f"{k:_} cluster{'s' * (k != 1)}"
        found += f", {relevant:_} of {m:_} column{'s' * (m != 1)} relevant"
        return f"{type(self).__name__}: {found.replace('_', ' ')}"

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return self.record_.groups == 1
