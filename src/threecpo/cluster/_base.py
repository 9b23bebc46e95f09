"""What the Poisson clusterers share: validate, call the core, store."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .. import _options
from .._validation import check_counts, warn_if_fractional
from . import _starts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts
    from .._core.describe import RowDescription
    from .._core.run import Run, Settings
    from .._core.search import Report
    from .._core.workers import Workers


class PoissonClusterer(ClusterMixin, BaseEstimator):
    """Best of several runs of one rule; subclasses give ``_settings``."""

    n_clusters: Any
    n_init: Any
    max_iter: Any
    prior: Any
    random_state: Any
    n_jobs: Any
    verbose: int
    outliers: str | None = None
    _row_results: ClassVar[tuple[str, ...]] = ("labels", "row_scales")

    def fit(self, X: ArrayLike | Any, y: object = None) -> Self:  # noqa: ARG002
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or Dask array of shape (n_rows, n_columns)
            Counts, 0 or more. Sparse input stays sparse; X is never changed. A Dask
            array goes through :func:`threecpo.distributed.fit`.
        y : None
            Not used; here for scikit-learn's conventions.

        Returns
        -------
        self
            The fitted estimator itself.
        """
        self.__dict__.pop("k_path_", None)
        if hasattr(X, "__dask_graph__"):
            from ..distributed import fit

            return fit(self, X)
        if isinstance(self.n_clusters, str) and hasattr(self, "_fit_path"):
            return self._fit_path(X)
        settings = self._settings()
        counts = check_counts(X, self)
        warn_if_fractional(counts, type(self).__name__)
        (best,) = self._fit_each(counts, [self], self._tell if self.verbose else None)
        self._warn_unless_converged(best, settings)
        return self

    def predict(self, X: ArrayLike | Any) -> NDArray[np.int32]:
        """Cluster of each row of X under the fitted model.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_columns)
            Counts of the same columns.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels, -1 for an outlier where outliers are asked for. The rows that the
            model was fitted on get ``labels_`` again.
        """
        check_is_fitted(self)
        counts = check_counts(X, self, reset=False)
        return self._fitted.labels(self._describe(counts))

    def score(self, X: ArrayLike | Any, y: object = None) -> float:  # noqa: ARG002
        """Minus the loss of X under the fitted rates.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_columns)
            Counts of the same columns. Row sizes are fitted to them.
        y : None
            Not used; here for scikit-learn's conventions.

        Returns
        -------
        float
            ``-loss_`` on the rows that the model was fitted on; larger is better.
        """
        from .._core import model
        from .._core.codes import inner_labels
        from .._core.sums import sum_by_labels

        check_is_fitted(self)
        fitted = self._fitted
        counts = check_counts(X, self, reset=False)
        labels = fitted.model_labels(self._describe(counts))
        labels = inner_labels(labels, self.n_clusters_)
        sums = sum_by_labels(
            counts, labels, self.n_clusters_, fitted.groups, fitted.prior
        )
        smoothed, own = (s.smoothed(fitted.prior) for s in (sums, fitted.sums))
        return model.log_likelihood(smoothed, fitted.groups, own) - self._price

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def __sklearn_clone__(self) -> Self:
        cloned: Self = super().__sklearn_clone__()
        init = getattr(self, "init", None)
        if isinstance(init, PoissonClusterer):
            cloned.init = init  # a clone of a fitted model would not be fitted
        return cloned

    def _settings(self) -> Settings:
        raise NotImplementedError

    def _fit_each(
        self, counts: Counts, models: Sequence[Self], report: Report | None = None
    ) -> Iterator[Run]:
        """Fit these models, which differ from this one in ``n_clusters`` alone.

        Yields the kept run of each as soon as it is stored in its model.
        """
        from .._core import describe
        from .._core.search import best_of

        each = [model._settings() for model in models]
        for settings in each:
            _options.check_enough_rows(settings.n_clusters, counts.n_rows)
        start = _starts.plan(self, counts, each[0])
        seeds = _options.restart_seeds(self.random_state, start.n_runs)
        with self._workers() as workers:
            found = start.search(each, seeds, workers, report)
            for model, settings, runs in zip(models, each, found, strict=True):
                best = best_of(runs)
                model._store(best, settings)
                profile = model._fitted.profile()
                description = describe.describe(counts, profile, workers)
                model._store_rows(describe.row_results(model._fitted, description))
                model.restart_losses_ = np.array([run.loss for run in runs])
                yield best

    def _workers(self) -> Workers:
        from .._core.workers import Workers

        return Workers(_options.resolve_n_jobs(self.n_jobs))

    def _describe(self, counts: Counts) -> RowDescription:
        from .._core import describe

        with self._workers() as workers:
            return describe.describe(counts, self._fitted.profile(), workers)

    def _store(self, best: Run, settings: Settings) -> None:
        """Keep the model that a run has found."""
        from .._core import describe, model

        self._fitted = describe.Fitted(
            best.sums,
            best.profile_sums,
            best.groups,
            best.ranks,
            settings.prior,
            settings.rule,
            settings.threshold,
            settings.outliers,
        )
        sums = best.sums.smoothed(settings.prior)
        self.cluster_rates_ = model.rates(sums, best.groups).cluster
        self.loss_ = best.loss
        self.history_ = best.history
        self.n_iter_ = len(best.lines)
        self.n_clusters_ = best.sums.n_clusters
        prices = settings.price(sums.totals, self.n_clusters_, sums.n_rows)
        self._price = float(prices[best.groups == 1].sum())

    def _store_rows(self, results: dict[str, NDArray[Any]]) -> None:
        """Keep what is told of the rows."""
        for name in self._row_results:
            setattr(self, f"{name}_", results[name])

    def _tell(
        self,
        _n_clusters: int,
        restart: int,
        iteration: int,
        entry: dict[str, float],
        finished: bool,  # noqa: FBT001
    ) -> None:
        if finished or self.verbose > 1:
            from .._core.codes import UNKNOWN

            moved = entry["rows_moved"]
            print(  # noqa: T201
                f"Run {restart + 1}, iteration {iteration}: loss {entry['loss']:.6f}, "
                f"relevant {entry['relevant']}"
                + (f", rows moved {moved}" if moved != UNKNOWN else "")
                + (" (finished)" if finished else "")
            )

    def _warn_unless_converged(self, best: Run, settings: Settings) -> None:
        message = None
        if not best.converged and self.n_iter_ == settings.max_iter:
            message = f"No fixed point within max_iter={settings.max_iter} iterations."
        elif not best.converged:
            message = (
                "The assignment rule came back to an earlier state and was stopped "
                f"there, in iteration {self.n_iter_}."
            )
        elif self.n_clusters_ < settings.n_clusters:
            message = (
                f"Only {self.n_clusters_} of n_clusters={settings.n_clusters} clusters "
                "kept any rows."
            )
            if not (best.groups == 1).any():
                message += " No column is relevant: these data show no clusters."
        if message:
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
