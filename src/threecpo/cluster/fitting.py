"""The clusterer that all estimators are: rows and parameters in, a record back."""

from __future__ import annotations

import inspect
import warnings
from copy import deepcopy
from dataclasses import replace
from difflib import get_close_matches
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from .. import _options
from .._core.codes import RELEVANT
from .._core.rows import NOTHING
from .._plain import plain
from .._progress import PrintedSteps, RunBar, in_notebook
from .._row_values import check_known, info_of_fit, row_info
from .._validation import check_counts, warn_if_fractional
from ..table import CountTable
from .naming import cluster_names_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts
    from .._core.rows import RowInfo
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
    # Attributes that are of rows; without a record of rows there are none.
    _by_row: ClassVar[tuple[str, ...]] = ("labels_", "row_scales_")

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

        self.__dict__.pop("k_path_", None)
        rows: dict[str, Any] = {"sample_weight": sample_weight, "batch": batch}
        rows |= {"known_labels": known_labels, "hold_labels": hold_labels}
        check_known_start(self, known_labels)
        if hasattr(X, "__dask_graph__"):
            from ..distributed import fit

            return fit(self, X, **rows, progress=progress)
        if chooses_k(self):
            from ..select import fit_auto

            return fit_auto(self, as_table(X, self, **rows), progress)
        plan = plan_of(self)
        table = as_table(X, self, **rows)
        plan = plan.for_columns(table.column_names, table.shape[1])
        warn_if_fractional(table.counts, plan.name)
        with self._workers() as workers:
            found = driver.MemoryRows(table.counts, workers)
            record = driver.fit(plan, found, progress or progress_of(self))
        names = {"columns": table.column_names, "rows": table.row_names}
        self._keep(record.with_names(**names))
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
        """Say why a model has no fit, or a fit no results of its rows."""
        if name == "record_":
            check_is_fitted(self)
        if "record_" in self.__dict__ and name in self._by_row:
            from .._fit.record import NO_ROWS

            raise AttributeError(NO_ROWS)
        return object.__getattribute__(self, name)  # which says what is wrong

    def get_params(self, *, deep: bool = False) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters as they were given."""
        names = [*inspect.signature(type(self).__init__).parameters][1:]
        return {name: getattr(self, name) for name in names}

    def _workers(self) -> Workers:
        from .._core.workers import Workers

        return Workers(_options.resolve_n_jobs(self.n_jobs))

    def _counts_of(
        self,
        X: ArrayLike | Any,
        batch: Any,
        sample_weight: Any = None,
        *,
        stacklevel: int = 4,
    ) -> Counts:
        """Counts of other rows, in the batches of the fit."""
        record, counts = self.record_, check_counts(X, self, reset=False)
        given: dict[str, Any] = {"sample_weight": sample_weight, "batch": batch}
        given |= {"beside": counts.row_info, "stacklevel": stacklevel}
        info = info_of_new_rows(record, counts.n_rows, **given)
        return record.in_batches(counts.with_rows(info))

    def _keep(self, record: FitRecord) -> None:
        """Set all attributes of a fit from its record."""
        batches = ("batch_names_", "batch_effects_")
        for name in ("feature_names_in_", "k_path_", *batches, *self._by_row):
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
            for name in self._by_row:
                setattr(self, name, getattr(record.rows, name.removesuffix("_")))


Model = TypeVar("Model", bound=PoissonClusterer)


def check_estimator(estimator: Any) -> None:
    """Refuse what is not of the Poisson family."""
    if not isinstance(estimator, PoissonClusterer):
        message = f"{estimator!r} is not a ThreeCPO."
        raise TypeError(message)


def check_known_start(estimator: PoissonClusterer, known_labels: Any) -> None:
    """Refuse known clusters beside another start of an estimator."""
    both = {"known_labels": known_labels, "seed_columns": estimator.seed_columns}
    for name, given in both.items():
        if given is not None and not isinstance(estimator.init, str):
            message = (
                f"{name} and an init of labels or a model are two starts; pass one "
                "of them (refine continues from a model)."
            )
            raise ValueError(message)


def chooses_k(estimator: PoissonClusterer) -> bool:
    """Whether the number of clusters is chosen along a path."""
    auto = isinstance(estimator.n_clusters, str) and estimator.n_clusters == "auto"
    can = hasattr(estimator, "criterion") and isinstance(estimator.init, str)
    return auto and can


def parameters_of(estimator: PoissonClusterer) -> dict[str, Any]:
    """Parameters of an estimator as records hold them."""
    return plain(estimator.get_params(deep=False), longest=LONGEST_PARAMETER)


def plan_of(estimator: PoissonClusterer) -> Plan:
    """Check all parameters, as far as that is possible without the data."""
    from .._core import rules
    from .._core.run import Settings
    from .._fit.plan import Plan, check_fixed, check_seeds

    _options.check_parameters(estimator.get_params(deep=False))
    init, limits = _start_of(estimator), _options.check_robust(estimator.robust)
    column_init = estimator.column_init
    if not isinstance(column_init, str):
        column_init = np.asarray(column_init)
    settings = Settings(
        n_clusters=_number_of_clusters(estimator.n_clusters, init),
        max_iter=int(estimator.max_iter),
        price=_options.resolve_penalty(estimator.column_penalty),
        groups=_options.check_groups(estimator.groups),
        rule=rules.NAMED[estimator.assignment],
        outliers=estimator.outliers,
        threshold=float(estimator.outlier_threshold),
        prior=float(estimator.prior),
    )
    return Plan(
        name=type(estimator).__name__,
        settings=settings,
        init=init,
        column_init=column_init,
        n_init=_options.check_integer("n_init", estimator.n_init, 1, ("auto",)),
        entropy=_options.entropy_of(estimator.random_state),
        n_jobs=_options.resolve_n_jobs(estimator.n_jobs),
        parameters=parameters_of(estimator),
        max_dispersion=limits.columns,
        max_row_size=limits.rows,
        given_seeds=check_seeds(estimator.seed_columns),
        with_confidence=hasattr(type(estimator), "predict_proba"),
        calibrated=estimator.calibrates,
        fixed_groups=check_fixed(estimator.fixed_groups, settings.groups),
    )


def _start_of(estimator: PoissonClusterer) -> Any:
    """Name, labels or record that the rows start from."""
    init = estimator.init
    if isinstance(init, PoissonClusterer):
        return init.record_
    if hasattr(init, "get_params"):
        message = f"init={init!r} is not a ThreeCPO model."
        raise ValueError(message)
    return init if isinstance(init, str) else np.asarray(init)


def _number_of_clusters(n_clusters: Any, init: Any) -> int:
    """Number that is asked for; "auto": that of the labels or fit to start from."""
    if not isinstance(n_clusters, str):
        return int(n_clusters)
    if isinstance(init, str):
        return _options.check_integer("n_clusters", n_clusters, 1)
    if isinstance(init, np.ndarray):
        whole = init.dtype.kind in "iu" and init.size
        return max(int(init.max()) + 1, 1) if whole else 1
    return int(init.n_clusters)


def refit_plan(estimator: Any) -> Plan:
    """Plan of a fit, whatever the parameters are now; the start is to be set."""
    record = estimator.record_
    if record.plan is None:
        message = "The plan of this fit is not known; fit again."
        raise ValueError(message)
    start: dict[str, Any] = {"init": "merge", "column_init": "information"}
    return replace(
        record.plan,
        **start,
        settings=record.settings,
        seed_columns=(),
        n_jobs=_options.resolve_n_jobs(estimator.n_jobs),
        parameters={**record.parameters, **start},
    )


def check_division(estimator: Any, cluster: Any, into: Any, batch: Any) -> None:
    """Refuse a division of a fitted estimator's cluster that is not possible."""
    if not hasattr(estimator, "split"):
        message = f"{estimator!r} is not a ThreeCPO; only its clusters can be split."
        raise TypeError(message)
    check_batches_given(estimator.record_, batch)
    _options.check_integer("into", into, 2)
    checked_clusters([cluster], estimator.record_.n_clusters)


