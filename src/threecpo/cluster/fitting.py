"""What other rooms need of estimators: plans from them, and records into them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._core.codes import RELEVANT
from .._core.rows import NOTHING
from .._progress import PrintedSteps, RunBar, in_notebook
from .._row_values import check_known, info_of_fit, row_info
from .._validation import check_counts
from ..table import CountTable
from ._base import PoissonClusterer as PoissonClusterer  # noqa: PLC0414
from ._base import check_is_fitted as check_is_fitted  # noqa: PLC0414
from .naming import cluster_names_of

if TYPE_CHECKING:
    from .._core.counts import Counts
    from .._core.rows import RowInfo
    from .._fit.plan import Plan, Progress
    from .._fit.record import FitRecord

Model = TypeVar("Model", bound=PoissonClusterer)


def check_estimator(estimator: Any) -> None:
    """Refuse what is not of the Poisson family."""
    if not isinstance(estimator, PoissonClusterer):
        message = f"{estimator!r} is not a ThreeCPO."
        raise TypeError(message)


def plan_of(estimator: PoissonClusterer) -> Plan:
    """Check the parameters of an estimator, once, and return them as a plan."""
    return estimator._plan()


def refit_plan(estimator: Any) -> Plan:
    """Return the plan of a fitted estimator's fit, to go on from that."""
    return estimator._refit_plan()


def check_division(estimator: Any, cluster: Any, into: Any, batch: Any) -> None:
    """Refuse a division of a fitted estimator's cluster that is not possible."""
    if not hasattr(estimator, "split"):
        message = f"{estimator!r} is not a ThreeCPO; only its clusters can be split."
        raise TypeError(message)
    estimator._check_division(cluster, into, batch)


def info_of_new_rows(
    record: FitRecord,
    n_rows: int,
    *,
    sample_weight: Any = None,
    batch: Any = None,
    beside: RowInfo = NOTHING,
    warn: bool = True,
) -> RowInfo:
    """Return what is given of new rows, checked; warn of batches unknown to the fit."""
    if batch is not None and not record.batch_names:
        message = "This model was fitted without batch=; leave it out here, too."
        raise ValueError(message)
    carried = replace(beside, known=None, known_names=())
    given = {"sample_weight": sample_weight, "batch": batch}
    info = row_info(n_rows, **given, beside=carried)
    if record.sums.n_batches == 1 or info.batches is None:
        return info
    unknown = [name for name in info.batch_names if name not in record.batch_names]
    if unknown and warn:
        codes = [info.batch_names.index(name) for name in unknown]
        n_unknown = int(np.isin(info.batches, codes).sum())
        listed = ", ".join(map(repr, unknown[:5])) + (", …" if unknown[5:] else "")
        message = (
            f"{n_unknown} of {n_rows} rows come from batches that were not in the fit "
            f"({listed}); they are scored as an average batch."
        )
        warnings.warn(message, UserWarning, stacklevel=4)
    return info


def parameters_of(estimator: PoissonClusterer) -> dict[str, Any]:
    """Parameters of an estimator as records hold them."""
    return estimator._plain_parameters()


def chooses_k(estimator: PoissonClusterer) -> bool:
    """Whether the number of clusters is chosen along a path."""
    return estimator._chooses_k()


def check_known_start(estimator: PoissonClusterer, known_labels: Any) -> None:
    """Refuse known clusters beside another start of an estimator."""
    estimator._check_known_start(known_labels)


def keep(estimator: Model, record: FitRecord) -> Model:
    """Make an estimator the fitted one of this record."""
    estimator._keep(record)
    return estimator


def copied(estimator: Model, **changed: Any) -> Model:
    """Return an estimator that is not fitted, with some parameters changed."""
    return estimator._copied(**changed)


def fitted(estimator: Model, record: FitRecord) -> Model:
    """Return a new estimator with the same parameters, fitted by this record."""
    return keep(copied(estimator, n_clusters=record.settings.n_clusters), record)


def fitted_from(estimator: Any, record: FitRecord) -> Any:
    """Return a new estimator of a fit that went on from that of another."""
    return estimator._fitted_by(record)


def progress_of(estimator: PoissonClusterer) -> Progress | None:
    """What listens to the fit of an estimator that is ``verbose``."""
    if estimator.verbose == 1 and in_notebook():
        return RunBar()
    return PrintedSteps(estimator.verbose) if estimator.verbose else None


def as_table(
    X: Any,
    estimator: Any = None,
    *,
    sample_weight: Any = None,
    batch: Any = None,
    known_labels: Any = None,
    hold_labels: bool = True,
) -> CountTable:
    """Return counts with names and what belongs to rows, as the estimator fits them."""
    if isinstance(X, CountTable):
        table = X
    else:
        checked = None if estimator is None else copied(estimator)
        counts = check_counts(X, checked)
        names = getattr(checked, "feature_names_in_", None)
        table = CountTable(counts, column_names=names)
    seeded = tuple(map(str, getattr(estimator, "seed_columns", None) or ()))
    rows = {"sample_weight": sample_weight, "batch": batch}
    rows |= {
        "known_labels": known_labels,
        "hold_labels": hold_labels,
        "first_names": seeded,
    }
    return replace(table, counts=with_rows_of_fit(table.counts, **rows))


def with_rows_of_fit(
    counts: Counts,
    *,
    first_names: tuple[str, ...] = (),
    hold_labels: bool = True,
    **rows: Any,
) -> Counts:
    """Return counts with what belongs to their rows, as a fit takes it."""
    info = row_info(
        counts.n_rows, **rows, first_names=first_names, beside=counts.row_info
    )
    return counts.with_rows(
        info_of_fit(info, hold_labels=hold_labels, first_names=first_names)
    )


def with_known_rows(
    record: FitRecord, info: RowInfo, n_rows: int, known_labels: Any
) -> RowInfo:
    """Return what belongs to rows, some of them known to be of clusters of a fit."""
    names = tuple(cluster_names_of(record).tolist())
    given = known_labels is not None
    found = check_known(known_labels, n_rows, names) if given else None
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
