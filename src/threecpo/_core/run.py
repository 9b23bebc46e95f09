"""One run from a start to convergence."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from . import model
from .kernels import NOWHERE
from .model import Sums
from .statistics import Workers, assign, sum_by_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .counts import Counts
    from .kernels import Profile
    from .model import ColumnStep, Penalty
    from .statistics import Statistics

OUTLIER = -1
GROUP_NAMES = {1: "relevant", 0: "shared", -1: "noise"}


@dataclass(frozen=True)
class Settings:
    """What a run obeys: the options of the paper and its ablations."""

    n_clusters: int
    max_iter: int
    penalty: Penalty
    groups: tuple[int, ...]
    exact: bool
    outliers: bool
    threshold: float
    prior: float
    chi_squared: bool = False

    def profile(self, sums: Sums, groups: NDArray[np.int8]) -> Profile:
        """Row profile by the rule of these settings."""
        if self.chi_squared:
            return model.chi_squared_profile(sums)
        return model.profile(
            sums,
            groups,
            exact=self.exact,
            background=self.outliers,
            threshold=self.threshold,
        )


@dataclass(frozen=True)
class Run:
    """A finished run, its clusters numbered from the largest.

    ``profile_statistics`` and ``ranks`` (how ties are broken) make the profile that
    produced ``labels``; at a fixed point these are the sums of the labels themselves.
    """

    labels: NDArray[np.int32]
    groups: NDArray[np.int8]
    statistics: Statistics
    profile_statistics: Statistics
    ranks: NDArray[np.int32]
    column_scores: NDArray[np.float64]
    loss: float
    history: dict[str, NDArray[np.generic]]
    converged: bool


def run(
    counts: Counts,
    groups: NDArray[np.int8],
    labels: NDArray[np.int32],
    settings: Settings,
    workers: Workers,
    report: Callable[[int, dict[str, float], bool], None] | None = None,
) -> Run:
    """Alternate column and row steps from these groups and labels to a fixed point.

    Rows that are ``NOWHERE`` join the cluster that the sums of the others make best.
    """
    prior, n_clusters = settings.prior, settings.n_clusters
    labels = np.where(labels == OUTLIER, n_clusters, labels).astype(np.int32)
    statistics = sum_by_labels(counts, labels, n_clusters, groups, prior)
    statistics, labels, _ = _without_empty(statistics, labels)
    if (labels == NOWHERE).any():
        first = model.profile(Sums.of(statistics, prior), groups, exact=settings.exact)
        assign(counts, first, labels, statistics, workers, with_scales=False)
        statistics, labels, _ = _without_empty(statistics, labels)
    step = _column_step(statistics, groups, settings)
    history: list[dict[str, float]] = []
    seen: set[bytes] = set()
    repeated = finished = False
    while not finished:
        before, groups = groups, step.groups
        behind = statistics.copy()
        moved = assign(
            counts,
            settings.profile(step.sums, groups),
            labels,
            statistics,
            workers,
            with_scales=bool(((groups >= 0) != (before >= 0)).any()),
        )
        converged = moved == 0 and np.array_equal(groups, before)
        if not converged:
            statistics, labels, kept = _without_empty(statistics, labels)
            if len(kept) < behind.n_clusters:
                behind = behind.take(kept)
            step = _column_step(statistics, groups, settings)
        loss = model.loss(step.scores, groups)
        if history and loss >= min(entry["loss"] for entry in history):
            # Rules other than the exact one can come back to where they have been.
            state = blake2b(labels.tobytes() + groups.tobytes()).digest()
            repeated = state in seen
            seen.add(state)
        history.append(_entry(loss, before, groups, moved))
        finished = converged or repeated or len(history) == settings.max_iter
        if report is not None:
            report(len(history), history[-1], finished)
    order = np.argsort(-statistics.sizes[:-1], kind="stable")
    return Run(
        labels=_renumbered(labels, order),
        groups=groups,
        statistics=statistics.take(order),
        profile_statistics=behind.take(order),
        ranks=order.astype(np.int32),
        column_scores=step.scores,
        loss=loss,
        history={
            key: np.array([entry[key] for entry in history]) for key in history[0]
        },
        converged=converged,
    )


def _column_step(
    statistics: Statistics, groups: NDArray[np.int8], settings: Settings
) -> ColumnStep:
    sums = Sums.of(statistics, settings.prior)
    return model.column_step(sums, groups, settings.penalty, settings.groups)


def _without_empty(
    statistics: Statistics, labels: NDArray[np.int32]
) -> tuple[Statistics, NDArray[np.int32], NDArray[np.intp]]:
    """Drop clusters that have lost all rows; also return those that are left."""
    kept = np.flatnonzero(statistics.sizes[:-1])
    if len(kept) == statistics.n_clusters:
        return statistics, labels, kept
    new = np.full(statistics.n_clusters + 1, len(kept), dtype=np.int32)
    new[kept] = np.arange(len(kept))
    labels = np.where(labels == NOWHERE, labels, new[labels])
    return statistics.take(kept), labels, kept


def _renumbered(
    labels: NDArray[np.int32], order: NDArray[np.intp]
) -> NDArray[np.int32]:
    new = np.full(len(order) + 1, OUTLIER, dtype=np.int32)
    new[order] = np.arange(len(order))
    return new[labels]


def _entry(
    loss: float, before: NDArray[np.int8], groups: NDArray[np.int8], moved: int
) -> dict[str, float]:
    """One line of the history."""
    pairs = np.bincount((before + 1) * 3 + groups + 1, minlength=9).reshape(3, 3)
    entry: dict[str, float] = {"loss": loss}
    for group, name in GROUP_NAMES.items():
        stayed = pairs[group + 1, group + 1]
        entry[name] = int(pairs[:, group + 1].sum())
        entry[f"into_{name}"] = int(entry[name] - stayed)
        entry[f"out_of_{name}"] = int(pairs[group + 1].sum() - stayed)
    entry["rows_moved"] = moved
    return entry