def checked_clusters(clusters: Iterable[Any], n_clusters: int) -> list[int]:
    """Numbers of clusters that there are."""
    numbers = []
    for given in clusters:
        number = int(given) if isinstance(given, Integral) else -1
        if not 0 <= number < n_clusters:
            message = f"{given!r} is not a cluster; they are 0 to {n_clusters - 1}."
            raise ValueError(message)
        numbers.append(number)
    return numbers


def check_batches_given(record: FitRecord, batch: Any) -> None:
    """Refuse rows without batches where a fit of several goes on."""
    if batch is None and record.sums.n_batches > 1:
        message = "This model was fitted with batch=; pass that of X here, too."
        raise ValueError(message)


def keep(estimator: Model, record: FitRecord) -> Model:
    """Make an estimator the fitted one of this record."""
    estimator._keep(record)
    return estimator


def copied(estimator: Model, **changed: Any) -> Model:
    """Return an estimator that is not fitted, with some parameters changed."""
    if hasattr(estimator, "__sklearn_clone__"):
        from sklearn.base import clone

        copy: Any = clone(estimator)
        return copy.set_params(**changed)
    return type(estimator)(**deepcopy(estimator.get_params()) | changed)


def fitted(estimator: Model, record: FitRecord) -> Model:
    """Return a new estimator with the same parameters, fitted by this record."""
    return keep(copied(estimator, n_clusters=record.settings.n_clusters), record)


def fitted_from(estimator: Model, record: FitRecord) -> Model:
    """Return a new estimator of a fit that went on, without a start of its own."""
    new = fitted(estimator, record)
    if not isinstance(new.init, str):
        new.init = "merge"
    return new


def renamed(estimator: Model, record: FitRecord) -> Model:
    """Return the same fit with a record that has other names."""
    new = keep(copied(estimator), record)
    if hasattr(estimator, "k_path_"):
        new.k_path_ = estimator.k_path_
    return new


