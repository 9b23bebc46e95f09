"""What a fitted model says of its rows, clusters and columns, and how sure it is."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _options
from .._extras import frame
from .._validation import check_counts
from .fitting import PoissonClusterer, fitted, refit_plan, renamed
from .naming import cluster_names_of, given_names

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts
    from .._fit.describing import Confidence
    from .._fit.plan import Progress


class DescribedClusters(PoissonClusterer):
    """A clusterer that describes what it found, and how sure it is."""

    @property
    def cluster_names_(self) -> NDArray[np.object_]:
        """Name of each cluster: given, otherwise its best markers."""
        return cluster_names_of(self.record_)

    @property
    def cluster_sizes_(self) -> NDArray[np.int64]:
        """Rows in each cluster, without outliers and rows that have no counts."""
        return self.record_.cluster_sizes

    def name_clusters(self, names: Any, X: Any = None) -> Self:
        """Return the model with other names of its clusters.

        Parameters
        ----------
        names : sequence of str, dict or callable
            A name for each cluster; or the names to change, by the number or present
            name of the cluster; or a function that gets a
            :class:`~threecpo.cluster.ClusterDescription` of each cluster (its markers,
            typical rows and size) and returns its name. An empty name brings back the
            one made of the best columns.
        X : CountTable or sequence of str, default=None
            What typical rows are shown as to a function: the names of a table's rows,
            or a text for each row. None takes the names of the fit, or numbers.

        Returns
        -------
        ThreeCPO
            A new model with a new record; this one stays as it is.

        Examples
        --------
        >>> from threecpo import CountTable, ThreeCPO
        >>> X = [[90, 0, 50], [80, 1, 50], [0, 90, 50], [1, 80, 50], [2, 70, 40]]
        >>> table = CountTable(X, column_names=["ants", "bees", "worms"])
        >>> model = ThreeCPO(2, random_state=0).fit(table)
        >>> model.cluster_names_.tolist()
        ['bees', 'ants']
        >>> model.name_clusters({"ants": "forest"}).cluster_names_.tolist()
        ['bees', 'forest']
        >>> model.name_clusters(lambda c: f"{c.size} plots").cluster_names_.tolist()
        ['3 plots', '2 plots']
        """
        given = given_names(self.record_, names, X)
        return renamed(self, replace(self.record_, cluster_names=given))

    def top_columns(
        self,
        n: int = 10,
        *,
        order: str = "marker",
        feature_names: Iterable[Any] | None = None,
    ) -> Any:
        """Return the markers of each cluster and the largest other columns.

        A cluster is marked by relevant columns that are more frequent in its rows than
        in all rows, never by others.

        Parameters
        ----------
        n : int, default=10
            Most columns to list for each.
        order : {"marker", "excess"}, default="marker"
            ``"marker"`` balances how many times more frequent a column is with the
            evidence for it; ``"excess"``, the paper's order, takes the difference of
            the expected counts, so large columns come first. Columns of C0 and C- are
            sorted by their expected count.
        feature_names : sequence of str, default=None
            Names of the columns; None takes those of the fit, or numbers.

        Returns
        -------
        pandas.DataFrame or dict of str to ndarray
            Columns ``group`` (1, 0 or -1), ``cluster`` (-1 outside C1), ``name`` (of
            the cluster or group), ``rank`` (from 1), ``column``; the counts expected in
            a row of mean size ``here``, in the cluster, and ``overall``; their
            ``ratio``; and its ``evidence``, the nats by which the cluster's own rate
            explains its counts better than the overall one. A dict where pandas
            is not installed.
        """
        from ..results import top_table

        return frame(top_table(self, n, order=order, feature_names=feature_names))

    @property
    def column_weights_(self) -> NDArray[np.float64]:
        """Weight of each column in the likelihood, at most 1."""
        weights = self.record_.sums.column_weights
        return np.ones(self.record_.n_columns) if weights is None else weights

    @property
    def row_weights_(self) -> NDArray[np.float64]:
        """Weight of each row by ``robust``, at most 1."""
        rows = self.record_.rows
        if rows is None:
            from .._fit.record import NO_ROWS

            raise AttributeError(NO_ROWS)
        weights = rows.row_weights
        return np.ones(len(rows.labels)) if weights is None else weights

    def batch_columns(self, n: int = 10) -> Any:
        """Return the columns that differ most between batches.

        Parameters
        ----------
        n : int, default=10
            Most columns to list.

        Returns
        -------
        pandas.DataFrame or dict of str to ndarray
            ``column``; ``batch`` that has the most of it and ``effect``, how many times
            more than a mean batch; ``least_batch`` and ``least_effect``; ``evidence``,
            the likelihood in nats that the batches explain, by which they are ordered.

        Examples
        --------
        >>> from threecpo import ThreeCPO
        >>> X = [[9, 1, 5], [8, 2, 5], [1, 7, 5], [2, 9, 5]] * 5
        >>> X = [[a, b, c * (1 + i % 2)] for i, (a, b, c) in enumerate(X)]
        >>> model = ThreeCPO(2, random_state=0).fit(X, batch=["old", "new"] * 10)
        >>> model.batch_columns(1)["batch"][0]
        'new'
        """
        from ..results import batch_table

        return frame(batch_table(self, n))

    def downweighted_columns(self) -> Any:
        """Return the columns that ``robust`` downweights.

        Returns
        -------
        pandas.DataFrame or dict of str to ndarray
            ``column``; ``group`` (1, 0 or -1); ``dispersion``, how many times more it
            varied in the first fit than Poisson counts; ``weight`` of its likelihood.
            The least weight comes first.

        Examples
        --------
        >>> from threecpo import ThreeCPO
        >>> from threecpo.datasets import make_synth
        >>> X, _ = make_synth(random_state=0)
        >>> model = ThreeCPO(3, robust={"columns": 10}, random_state=0).fit(X)
        >>> list(model.downweighted_columns())
        ['column', 'group', 'dispersion', 'weight']
        """
        from ..results import downweighted_columns

        return frame(downweighted_columns(self))

    def downweighted_rows(self) -> Any:
        """Return the rows that ``robust`` downweights.

        Returns
        -------
        pandas.DataFrame or dict of str to ndarray
            ``row``, its ``label`` and ``weight``; the least weight comes first.
        """
        from ..results import downweighted_rows

        return frame(downweighted_rows(self))

    @property
    def temperature_(self) -> float:
        """T, by which scores are divided: how many times more they vary than Poisson's.

        More where :meth:`measure_confidence` calibrated it.
        """
        return self._confidence().temperature

    @property
    def dispersion_(self) -> float | None:
        """φ: how many times more a typical column varies in clusters than Poisson."""
        return self._confidence().dispersion

    @property
    def probabilities_(self) -> NDArray[np.float64]:
        """Posterior probability of each cluster for each row of the fit.

        Too high where clusters overlap, unless :meth:`measure_confidence` calibrated.
        """
        found = self._confidence().probabilities
        if found is None and self.record_.rows is None:
            from .._fit.record import NO_ROWS

            raise AttributeError(NO_ROWS)
        if found is None:
            message = (
                "This fit over blocks did not keep the probabilities of its rows, to "
                "save memory; use threecpo.distributed.predict_proba."
            )
            raise AttributeError(message)
        return found

    def row_scores(
        self, X: ArrayLike | Any, *, batch: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the score of each row of X in each cluster.

        The log-likelihood of the row in the cluster with its size re-fitted, up to what
        is the same for all clusters of a row.

        Parameters
        ----------
        X, batch
            As in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
            Scores in nats; larger is better.
        """
        counts = self._counts_of(X, batch)
        with self._workers() as workers:
            return self.record_.row_scores(counts, workers)

    def predict_proba(
        self, X: ArrayLike | Any, *, batch: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the posterior probability of each cluster for new rows.

        Softmax of :meth:`row_scores` over ``temperature_``. Rows that the model was
        fitted on have helped to make their clusters and look surer here than they are:
        for them take ``probabilities_``, which scores each without itself. Too high
        where clusters overlap, unless :meth:`measure_confidence` calibrated it.

        Parameters
        ----------
        X, batch
            As in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
            Rows sum to 1.

        Examples
        --------
        >>> from threecpo import ThreeCPO
        >>> from threecpo.datasets import make_synth
        >>> X, _ = make_synth(random_state=0)
        >>> model = ThreeCPO(3, random_state=0).fit(X[:900])
        >>> found = model.predict_proba(X[900:])
        >>> bool((found.argmax(axis=1) == model.predict(X[900:])).all())
        True
        """
        from .._core.confidence import probabilities

        value = self._confidence().temperature
        counts = self._counts_of(X, batch)
        with self._workers() as workers:
            return probabilities(self.record_.row_scores(counts, workers), value)

    def measure_confidence(self, X: ArrayLike | Any) -> Self:
        """Return the same fit with calibrated confidence.

        A fit divides scores by how much more they vary than those of Poisson counts.
        That is too sure where clusters overlap, as all clusters were fitted to the
        labels that they explain. Here tables are drawn from the clusters, shrunk
        towards one until a fit of these tables gains as much likelihood as the fit of
        the data; the share of their rows that comes back into its clusters estimates
        the share of rows that is right, and ``temperature_`` is raised until
        ``probabilities_`` are that high on average. Takes as long as some fits, of a
        sample of about 2 000 rows or 200 000 counts. The command line and
        :func:`threecpo.anndata.cluster` always calibrate.

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix of shape \
(n_rows, n_columns)
            The counts that the model was fitted on. The model knows what belongs to
            their rows, unless ``write_to`` had them written: then a table that carries
            it (:meth:`CountTable.with_rows`).

        Returns
        -------
        ThreeCPO
            A new fitted model; this one stays as it is.
        """
        from .._fit import driver
        from .._fit.driver import MemoryRows

        record = self.record_
        if record.fine is not None:
            message = (
                "This model was merged; call measure_confidence on the model before "
                "merging, and merge again."
            )
            raise ValueError(message)
        counts = self._own_rows(X)
        with self._workers() as workers:
            rows = MemoryRows(counts, workers)
            plan = replace(refit_plan(self), with_confidence=True, calibrated=True)
            found = driver.describe(plan, record, rows)
        return fitted(self, found)

    def stability(
        self,
        X: ArrayLike | Any,
        *,
        n_resamples: int = 4,
        alpha: float = 0.05,
        random_state: Any = 0,
        progress: Progress | None = None,
    ) -> Any:
        """Measure the stability of each cluster and each join of the tree.

        Half of the rows are clustered again, and each cluster and join is compared
        with the nearest one found there: ``jaccard`` is the share of rows in both among
        those in either (Hennig, 2007).

        Each division of the tree is also tested: does a mixture of its two parts gain
        more likelihood over one cluster than in tables that have no clusters, drawn
        from the joined rows with their measured dispersion and divided by the same
        search? The tests go from the top of the tree down; the
        chance that *any* division is called distinct where there are no clusters is at
        most ``alpha``. Distinct means: more than independent columns of this dispersion
        would give. A continuous gradient, or columns that vary together, do so, too.

        The ``verdict`` of a cluster follows from both. It is found again if ``jaccard``
        is at least 0.75 and the mean confidence of its rows, if measured, at least 0.6.
        *Stable*: distinct and found again. *Not distinct*: neither. *Doubtful*: only
        one of them, or too few counts for the test.

        Parameters
        ----------
        X
            The counts of the fit, as in :meth:`measure_confidence`.
        n_resamples : int, default=4
            How often half of the rows are clustered; 0 leaves this out.
        alpha : float, default=0.05
            Level of all tests together.
        random_state : int, RandomState, Generator or None, default=0
            Seed. The same seed gives the same result for any ``n_jobs``.
        progress : Progress or None, default=None
            Listens to the halves and the tests.

        Returns
        -------
        pandas.DataFrame or dict of str to ndarray
            A line for each cluster and then each join, numbered by ``node`` as in
            ``tree_``: ``clusters`` below it, ``rows``, mean and deviation ``jaccard``
            and ``jaccard_sd`` over the halves; for joins the ``gain`` of their
            division, what is ``expected`` by chance, both in nats and in units of the
            dispersion, how many deviations ``z`` lie between, ``p_value`` and
            ``p_adjusted`` for the whole tree (nan where a division above is not
            distinct, and where rows have fewer than two counts each on average: too
            few to tell). A cluster has the ``p_adjusted`` of the lowest join above it
            that was tested. ``distinct`` says whether the two branches of a join are
            distinct, and for a cluster whether the join next above it is. ``verdict``
            is a word for each cluster, empty for joins, for a single cluster and with
            ``n_resamples=0``.

        Examples
        --------
        >>> from threecpo import ThreeCPO
        >>> from threecpo.datasets import make_synth
        >>> X, _ = make_synth(300, random_state=0)
        >>> table = ThreeCPO(3, random_state=0).fit(X).stability(X)
        >>> table["verdict"].tolist()
        ['stable', 'stable', 'stable', '', '']
        """
        from .._fit.stability import measure
        from ..results import stability_table

        _options.check_integer("n_resamples", n_resamples, 0)
        _options.check_level("alpha", alpha)
        record = self.record_
        if record.rows is None:
            from .._fit.record import NO_ROWS

            raise ValueError(NO_ROWS)
        counts = self._own_rows(X)
        # Held rows would be found again wherever they are.
        info = replace(counts.row_info, known=None, known_names=())
        plan, own = refit_plan(self), record.plan
        assert own is not None
        entropy = _options.entropy_of(random_state)
        plan = replace(plan, init=own.init, entropy=entropy)
        how: dict[str, Any] = {"n_resamples": n_resamples, "level": alpha}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of halves that lose a small cluster
            found = measure(
                record, counts.with_rows(info), plan, **how, progress=progress
            )
        return frame(stability_table(found, record))

    def _own_rows(self, X: ArrayLike | Any) -> Counts:
        """Counts of the rows of the fit, with what belonged to them there."""
        record = self.record_
        counts = check_counts(X, self, reset=False)
        if record.rows is None:
            return counts
        if counts.n_rows != record.n_rows:
            message = (
                f"X has {counts.n_rows} rows, but the model was fitted on "
                f"{record.n_rows}; pass the counts of the fit."
            )
            raise ValueError(message)
        info = replace(record.rows.info, batch_names=record.batch_names)
        return counts.with_rows(info)

    def _confidence(self) -> Confidence:
        found = self.record_.confidence
        if found is None:
            message = (
                "Confidence was not measured in this fit; measure_confidence(X) "
                "measures it from the counts of the fit."
            )
            raise AttributeError(message)
        return found
