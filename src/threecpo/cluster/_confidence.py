"""How sure a fitted model is of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from .._validation import check_counts
from ._tree import ClusterTree
from .fitting import fitted

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts
    from .._fit.describing import Confidence


class RowConfidence(ClusterTree):
    """Probabilities of clusters, for the rows of the fit and for others."""

    @property
    def temperature_(self) -> float:
        """T: how many times more scores vary than those of Poisson counts."""
        return self._confidence().temperature

    @property
    def dispersion_(self) -> float | None:
        """φ: how many times more a typical column varies in clusters than Poisson."""
        return self._confidence().dispersion

    @property
    def probabilities_(self) -> NDArray[np.float64]:
        """P(k|i) of each row of the fit, judged as if it had not been in it."""
        found = self._confidence().probabilities
        if found is None:
            message = (
                "This fit over blocks had no room for the probabilities of its rows; "
                "threecpo.distributed.predict_proba finds those of rows in blocks."
            )
            raise AttributeError(message)
        return found

    def row_scores(
        self, X: ArrayLike | Any, *, batch: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Score of each row of X in each cluster.

        The log-likelihood of the row in the cluster with its size re-fitted, up to what
        is the same for all clusters of a row.

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix of shape \
(n_rows, n_columns)
            Counts of the same columns.
        batch : array-like of shape (n_rows,) or None, default=None
            Batch of each row, as in :meth:`predict`.

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
        """Probability of each cluster for rows that are new to the model.

        Softmax of :meth:`row_scores` over ``temperature_``. Rows that the model was
        fitted on have helped to make their clusters and look surer here than they are:
        for them take ``probabilities_``, which scores each without itself.

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix of shape \
(n_rows, n_columns)
            Counts of the same columns.
        batch : array-like of shape (n_rows,) or None, default=None
            Batch of each row, as in :meth:`predict`.

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
        """Return the same fit with ``temperature_`` and ``probabilities_``.

        For fits that come without them: those of a path over K, or of rows that were
        written elsewhere.

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

        check_is_fitted(self)
        record = self.record_
        if record.fine is not None:
            message = (
                "Clusters of this model were joined: measure the confidence of the "
                "model before that, and join them again."
            )
            raise ValueError(message)
        counts = self._own_rows(X)
        with self._workers() as workers:
            rows = MemoryRows(counts, workers)
            found = driver.describe(self._refit_plan(), record, rows)
        return fitted(self, found)

    def _own_rows(self, X: ArrayLike | Any) -> Counts:
        """Counts of the rows of the fit, with what belonged to them there."""
        check_is_fitted(self)
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
        check_is_fitted(self)
        found = self.record_.confidence
        if found is None:
            message = (
                "This fit has no measure of confidence; measure_confidence(X) makes it "
                "from the counts of the fit."
            )
            raise AttributeError(message)
        return found
