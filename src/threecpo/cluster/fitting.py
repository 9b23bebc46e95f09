"""What other rooms need of estimators: plans from them, and records into them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._core.codes import RELEVANT
from .._progress import PrintedSteps, RunBar, in_notebook
from .._validation import check_counts, with_given_rows
from ..table import CountTable
from ._base import PoissonClusterer

if TYPE_CHECKING:
    from .._fit.plan import Plan
    from .._fit.progress import Progress
    from .._fit.record import FitRecord
    from .._fit.refined import Division

__all__ = [
    "PoissonClusterer",
    "as_table",
    "check_estimator",
    "check_known_start",
    "division_of",
    "fitted",
    "fitted_from",
    "keep",
    "parameters_of",
    "plan_of",
    "progress_of",
    "warn_if_confounded",
    "warn_unless_converged",
]

Model = TypeVar("Model", bound=PoissonClusterer)


def check_estimator(estimator: Any) -> None:
    """Refuse what is not of the Poisson family."""
    if not isinstance(estimator, PoissonClusterer):
        message = f"{estimator!r} is none of ThreeCPO, PoissonL and PoissonC."
        raise TypeError(message)


def plan_of(estimator: PoissonClusterer) -> Plan:
    """Check the parameters of an estimator, once, and return them as a plan."""
    return estimator._plan()


def division_of(estimator: Any, cluster: Any, into: Any, batch: Any) -> Division:
    """Check how a cluster of a fitted estimator is to be divided."""
    if not hasattr(estimator, "split"):
        message = f"{estimator!r} has no clusters to divide: it is no ThreeCPO."
        raise TypeError(message)
    return estimator._division(cluster, into, batch)


def parameters_of(estimator: PoissonClusterer) -> dict[str, Any]:
    """Parameters of an estimator as records hold them."""
    return estimator._plain_parameters()


def check_known_start(estimator: PoissonClusterer, known_labels: Any) -> None:
    """Refuse known clusters beside another start of an estimator."""
    estimator._check_known_start(known_labels)


def keep(estimator: Model, record: FitRecord) -> Model:
    """Make an estimator the fitted one of this record."""
    estimator._keep(record)
    return estimator


def fitted(estimator: Model, record: FitRecord) -> Model:
    """Return a new estimator with the same parameters, fitted by this record."""
    n_clusters = record.settings.n_clusters
    return keep(clone(estimator).set_params(n_clusters=n_clusters), record)


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
) -> CountTable:
    """Return counts with their names, checked once.

    ``estimator`` gives its name to errors; nothing is stored in it. Weights, batches
    and known clusters of the rows go with the counts.
    """
    if isinstance(X, CountTable):
        table = X
    else:
        checked = None if estimator is None else clone(estimator)
        counts = check_counts(X, checked)
        names = getattr(checked, "feature_names_in_", None)
        table = CountTable(counts, column_names=names)
    hold = getattr(estimator, "hold_labels", True)
    seeded = tuple(map(str, getattr(estimator, "seed_columns", None) or ()))
    rows = sample_weight, batch, known_labels
    counts = with_given_rows(table.counts, *rows, hold=hold, seeded=seeded)
    return table if counts is table.counts else replace(table, counts=counts)


def warn_unless_converged(record: FitRecord, stacklevel: int) -> None:
    """Warn of a run that was stopped, and of clusters that were lost."""
    settings = record.settings
    message = None
    if not record.converged and record.n_iter == settings.max_iter:
        message = f"No fixed point within max_iter={settings.max_iter} iterations."
    elif not record.converged:
        message = (
            "The assignment rule came back to an earlier state and was stopped there, "
            f"in iteration {record.n_iter}."
        )
    elif record.n_clusters < settings.n_clusters:
        message = (
            f"Only {record.n_clusters} of n_clusters={settings.n_clusters} clusters "
            "kept any rows."
        )
        if not (record.groups == RELEVANT).any():
            message += " No column is relevant: these data show no clusters."
    if message:
        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)


def warn_if_confounded(record: FitRecord, stacklevel: int) -> None:
    """Warn where clusters and batches fall into parts that share no rows."""
    from .._core.batches import parts

    if record.sums.batches is None:
        return
    n_batches = record.sums.batches.n_batches
    members = record.sums.batches.members.reshape(-1, n_batches)[:-1]
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
        f"{'; '.join(found)}. Between these parts nobody can tell what is of the "
        "cluster and what of the batch."
    )
    warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)
