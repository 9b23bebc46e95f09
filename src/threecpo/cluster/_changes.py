"""Fits that go on from a fitted one: more rows, and clusters joined or divided."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _options
from .._extras import frame
from .._validation import check_counts
from .fitting import (
    PoissonClusterer,
    check_batches_given,
    check_division,
    checked_clusters,
    fitted_from,
    refit_plan,
    warn_unless_converged,
    with_known_rows,
    with_rows_of_fit,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from .._fit.record import FitRecord


class ChangedClusters(PoissonClusterer):
    """A clusterer that takes more rows, and joins and divides its clusters."""

    @property
    def tree_(self) -> NDArray[np.float64]:
        """Hierarchy of the clusters, a linkage matrix as in scipy.

        Of shape (n_clusters - 1, 4): the two nodes that are joined, the height, and
        how many clusters are below. The height is the likelihood that the join loses,
        in nats a row, with all columns held in their groups, or that of an earlier join
        which lost more. Outliers are not in it.
        """
        return self.record_.tree.linkage

    def tree_table(self) -> Any:
        """Return the joins of the tree, cheapest first.

        Returns
        -------
        pandas.DataFrame or dict of str to ndarray or list
            ``node`` (numbered on from the clusters), ``left`` and ``right`` (what is
            joined), ``height`` (as in ``tree_``), ``lost`` (likelihood in nats),
            ``height_over_dispersion`` and ``height_over_temperature`` (the height over
            ``dispersion_`` and over ``temperature_``; nan where these are not known),
            ``net`` (how the loss changes: what is lost less the price that C1 gives
            back; below 0 the join is a gain), ``rows`` and ``clusters`` of the node. A
            dict where pandas is not installed.
        """
        from ..results import tree_table

        return frame(tree_table(self))

    def cut(
        self,
        n_clusters: int | None = None,
        *,
        height: float | None = None,
        X: ArrayLike | Any = None,
        sample_weight: ArrayLike | None = None,
        batch: ArrayLike | None = None,
    ) -> Self:
        """Merge clusters along the tree and return the new model.

        Parameters
        ----------
        n_clusters : int, default=None
            Number of clusters to be left.
        height : float, default=None
            In place of it: join what the tree joins at this height or below.
        X : CountTable, array-like, frame, sparse matrix or Dask array, default=None
            Counts to go on with. None uses the sums of the fit alone: columns move only
            between relevant and shared, and rows go on to be placed by the clusters as
            they were, so that ``predict`` gives ``labels_`` again. With counts the
            result is an ordinary fit, which starts from there; for rows in other
            blocks give the cut as ``init`` to :func:`threecpo.distributed.fit`.
        sample_weight, batch : array-like of shape (n_rows,) or None, default=None
            Weights and batches of these rows, as in :meth:`fit`; a model of several
            batches needs those of X.

        Returns
        -------
        ThreeCPO
            A new fitted model; this one stays as it is.

        Examples
        --------
        >>> from threecpo import ThreeCPO
        >>> from threecpo.datasets import make_synth
        >>> X, _ = make_synth(random_state=0)
        >>> model = ThreeCPO(6, random_state=0).fit(X).cut(3)
        >>> model.n_clusters_, bool((model.predict(X) == model.labels_).all())
        (3, True)
        """
        tree = self.record_.tree
        if (n_clusters is None) == (height is None):
            message = "cut needs either n_clusters or height."
            raise ValueError(message)
        if height is not None:
            height = _options.check_non_negative("height", height)
            below = int(np.searchsorted(tree.heights, height, side="right"))
            n_clusters = tree.n_clusters - below
        n_left = _options.check_integer("n_clusters", n_clusters, 1)
        if n_left > tree.n_clusters:
            message = (
                f"n_clusters={n_left} is more than the {tree.n_clusters} clusters of "
                "this model; split divides a cluster."
            )
            raise ValueError(message)
        rows: dict[str, Any] = {"sample_weight": sample_weight, "batch": batch}
        return self._joined(tree.cut(n_left), X, rows)

    def merge(
        self,
        clusters: Sequence[Iterable[int]],
        *,
        X: ArrayLike | Any = None,
        sample_weight: ArrayLike | None = None,
        batch: ArrayLike | None = None,
    ) -> Self:
        """Merge the clusters that you name and return the new model.

        Parameters
        ----------
        clusters : sequence of sequences of int
            Clusters that become one, such as ``[[0, 3], [1, 2]]``; the others stay.
        X, sample_weight, batch
            Counts to go on with, their weights and batches, as in :meth:`cut`.

        Returns
        -------
        ThreeCPO
            A new fitted model; this one stays as it is.

        Examples
        --------
        >>> from threecpo import ThreeCPO
        >>> X = [[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5], [9, 9, 0], [8, 8, 1]]
        >>> model = ThreeCPO(3, random_state=0).fit(X)
        >>> a, b = model.labels_[0], model.labels_[2]
        >>> model.merge([[a, b]]).labels_
        array([0, 0, 0, 0, 1, 1], dtype=int32)
        """
        from .._core.merging import without_gaps

        into = np.arange(self.record_.n_clusters)
        unions: list[Any] = list(clusters)
        if any(not np.iterable(union) or isinstance(union, str) for union in unions):
            message = (
                f"clusters={clusters!r} must be lists of clusters, as in [[0, 3]]."
            )
            raise ValueError(message)
        seen: set[int] = set()
        for union in unions:
            members = checked_clusters(union, len(into))
            if seen.intersection(members) or len(set(members)) < len(members):
                message = f"clusters={clusters!r} names a cluster twice."
                raise ValueError(message)
            seen.update(members)
            if members:
                into[members] = min(members)
        rows: dict[str, Any] = {"sample_weight": sample_weight, "batch": batch}
        return self._joined(without_gaps(into), X, rows)

    def split(
        self,
        X: ArrayLike | Any,
        cluster: int,
        into: int = 2,
        *,
        sample_weight: ArrayLike | None = None,
        batch: ArrayLike | None = None,
    ) -> Self:
        """Split one cluster and return the new model.

        The rows of the cluster are clustered by themselves; from there a run over all
        rows goes on to convergence, so that other clusters may change as well.

        Parameters
        ----------
        X : CountTable, array-like, frame, sparse matrix or Dask array of shape \