def progress_of(estimator: PoissonClusterer) -> Progress | None:
    """What listens to the fit of an estimator that is ``verbose``."""
    if estimator.verbose == 1 and in_notebook():
        return RunBar()
    return PrintedSteps(estimator.verbose) if estimator.verbose else None


def as_table(X: Any, estimator: Any = None, **rows: Any) -> CountTable:
    """Return counts with names and what belongs to rows, as the estimator fits them.

    ``rows`` are what ``fit`` takes beside the counts.
    """
    table = X
    if not isinstance(X, CountTable):
        checked = None if estimator is None else copied(estimator)
        counts = check_counts(X, checked)
        names = getattr(checked, "feature_names_in_", None)
        table = CountTable(counts, column_names=names)
    seeded = tuple(map(str, getattr(estimator, "seed_columns", None) or ()))
    counts = with_rows_of_fit(table.counts, first_names=seeded, **rows)
    return replace(table, counts=counts)


def with_rows_of_fit(counts: Counts, **rows: Any) -> Counts:
    """Return counts with what belongs to their rows, as a fit takes it."""
    return counts.with_rows(info_of_fit(counts.n_rows, beside=counts.row_info, **rows))


def with_known_rows(
    record: FitRecord, info: RowInfo, n_rows: int, known_labels: Any
) -> RowInfo:
    """Return what belongs to rows, some of them known to be of clusters of a fit."""
    if known_labels is None:
        return info
    names = tuple(cluster_names_of(record).tolist())
    found = check_known(known_labels, n_rows, names)
    if found is None:
        return info
    known, all_names = found
    if len(all_names) > len(names):
        row = int(np.flatnonzero(known >= len(names))[0])
        label = all_names[known[row]] or int(known[row])
        message = (
            f"known_labels of row {row} is {label!r}, which is not a cluster of this "
            f"model; it has {len(names)}."
        )
        raise ValueError(message)
    return replace(info, known=known, known_names=names)


def info_of_new_rows(
    record: FitRecord,
    n_rows: int,
    *,
    sample_weight: Any = None,
    batch: Any = None,
    beside: RowInfo = NOTHING,
    stacklevel: int = 4,
) -> RowInfo:
    """Return what is given of new rows, checked.

    Batches that the fit does not know are warned of, unless ``stacklevel`` is 0.
    """
    if batch is not None and not record.batch_names:
        message = "This model was fitted without batch=; leave it out here, too."
        raise ValueError(message)
    carried = replace(beside, known=None, known_names=())
    info = row_info(n_rows, sample_weight=sample_weight, batch=batch, beside=carried)
    if record.sums.n_batches == 1 or info.batches is None:
        return info
    unknown = [name for name in info.batch_names if name not in record.batch_names]
    if unknown and stacklevel:
        codes = [info.batch_names.index(name) for name in unknown]
        n_unknown = int(np.isin(info.batches, codes).sum())
        listed = ", ".join(map(repr, unknown[:5])) + (", …" if unknown[5:] else "")
        message = (
            f"{n_unknown} of {n_rows} rows come from batches that were not in the fit "
            f"({listed}); they are scored as an average batch."
        )
        warnings.warn(message, UserWarning, stacklevel=stacklevel)
    return info


def warn_unless_converged(record: FitRecord, stacklevel: int) -> None:
    """Warn of a run that was stopped, and of clusters that were lost."""
    settings = record.settings
    message = None
    if not record.converged and record.n_iter == settings.max_iter:
        message = f"Not converged after max_iter={settings.max_iter} iterations."
    elif not record.converged:
        message = (
            "The assignment rule returned to an earlier state; the run was stopped in "
            f"iteration {record.n_iter}."
        )
    elif record.n_clusters < settings.n_clusters:
        message = (
            f"Only {record.n_clusters} of n_clusters={settings.n_clusters} clusters "
            "kept any rows."
        )
        if not (record.groups == RELEVANT).any():
            message += " No column is relevant: these data show no clusters."
    if message:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)


def warn_if_confounded(record: FitRecord, stacklevel: int) -> None:
    """Warn where clusters and batches fall into parts that share no rows."""
    from .._core.batch_model import parts

    if record.sums.n_batches == 1:
        return
    members = record.sums.cell_members.reshape(-1, record.sums.n_batches)[:-1]
    _, of_cluster, of_batch = parts(members.astype(float))
    if len(np.unique(of_cluster)) < 2:
        return
    found = []
    for part in np.unique(of_cluster):
        clusters = np.flatnonzero(of_cluster == part)
        names = [repr(record.batch_names[b]) for b in np.flatnonzero(of_batch == part)]
        listed = ", ".join(map(str, clusters.tolist()))
        found.append(
            f"cluster {listed} in batch {', '.join(names)} "
            f"({members[clusters].sum()} rows)"
        )
    message = (
        f"Clusters and batches fall into {len(found)} parts that share no rows: "
        f"{'; '.join(found)}. Cluster and batch effects are confounded there."
    )
    warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)
