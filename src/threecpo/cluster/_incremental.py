"""Rows that arrive after a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._confidence import RowConfidence
from .fitting import with_known_rows

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray


class IncrementalMixin(RowConfidence):
    """A clusterer that takes more rows, and can make an ordinary fit of them."""

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
        counts = self._counts_of(X, batch, sample_weight, warn=False)
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
        sample_weight, batch : array-like of shape (n_rows,) or None, default=None
            Weights and batches of these rows; a model of several batches needs those
            of X.
        known_labels : array-like of shape (n_rows,) or None, default=None
            As in :meth:`partial_fit`; such rows are held there.

        Returns
        -------
        ThreeCPO
            A new fitted model; this one stays as it is.
        """
        rows = {"sample_weight": sample_weight, "batch": batch}
        rows["known_labels"] = known_labels
        return self._refined(X, rows, self.record_, keep_numbers=True)