(n_rows, n_columns)
            Counts of the same columns, such as those of the fit. For rows in other
            blocks there is :func:`threecpo.distributed.split`.
        cluster : int
            The cluster to divide.
        into : int, default=2
            Number of clusters that it becomes.
        sample_weight, batch
            As in :meth:`cut`.

        Returns
        -------
        ThreeCPO
            A new fitted model; this one stays as it is.

        Examples
        --------
        >>> from threecpo import ThreeCPO
        >>> from threecpo.datasets import make_synth
        >>> X, _ = make_synth(random_state=0)
        >>> ThreeCPO(2, random_state=0).fit(X).split(X, 0).n_clusters_
        3
        """
        from .._fit.driver import divide

        check_division(self, cluster, into, batch)
        rows: dict[str, Any] = {"sample_weight": sample_weight, "batch": batch}
        if hasattr(X, "__dask_graph__"):
            from ..distributed import split

            return split(self, X, cluster, into, **rows)
        step = partial(divide, cluster=cluster, into=into)
        return self._refitted(X, rows, step, self.record_)

    @property
    def drift_(self) -> NDArray[np.float64]:
        """Share of the rows of each ``partial_fit`` that fit no cluster.

        These rows fit the background, all rows together, better than any cluster when
        they arrive. Compare it with the share among the rows of the fit itself,
        ``(model.outlier_scores_ > 0).mean()``: where it grows, fit again.
        """
        return np.array(self.record_.drift)

    def partial_fit(
        self,
        X: ArrayLike | Any,
        y: object = None,
        *,
        sample_weight: ArrayLike | None = None,
        batch: ArrayLike | None = None,
        known_labels: ArrayLike | None = None,
    ) -> Self:
        """Add rows to the clusters; the first call is :meth:`fit`.

        New rows go to their best cluster under the present rates, the rates follow, and
        columns move between relevant and shared. Rows stay in the cluster that was the
        best when they arrived, so the result depends on the order of arrival; noise
        columns stay noise, and no new cluster is made. :meth:`refine` with all rows
        makes an ordinary fit of it. Whether new rows still fit is in ``drift_``.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`, of the same columns.
        batch : array-like of shape (n_rows,) or None, default=None
            Batch of each row, one of those of the fit, where that had batches.
        known_labels : array-like of shape (n_rows,) or None, default=None
            Cluster of each row that is known, by its number or name; -1 where it is
            not. Such rows join it.

        Returns
        -------
        self
            The estimator itself. ``labels_`` and all else of rows are of all rows so
            far, in the order of their arrival, each as it was then.

        Examples
        --------
        >>> from threecpo import ThreeCPO
        >>> from threecpo.datasets import make_synth
        >>> X, _ = make_synth(random_state=0)
        >>> model = ThreeCPO(3, random_state=0).fit(X[:700])
        >>> for first in (700, 800, 900):
        ...     model = model.partial_fit(X[first : first + 100])
        >>> len(model.labels_), len(model.drift_)
        (1000, 3)
        >>> model.refine(X).loss_ <= model.loss_
        True
        """
        if "record_" not in self.__dict__:
            rows: dict[str, Any] = {"sample_weight": sample_weight, "batch": batch}
            return self.fit(X, y, **rows, known_labels=known_labels)
        from .._fit.updates import with_more_rows

        record = self.record_
        if record.fine is not None:
            message = (
                "This model was merged without counts; call refine(X) before "
                "partial_fit."
            )
            raise ValueError(message)
        counts = self._counts_of(X, batch, sample_weight, stacklevel=0)
        if record.sums.n_batches > 1 and counts.batches is not None:
            strange = np.flatnonzero(counts.batches >= len(record.batch_names))
            if len(strange):
                message = (
                    f"batch of row {strange[0]} was not in the fit; partial_fit "
                    "accepts only batches of the fit."
                )
                raise ValueError(message)
        info, n_rows = counts.row_info, counts.n_rows
        counts = counts.with_rows(with_known_rows(record, info, n_rows, known_labels))
        names = getattr(X, "row_names", None)
        with self._workers() as workers:
            self._keep(with_more_rows(record, counts, names, workers))
        return self

    def refine(
        self,
        X: ArrayLike | Any,
        *,
        sample_weight: ArrayLike | None = None,
        batch: ArrayLike | None = None,
        known_labels: ArrayLike | None = None,
    ) -> Self:
        """Continue the fit with these rows and return the new model.

        One run starts where the model puts the rows and goes to convergence. Clusters
        keep their numbers and names.

        Parameters
        ----------
        X : CountTable, array-like, frame, sparse matrix or Dask array of shape \
(n_rows, n_columns)
            Counts of the same columns, such as all rows so far.
        sample_weight, batch
            As in :meth:`cut`.
        known_labels : array-like of shape (n_rows,) or None, default=None
            As in :meth:`partial_fit`; such rows are held there.

        Returns
        -------
        ThreeCPO
            A new fitted model; this one stays as it is.
        """
        rows: dict[str, Any] = {"sample_weight": sample_weight, "batch": batch}
        rows["known_labels"] = known_labels
        return self._refined(X, rows, self.record_, keep_numbers=True)

    def _joined(
        self, into: NDArray[np.int32], X: ArrayLike | Any, rows: dict[str, Any]
    ) -> Self:
        """Fit with clusters in these new ones, refined where there are counts."""
        from .._fit.updates import joined

        record = joined(self.record_, into)
        if X is None:
            return fitted_from(self, record)
        return self._refined(X, rows, record)

    def _refined(
        self,
        X: ArrayLike | Any,
        rows: dict[str, Any],
        record: FitRecord,
        *,
        keep_numbers: bool = False,
    ) -> Self:
        """Fit to these rows that starts from a record."""
        from .._fit.driver import refit

        check_batches_given(self.record_, rows["batch"])
        step = partial(refit, keep_numbers=keep_numbers)
        if hasattr(X, "__dask_graph__"):
            from ..distributed import refitted

            return refitted(self, X, step, rows=rows, record=record)
        return self._refitted(X, rows, step, record)

    def _refitted(
        self,
        X: ArrayLike | Any,
        rows: dict[str, Any],
        step: Callable[..., FitRecord],
        record: FitRecord,
    ) -> Self:
        """Estimator of a fit to these rows that goes on from a record."""
        from .._fit.driver import MemoryRows

        known = rows.pop("known_labels", None)
        counts = with_rows_of_fit(check_counts(X, self, reset=False), **rows)
        info = with_known_rows(self.record_, counts.row_info, counts.n_rows, known)
        counts = counts.with_rows(info)
        with self._workers() as workers:
            found = step(refit_plan(self), record, rows=MemoryRows(counts, workers))
        warn_unless_converged(found, stacklevel=4)
        names = {"columns": self.record_.column_names}
        names["rows"] = getattr(X, "row_names", None)
        return fitted_from(self, found.with_names(**names))
