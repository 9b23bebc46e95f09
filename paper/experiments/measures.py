"""What cells measure. Each returns values that JSON can hold."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from threecpo import ThreeCPO, select_n_clusters

from ..kmeans_path import k_means_path
from ..metrics import outlier_free_scores, purity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .cells import Values
    from .data import Data

MANY_COLUMNS = 100


def scores(data: Data, estimator: Any) -> Values:
    """Fit; agreement with the classes in percent, outliers left out."""
    seconds = _fit_seconds(data, estimator)
    labels = estimator.labels_
    values = {"seconds": seconds, "clusters": len(np.unique(labels[labels >= 0]))}
    values |= {"outliers": int(np.count_nonzero(labels < 0))}
    values |= agreement(data.labels, labels)
    values["iterations"] = int(estimator.n_iter_)
    if hasattr(estimator, "column_groups_"):
        values |= _columns(estimator.column_groups_)
        values["loss"] = float(estimator.loss_)
    return values


def agreement(classes: NDArray[Any], labels: NDArray[Any]) -> Values:
    """ACC, NMI, ARI and Purity in percent of the rows that are no outliers."""
    inside = labels >= 0
    if not inside.any():
        return dict.fromkeys(("ACC", "NMI", "ARI", "Purity"), float("nan"))
    found = outlier_free_scores(classes, labels)
    shares = {name: found[name] for name in ("ACC", "NMI", "ARI")}
    shares["Purity"] = purity(classes[inside], labels[inside])
    return {name: 100 * share for name, share in shares.items()}


def processor_seconds(data: Data, estimator: Any, *, repeat: int) -> Values:
    """Processor time of one fit on one thread; ``repeat`` tells repetitions apart.

    Other programs on the machine prolong the time on the clock, but hardly this one.
    """
    del repeat
    if "n_jobs" in estimator.get_params():
        estimator.set_params(n_jobs=1)
    few = slice(0, None, max(1, data.X.shape[0] // 60))
    with threadpool_limits(1), _quiet():
        # Loops that are compiled on first use are compiled before.
        clone(estimator).set_params(n_init=1).fit(data.X[few])
        begin = time.process_time()
        estimator.fit(data.X)
        return {"seconds": time.process_time() - begin}


def history(data: Data, estimator: Any) -> Values:
    """The kept run of 3CPO, iteration by iteration."""
    _fit_seconds(data, estimator)
    kept = {name: entry.tolist() for name, entry in estimator.history_.items()}
    return {"history": kept, "loss": float(estimator.loss_)}


def words(data: Data, estimator: Any, *, n: int) -> Values:
    """The most telling columns of each cluster and group, and whose cluster it is."""
    _fit_seconds(data, estimator)
    groups = estimator.column_groups_
    names = data.column_names
    names = np.arange(data.X.shape[1]).astype(str) if names is None else names
    top = estimator.top_columns(n, order="excess")
    listed: dict[str, list[str]] = {}
    for group, cluster, column in zip(
        top["group"], top["cluster"], top["column"], strict=True
    ):
        key = {0: "C0", -1: "C-"}.get(int(group), str(cluster))
        listed.setdefault(key, []).append(str(names[int(column)]))
    classes = [
        np.bincount(data.labels[estimator.labels_ == k]).tolist()
        for k in range(estimator.n_clusters_)
    ]
    found = {"words": listed, "classes": classes, "loss": float(estimator.loss_)}
    return found | _columns(groups)


def zeros(data: Data, estimator: Any, *, bins: int) -> Values:
    """Histograms of the share of zeros of the columns of each group."""
    _fit_seconds(data, estimator)
    stored = np.bincount(data.X.indices, minlength=data.X.shape[1])
    share = 1 - stored / data.X.shape[0]
    groups = estimator.column_groups_
    edges = np.linspace(0, 1, bins + 1)
    counted = {"all": np.histogram(share, edges)[0].tolist()}
    for name, group in (("C1", 1), ("C0", 0), ("C-", -1)):
        counted[name] = np.histogram(share[groups == group], edges)[0].tolist()
    medians = {
        name: float(np.median(share[groups == group]))
        if (groups == group).any()
        else None
        for name, group in (("C1", 1), ("C0", 0), ("C-", -1))
    }
    found = {"histograms": counted, "medians": medians, "edges": edges.tolist()}
    return found | {"loss": float(estimator.loss_)}


def outlier_rows(data: Data, estimator: Any, *, shown: int) -> Values:
    """Some rows that are outliers and some that are not, and the classes of both."""
    _fit_seconds(data, estimator)
    rng = np.random.default_rng(0)
    outside = estimator.labels_ < 0
    chosen = {}
    for name, rows in (("inliers", ~outside), ("outliers", outside)):
        members = np.flatnonzero(rows)
        picked = rng.choice(members, min(shown, len(members)), replace=False)
        chosen[name] = sorted(int(row) for row in picked)
    n_classes = data.n_clusters
    classes = {
        "inliers": np.bincount(data.labels[~outside], minlength=n_classes).tolist(),
        "outliers": np.bincount(data.labels[outside], minlength=n_classes).tolist(),
    }
    return {"rows": chosen, "classes": classes, "loss": float(estimator.loss_)}


def path(
    data: Data,
    estimator: Any,
    *,
    n_clusters: Sequence[int],
    criteria: Sequence[str],
    runs: int,
) -> Values:
    """Fits over K, the best of some runs each, and what each criterion chooses.

    Curves of criteria are what is minimised: silhouettes and BIC with sign turned.
    """
    begin = time.perf_counter()
    tried = [k for k in n_clusters if k <= data.X.shape[0]]
    measured = _poisson_path if isinstance(estimator, ThreeCPO) else _k_means_path
    with _quiet():
        curves, chosen = measured(data, estimator, tried, criteria, runs)
    return {
        "seconds": time.perf_counter() - begin,
        "n_clusters": tried,
        "choices": {
            name: {"K": n_found, **agreement(data.labels, labels)}
            for name, (n_found, labels) in chosen.items()
        },
        "curves": {name: np.asarray(curve).tolist() for name, curve in curves.items()},
    }


Curves = dict[str, "NDArray[Any]"]
Chosen = dict[str, tuple[int, "NDArray[Any]"]]


def _poisson_path(
    data: Data, estimator: Any, tried: list[int], criteria: Sequence[str], runs: int
) -> tuple[Curves, Chosen]:
    found = select_n_clusters(data.X, tried, n_init=runs, estimator=estimator)
    table = found.to_table()
    curves: Curves = {name: table[name] for name in ("loss", "relevant")}
    chosen: Chosen = {}
    for criterion in criteria:
        best = found.choose(criterion)
        curves[criterion] = best.totals
        chosen[criterion] = int(best.best_k), best.best_estimator.labels_
    return curves, chosen


def _k_means_path(
    data: Data, estimator: Any, tried: list[int], criteria: Sequence[str], runs: int
) -> tuple[Curves, Chosen]:
    found = k_means_path(data.X, tried, estimator, n_init=runs)
    curves: Curves = {"loss": found.inertias}
    chosen: Chosen = {}
    for criterion in criteria:
        fit, curves[criterion] = found.choose(criterion)
        chosen[criterion] = fit.n_found, fit.labels
    return curves, chosen


def _fit_seconds(data: Data, estimator: Any) -> float:
    begin = time.perf_counter()
    with _quiet():
        estimator.fit(data.X)
    return time.perf_counter() - begin


def _quiet() -> Any:
    """Fewer clusters than asked for, or a cap on iterations, are results here."""
    return warnings.catch_warnings(action="ignore", category=ConvergenceWarning)


def _columns(groups: NDArray[np.int8]) -> Values:
    counted: Values = {
        name: int(np.count_nonzero(groups == group))
        for name, group in (("C1", 1), ("C0", 0), ("C-", -1))
    }
    if len(groups) <= MANY_COLUMNS:
        counted["groups"] = groups.tolist()
    return counted
