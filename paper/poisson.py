"""PoissonL and PoissonC: Poisson clusters in which every column is relevant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from threecpo.cluster.estimator import PoissonEstimator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class PoissonL(PoissonEstimator):
    """Poisson clustering by likelihood (PoissonL).

    Every column has its own rate in every cluster, and a row goes to the cluster where
    its likelihood is largest: :class:`threecpo.ThreeCPO` with every column in C1 and
    no price.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters to start with. Clusters that lose all rows are dropped.
    init : str, array-like of shape (n_rows,) or fitted model, \
default="poisson-k-means++"
        Start of the rows, as in :class:`threecpo.ThreeCPO`, with all columns.
    n_init : int or "auto", default=10
        Number of runs; the one of lowest loss is kept. ``"auto"`` goes on, from 6 runs
        to at most 20, until two share the lowest loss (within 1e-9 of it).
    max_iter : int, default=300
        Most iterations of one run.
    prior : float, default=1e-3
        Added to every count.
    random_state : int, RandomState, Generator or None, default=None
        Seed. The same seed gives the same bits for any ``n_jobs``.
    n_jobs : int or None, default=None
        Threads. None is all cores, or one inside a joblib or Dask worker.
    verbose : int, default=0
        1 prints every run, 2 every iteration.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Cluster of each row, the largest first.
    cluster_rates_ : ndarray of shape (n_clusters, n_columns)
        Rates of each column inside each cluster.
    row_scales_ : ndarray of shape (n_rows,)
        Size of each row; they sum to 1.
    loss_ : float
        Poisson negative log-likelihood of the kept run, up to log-factorials.
    restart_losses_ : ndarray of shape (n_runs,)
        Loss of every run.
    history_ : dict of str to ndarray
        The kept run, one entry per iteration.
    n_iter_ : int
        Iterations of the kept run.
    n_clusters_ : int
        Number of clusters found.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_columns,)
        Column names, where X is a frame whose columns have names.

    See Also
    --------
    PoissonC : The same with a chi-squared rule.
    ThreeCPO : The same with columns chosen along the way.

    References
    ----------
    L. Cai, H. Huang, S. Blackshaw, J. S. Liu, C. Cepko and W. H. Wong, "Clustering
    analysis of SAGE data using a Poisson approach", 2004.

    Examples
    --------
    >>> from paper.poisson import PoissonL
    >>> PoissonL(2, random_state=0).fit_predict([[9, 1], [8, 2], [1, 7], [20, 1]])
    array([0, 0, 1, 0], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: str | ArrayLike | PoissonEstimator = "poisson-k-means++",
        n_init: int | str = 10,
        max_iter: int = 300,
        prior: float = 1e-3,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.prior = prior
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class PoissonC(PoissonL):
    """Poisson clustering by chi-squared (PoissonC).

    As :class:`PoissonL`, but a row goes to the cluster whose expected counts are the
    nearest by the chi-squared statistic. That rule lowers no loss for certain: a run
    that comes back to an earlier state ends there. PoissonL's loss picks the best run.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters to start with. Clusters that lose all rows are dropped.
    init : str, array-like of shape (n_rows,) or fitted model, \
default="poisson-k-means++"
        Start of the rows, as in :class:`threecpo.ThreeCPO`, with all columns.
    n_init : int or "auto", default=10
        Number of runs; the one of lowest loss is kept. ``"auto"`` goes on, from 6 runs
        to at most 20, until two share the lowest loss (within 1e-9 of it).
    max_iter : int, default=300
        Most iterations of one run.
    prior : float, default=1e-3
        Added to every count.
    random_state : int, RandomState, Generator or None, default=None
        Seed. The same seed gives the same bits for any ``n_jobs``.
    n_jobs : int or None, default=None
        Threads. None is all cores, or one inside a joblib or Dask worker.
    verbose : int, default=0
        1 prints every run, 2 every iteration.

    Attributes
    ----------
    labels_, cluster_rates_, row_scales_, loss_, restart_losses_, history_, n_iter_, \
n_clusters_, n_features_in_, feature_names_in_
        As in :class:`PoissonL`.

    References
    ----------
    L. Cai, H. Huang, S. Blackshaw, J. S. Liu, C. Cepko and W. H. Wong, "Clustering
    analysis of SAGE data using a Poisson approach", 2004.

    Examples
    --------
    >>> from paper.poisson import PoissonC
    >>> PoissonC(2, random_state=0).fit_predict([[9, 1], [8, 2], [1, 7], [20, 1]])
    array([0, 0, 1, 0], dtype=int32)
    """

    assignment = "chi-squared"
