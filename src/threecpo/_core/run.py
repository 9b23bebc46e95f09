"""One run from a start to convergence."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import model
from .codes import GROUP_NAMES, NOWHERE, OUTLIER, UNKNOWN
from .model import SmoothedSums
from .sums import assign, sum_by_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .counts import Counts
    from .loops.rows import Profile
    from .model import ColumnStep, Penalty
    from .sums import Sums
    from .workers import Workers


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

    def profile(self, sums: SmoothedSums, groups: NDArray[np.int8]) -> Profile:
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
    A run over blocks of rows keeps no labels.
    """

    labels: NDArray[np.int32]
    groups: NDArray[np.int8]
    statistics: Sums
    profile_statistics: Sums
    ranks: NDArray[np.int32]
    column_scores: NDArray[np.float64]
    loss: float
    lines: list[dict[str, float]]
    converged: bool

    @property
    def history(self) -> dict[str, NDArray[np.generic]]:
        """What every iteration did, by name."""
        return {
            key: np.array([line[key] for line in self.lines]) for key in self.lines[0]
        }


class Request(NamedTuple):
    """What a run asks of a pass over the rows: sums by a profile, and u if need be."""

    profile: Profile
    with_scales: bool


class Running:
    """A run between two passes: it asks, takes what the pass has summed, and goes on.

    It knows sums, never rows: labels are a result of the sums. ``behind`` are the sums
    that made the profile of the last pass.
    """

    def __init__(
        self, statistics: Sums, groups: NDArray[np.int8], settings: Settings
    ) -> None:
        self.statistics, _ = without_empty(statistics)
        self.behind = self.statistics
        self.groups = groups
        self.settings = settings
        self.lines: list[dict[str, float]] = []
        self.seen: set[bytes] = set()
        self.finished = self.converged = False
        self.step = self._column_step()

    @property
    def request(self) -> Request:
        groups = self.step.groups
        return Request(
            self.settings.profile(self.step.sums, groups),
            with_scales=bool(((groups >= 0) != (self.groups >= 0)).any()),
        )

    def take(self, statistics: Sums, moved: int | None) -> NDArray[np.intp]:
        """Go on from the sums of the pass that was asked for.

        Returns the clusters that are left. The number of rows that moved is told to the
        history where it is known.
        """
        before, self.groups = self.groups, self.step.groups
        self.behind = self.statistics
        self.converged = np.array_equal(self.groups, before) and (
            moved == 0 or _equal_sums(statistics, self.behind)
        )
        self.statistics, kept = without_empty(statistics)
        if not self.converged:
            if len(kept) < self.behind.n_clusters:
                self.behind = self.behind.take(kept)
            self.step = self._column_step()
        loss = model.loss(self.step.scores, self.groups)
        repeated = self._comes_back(loss)
        moved = 0 if self.converged else UNKNOWN if moved is None else moved
        self.lines.append(_entry(loss, before, self.groups, moved))
        full = len(self.lines) == self.settings.max_iter
        self.finished = self.converged or repeated or full
        return kept

    def result(self, labels: NDArray[np.int32] | None = None) -> Run:
        order = np.argsort(-self.statistics.sizes[:-1], kind="stable")
        return Run(
            labels=np.empty(0, np.int32)
            if labels is None
            else _renumbered(labels, order),
            groups=self.groups,
            statistics=self.statistics.take(order),
            profile_statistics=self.behind.take(order),
            ranks=order.astype(np.int32),
            column_scores=self.step.scores,
            loss=self.lines[-1]["loss"],
            lines=self.lines,
            converged=self.converged,
        )

    def _column_step(self) -> ColumnStep:
        sums = SmoothedSums.of(self.statistics, self.settings.prior)
        settings = self.settings
        return model.column_step(sums, self.groups, settings.penalty, settings.groups)

    def _comes_back(self, loss: float) -> bool:
        """Whether rules other than the exact one are where they have been before."""
        if not self.lines or loss < min(line["loss"] for line in self.lines):
            return False
        state = digest(self.statistics, self.groups)
        repeated = state in self.seen
        self.seen.add(state)
        return repeated


def run(
    counts: Counts,
    groups: NDArray[np.int8],
    labels: NDArray[np.int32],
    settings: Settings,
    workers: Workers,
    report: Callable[[int, dict[str, float], bool], None] | None = None,
    statistics: Sums | None = None,
) -> Run:
    """Alternate column and row steps from these groups and labels to a fixed point.

    Rows that are ``NOWHERE`` join the cluster that the sums of the others make best.
    Sums are those of the groups and labels, where they are known.
    """
    prior = settings.prior
    n_clusters = settings.n_clusters if statistics is None else statistics.n_clusters
    labels = np.where(labels == OUTLIER, n_clusters, labels).astype(np.int32)
    if statistics is None:
        statistics = sum_by_labels(counts, labels, n_clusters, groups, prior)
    if (labels == NOWHERE).any():
        statistics, kept = without_empty(statistics)
        labels = _without_dropped(labels, kept, n_clusters)
        first = model.profile(
            SmoothedSums.of(statistics, prior), groups, exact=settings.exact
        )
        assign(counts, first, labels, statistics, workers, with_scales=False)
    n_clusters = statistics.n_clusters
    running = Running(statistics, groups, settings)
    labels = _without_dropped(labels, np.flatnonzero(statistics.sizes[:-1]), n_clusters)
    while not running.finished:
        profile, with_scales = running.request
        statistics = running.statistics.copy()
        moved = assign(
            counts, profile, labels, statistics, workers, with_scales=with_scales
        )
        kept = running.take(statistics, moved)
        labels = _without_dropped(labels, kept, statistics.n_clusters)
        if report is not None:
            report(len(running.lines), running.lines[-1], running.finished)
    return running.result(labels)


def without_empty(statistics: Sums) -> tuple[Sums, NDArray[np.intp]]:
    """Drop clusters that have lost all rows; also return those that are left."""
    kept = np.flatnonzero(statistics.sizes[:-1])
    if len(kept) == statistics.n_clusters:
        return statistics, kept
    return statistics.take(kept), kept


def digest(statistics: Sums, groups: NDArray[np.int8]) -> bytes:
    """What stands for sums and groups, on which all that follows depends."""
    parts = (groups, statistics.sizes, statistics.sums)
    return blake2b(b"".join(part.tobytes() for part in parts)).digest()


def _equal_sums(a: Sums, b: Sums) -> bool:
    return np.array_equal(a.sizes, b.sizes) and np.array_equal(a.sums, b.sums)


def _without_dropped(
    labels: NDArray[np.int32], kept: NDArray[np.intp], n_clusters: int
) -> NDArray[np.int32]:
    """Number the clusters that are left without gaps, the outliers after them."""
    if len(kept) == n_clusters:
        return labels
    new = np.full(n_clusters + 1, len(kept), dtype=np.int32)
    new[kept] = np.arange(len(kept))
    return np.where(labels == NOWHERE, labels, new[labels])


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
    stayed, was, is_ = pairs.diagonal(), pairs.sum(axis=1), pairs.sum(axis=0)
    into, out_of = (is_ - stayed).tolist(), (was - stayed).tolist()
    entry: dict[str, float] = {"loss": loss}
    for group, name in GROUP_NAMES.items():
        entry[name] = int(is_[group + 1])
        entry[f"into_{name}"] = into[group + 1]
        entry[f"out_of_{name}"] = out_of[group + 1]
    entry["rows_moved"] = moved
    return entry
