"""What the Poisson clusterers share: check, fit, keep the record."""

from __future__ import annotations

import inspect
from copy import deepcopy
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import _options
from .._core.codes import RELEVANT
from .._plain import plain
from .._validation import check_counts, warn_if_fractional

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts
    from .._core.workers import Workers
    from .._fit.plan import Plan, Progress
    from .._fit.record import FitRecord

# What other libraries call parameters, and where arguments of fit belong.
OTHER_NAMES = {
    "k": "n_clusters",
    "K": "n_clusters",
    "n_components": "n_clusters",
    "seed": "random_state",
    "batch": "fit(X, batch=...)",
    "known_labels": "fit(X, known_labels=...)",
    "hold_labels": "fit(X, hold_labels=...)",
}
# Longer arrays of parameters are a digest in records.
LONGEST_PARAMETER = 10


def check_is_fitted(model: Any) -> None:
    """Refuse a model without a fit, in the words of scikit-learn."""
    if "record_" not in model.__dict__:
        from sklearn.utils import validation

        validation.check_is_fitted(model)


class PoissonClusterer:
    """Best of several runs; subclasses name the parameters that users may set.

    Nothing here needs scikit-learn, which commands do without; see ``estimator``.
    """

    n_clusters: Any
    init: Any
    column_init: Any = "information"
    n_init: Any
    max_iter: Any
    column_penalty: Any = None
    groups: Any = (RELEVANT,)
    assignment: Any = "exact"
    outliers: Any = None
    outlier_threshold: Any = 0.0
    prior: Any
    robust: Any = None
    seed_columns: Any = None
    fixed_groups: Any = None
    random_state: Any
    n_jobs: Any
    verbose: int
    record_: FitRecord
    k_path_: Any
    # Whether fits calibrate their confidence, which takes longer than many fits do, and
    # paths measure the reproducibility of the numbers of clusters that fit best.
    calibrates = False
    _row_results: ClassVar[tuple[str, ...]] = ("labels", "row_scales")

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Refuse parameters that there are not; the usual other names are explained."""
        known = [*inspect.signature(cls.__init__).parameters][1:]
        for name in given:
            if name not in known:
                near = get_close_matches(name, known, 1)
                meant = OTHER_NAMES.get(name, near[0] if near else "")
                advice = f"; did you mean {meant}?" if meant else "."
                message = f"{cls.__name__} does not have a parameter {name!r}{advice}"
                raise TypeError(message)
        return super().__new__(cls)

    def fit(
        self,
        X: ArrayLike | Any,
        y: object = None,  # noqa: ARG002
        *,
        sample_weight: ArrayLike | None = None,
        batch: ArrayLike | None = None,
        known_labels: ArrayLike | None = None,
        hold_labels: bool = True,
        progress: Progress | None = None,
    ) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : CountTable, array-like, frame, sparse matrix or Dask array of shape \
(n_rows, n_columns)
            Counts, 0 or more. Sparse input stays sparse; X is never changed. A table
            keeps its names. A Dask array goes through :func:`threecpo.distributed.fit`.
        y : None
            Not used; here for scikit-learn's conventions.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            How often each row counts. Whole weights equal repeated rows; a row of
            weight 0 is left out of the fit and gets a label.
        batch : array-like of shape (n_rows,) or None, default=None
            Laboratory, source or other nuisance of each row, by name or number: what a
            column has more or less of in a batch makes no cluster.
        known_labels : array-like of shape (n_rows,) or None, default=None
            Cluster of each row that is known, -1 where it is not: numbers from 0
            without gaps, or names (then "", None and nan are unknown, too). These
            clusters come first and keep their numbers and names; names are numbered in
            their order. Clusters beyond them are found among the other rows.
        hold_labels : bool, default=True
            Whether rows stay in their known clusters. False only starts there: from the
            best fit that held them, a run continues in which they may leave.
        progress : Progress or None, default=None
            Listens to the runs: an object with the methods ``start(n_runs)`` and
            ``step(step)``. None prints them if ``verbose`` is set.

        Returns
        -------
        self
            The fitted estimator itself.
        """
        from .._fit import driver
        from .._fit.driver import MemoryRows
        from .fitting import (
            progress_of,
            warn_if_confounded,
            warn_unless_converged,
            with_rows_of_fit,
        )

        self.__dict__.pop("k_path_", None)
        rows: dict[str, Any] = {
            "sample_weight": sample_weight,
            "batch": batch,
            "known_labels": known_labels,
            "hold_labels": hold_labels,
        }
        self._check_known_start(known_labels)
        if hasattr(X, "__dask_graph__"):
            return self._fit_blocks(X, rows, progress)
        if self._chooses_k():
            return self._fit_auto(X, rows, progress)
        plan = self._plan()
        seeded = plan.seed_names
        counts = with_rows_of_fit(check_counts(X, self), first_names=seeded, **rows)
        names = getattr(self, "feature_names_in_", None)
        plan = plan.for_columns(names, counts.n_columns)
        warn_if_fractional(counts, plan.name)
        with self._workers() as workers:
            heard = progress or progress_of(self)
            record = driver.fit(plan, MemoryRows(counts, workers), heard)
        self._keep(
            record.with_names(
                columns=names,
                rows=getattr(X, "row_names", None),
            )
        )
        warn_unless_converged(record, stacklevel=2)
        warn_if_confounded(record, stacklevel=2)
        return self

    def predict(
        self, X: ArrayLike | Any, *, batch: ArrayLike | None = None
    ) -> NDArray[np.int32]:
        """Return the cluster of each row of X.

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix of shape \
(n_rows, n_columns)
            Counts of the same columns.
        batch : array-like of shape (n_rows,) or None, default=None
            Batch of each row, where the model was fitted with batches. Rows of other
            batches, or all without this, are taken to be of a mean one.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels, -1 for an outlier where outliers are asked for. The rows that the
            model was fitted on get ``labels_`` again, unless they were held in a
            cluster by ``known_labels``: then what the counts say.
        """
        counts = self._counts_of(X, batch)
        with self._workers() as workers:
            return self.record_.describe(counts, workers).labels

    def score(
        self,
        X: ArrayLike | Any,
        y: object = None,  # noqa: ARG002
        *,
        sample_weight: ArrayLike | None = None,
        batch: ArrayLike | None = None,
    ) -> float:
        """Return the negative loss of X under the fitted rates.

        Parameters
        ----------
        X, batch
            As in :meth:`predict`. Row sizes are fitted to X.
        y : None
            Not used; here for scikit-learn's conventions.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            How often each row counts.

        Returns
        -------
        float
            ``-loss_`` on the rows that the model was fitted on, unless some were held
            in clusters that fit them worse; larger is better.
        """
        counts = self._counts_of(X, batch, sample_weight)
        with self._workers() as workers:
            return self.record_.score(counts, workers)

    def __getattr__(self, name: str) -> Any:
        """Say why a fitted model lacks an attribute of its rows."""
        if "record_" in self.__dict__ and name in self._row_attributes():
            from .._fit.record import NO_ROWS

            raise AttributeError(NO_ROWS)
        return object.__getattribute__(self, name)  # which says what is wrong

    def get_params(self, *, deep: bool = False) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters as they were given."""
        names = [*inspect.signature(type(self).__init__).parameters][1:]
        return {name: getattr(self, name) for name in names}

    def _copied(self, **changed: Any) -> Self:
        """Return a model that is not fitted, with some parameters changed."""
        copy = type(self)(**deepcopy(self.get_params()))
        for name, value in changed.items():
            setattr(copy, name, value)
        return copy

    def _fit_blocks(
        self, X: Any, rows: dict[str, Any], progress: Progress | None
    ) -> Self:
        from ..distributed import fit

        return fit(self, X, **rows, progress=progress)

    def _check_known_start(self, known_labels: Any) -> None:
        """Refuse known clusters beside another start."""
        both = {"known_labels": known_labels, "seed_columns": self.seed_columns}
        for name, given in both.items():
            if given is not None and not isinstance(self.init, str):
                message = (
                    f"{name} and an init of labels or a model are two starts; pass one "
                    "of them (refine continues from a model)."
                )
                raise ValueError(message)

    def _chooses_k(self) -> bool:
        """Whether the number of clusters is chosen along a path."""
        auto = isinstance(self.n_clusters, str) and self.n_clusters == "auto"
        return auto and isinstance(self.init, str)

    def _fit_auto(
        self, X: ArrayLike | Any, rows: dict[str, Any], progress: Any
    ) -> Self:
        raise NotImplementedError

    def _plan(self) -> Plan:
        """Check all parameters, as far as that is possible without the data."""
        from .._core import rules
        from .._core.run import Settings
        from .._fit.plan import Plan, check_fixed, check_seeds

        _options.check_parameters(self.get_params(deep=False))
        init, limits = self._checked_init(), _options.check_robust(self.robust)
        column_init = self.column_init
        if not isinstance(column_init, str):
            column_init = np.asarray(column_init)
        settings = Settings(
            n_clusters=self._number_of_clusters(init),
            max_iter=int(self.max_iter),
            price=_options.resolve_penalty(self.column_penalty),
            groups=_options.check_groups(self.groups),
            rule=rules.NAMED[self.assignment],
            outliers=self.outliers,
            threshold=float(self.outlier_threshold),
            prior=float(self.prior),
        )
        return Plan(
            name=type(self).__name__,
            settings=settings,
            init=init,
            column_init=column_init,
            n_init=_options.check_n_init(self.n_init),
            entropy=_options.entropy_of(self.random_state),
            n_jobs=_options.resolve_n_jobs(self.n_jobs),
            parameters=self._plain_parameters(),
            max_dispersion=limits.columns,
            max_row_size=limits.rows,
            given_seeds=check_seeds(self.seed_columns),
            with_confidence=hasattr(type(self), "predict_proba"),
            calibrated=self.calibrates,
            fixed_groups=check_fixed(self.fixed_groups, settings.groups),
        )

    def _number_of_clusters(self, init: Any) -> int:
        """Number that is asked for; "auto": that of the labels or fit to start from."""
        if not isinstance(self.n_clusters, str):
            return int(self.n_clusters)
        if isinstance(init, str):
            return _options.check_integer("n_clusters", self.n_clusters, 1)
        if isinstance(init, np.ndarray):
            whole = init.dtype.kind in "iu" and init.size
            return max(int(init.max()) + 1, 1) if whole else 1
        return int(init.n_clusters)

    def _plain_parameters(self) -> dict[str, Any]:
        return plain(self.get_params(deep=False), longest=LONGEST_PARAMETER)

    def _checked_init(self) -> Any:
        """Name, labels or record that the rows start from."""
        init = self.init
        if isinstance(init, str):
            return init
        if isinstance(init, PoissonClusterer):
            check_is_fitted(init)
            return init.record_
        if hasattr(init, "get_params"):
            message = f"init={init!r} is not a ThreeCPO model."
            raise ValueError(message)
        return np.asarray(init)

    def _workers(self) -> Workers:
        from .._core.workers import Workers

        return Workers(_options.resolve_n_jobs(self.n_jobs))

    def _counts_of(
        self,
        X: ArrayLike | Any,
        batch: Any,
        sample_weight: Any = None,
        *,
        warn: bool = True,
    ) -> Counts:
        """Counts of other rows, in the batches of the fit."""
        from .fitting import info_of_new_rows

        check_is_fitted(self)
        counts, record = check_counts(X, self, reset=False), self.record_
        given = {"sample_weight": sample_weight, "batch": batch}
        carried = counts.row_info
        info = info_of_new_rows(
            record, counts.n_rows, **given, beside=carried, warn=warn
        )
        return record.in_batches(counts.with_rows(info))

    def _keep(self, record: FitRecord) -> None:
        """Set all attributes of a fit from its record."""
        batches = ("batch_names_", "batch_effects_")
        for name in ("feature_names_in_", "k_path_", *batches, *self._row_attributes()):
            self.__dict__.pop(name, None)
        self.record_ = record
        self.n_features_in_ = record.n_columns
        if record.column_names is not None:
            self.feature_names_in_ = record.column_names
        if record.batch_names:
            self.batch_names_ = np.array(record.batch_names, dtype=object)
            self.batch_effects_ = record.batch_effects
        self.cluster_rates_ = record.rates.cluster
        self.loss_ = record.loss
        self.history_ = dict(record.history)
        self.n_iter_ = record.n_iter
        self.n_clusters_ = record.n_clusters
        self.restart_losses_ = record.restart_losses
        if record.rows is not None:
            for name in self._row_attributes():
                setattr(self, name, getattr(record.rows, name.removesuffix("_")))

    def _row_attributes(self) -> list[str]:
        return [f"{name}_" for name in self._row_results]
