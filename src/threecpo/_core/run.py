"""One run from a start to convergence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import model
from .codes import GROUP_NAMES, GROUPS, NOISE, NOWHERE, OUTLIER, UNKNOWN, inner_labels
from .loops import columns as column_loops
from .sums import assign, sum_by_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from .codes import Floats, Groups, Ints, Price
    from .counts import Counts
    from .loops.records import Profile
    from .model import ColumnStep, SmoothedSums
    from .rules import Rule
    from .sums import Sums
    from .workers import Workers


PATIENCE = 10
# Numbers that every iteration leaves in the history.
HISTORY = (
    "loss",
    *(
        f"{before}{name}"
        for name in GROUP_NAMES.values()
        for before in ("", "into_", "out_of_")
    ),
    "rows_moved",
)


@dataclass(frozen=True)
class Settings:
    """What a run obeys: the options of the paper and its ablations."""

    n_clusters: int
    max_iter: int
    price: Price
    groups: tuple[int, ...]
    rule: Rule
    outliers: str | None
    threshold: float
    prior: float
    # Columns and the group that each stays in.
    fixed_groups: tuple[tuple[int, int], ...] = ()
    # So many clusters are the user's: they come first and keep their order.
    n_known: int = 0

    @property
    def marks_outliers(self) -> bool:
        """Whether a run decides in every iteration which rows are outliers."""
        return self.outliers == "iterative"

    def column_step(
        self, sums: SmoothedSums, groups: Groups, price: Price | None = None
    ) -> ColumnStep:
        """Score every column, at this price or that of the settings."""
        allowed = self.groups, self.fixed_groups
        return model.column_step(sums, groups, price or self.price, *allowed)

    def profile(self, sums: SmoothedSums, groups: Groups) -> Profile:
        """Row profile by the rule of these settings."""
        return self.rule.profile(
            sums, groups, background=self.marks_outliers, threshold=self.threshold
        )


@dataclass(frozen=True)
class Run:
    """A finished run: known clusters first, the others numbered from the largest.

    ``profile_sums`` and ``ranks`` (how ties are broken) make the profile that
    produced ``labels``; at a fixed point these are the sums of the labels themselves.
    A run over blocks of rows keeps no labels. ``numbers`` are those that the clusters
    had at the start, for known ones are the user's.
    """

    labels: Ints
    groups: Groups
    sums: Sums
    profile_sums: Sums
    ranks: Ints
    column_scores: Floats
    loss: float
    lines: list[dict[str, float]]
    converged: bool
    numbers: NDArray[np.intp]

    @property
    def n_clusters(self) -> int:
        return self.sums.n_clusters

    @property
    def history(self) -> dict[str, NDArray[np.generic]]:
        """What every iteration did, by name."""
        return history_of(self.lines)


class Request(NamedTuple):
    """What a run asks of a pass over the rows: sums by a profile, and u if need be."""

    profile: Profile
    with_sizes: bool


class RunState:
    """A run between two passes: it asks, takes what the pass has summed, and goes on.

    It knows sums, never rows: labels are a result of the sums. ``previous_sums``
    made the profile of the last pass.
    """

    def __init__(self, sums: Sums, groups: Groups, settings: Settings) -> None:
        self.sums, self.numbers = without_empty(sums)
        self.previous_sums = self.sums
        self.groups = groups
        self.settings = settings
        self.lines: list[dict[str, float]] = []
        self.seen: set[bytes] = set()
        self.finished = self.converged = False
        self.step = self._column_step()

    @property
    def request(self) -> Request:
        groups = self.step.groups
        profile = self.settings.profile(self.step.sums, groups)
        in_use, before = groups != NOISE, self.groups != NOISE
        return Request(profile, with_sizes=not _same(in_use, before))

    def take(self, sums: Sums, moved: int | None) -> NDArray[np.intp]:
        """Go on from the sums of the pass that was asked for.

        Returns the clusters that are left. The history has the number of rows that
        moved where it is known.
        """
        before, self.groups = self.groups, self.step.groups
        self.previous_sums = self.sums
        self.converged = _same(self.groups, before) and (
            moved == 0 or _equal_sums(sums, self.previous_sums)
        )
        self.sums, kept = without_empty(sums)
        self.numbers = self.numbers[kept]
        if not self.converged:
            if len(kept) < self.previous_sums.n_clusters:
                self.previous_sums = self.previous_sums.take(kept)
            self.step = self._column_step()
            # The next pass would have the same profile, and change nothing.
            self.converged = _same(self.step.groups, self.groups) and _equal_sums(
                self.sums, self.previous_sums
            )
        loss = model.loss(self.step.scores, self.groups)
        repeated = not self.converged and self._comes_back(loss)
        moved = 0 if self.converged else UNKNOWN if moved is None else moved
        self.lines.append(history_line(loss, before, self.groups, moved))
        full = len(self.lines) == self.settings.max_iter
        self.finished = self.converged or repeated or full
        return kept

    def stop(self) -> None:
        """Stop: the remaining gain is below the tolerance."""
        self.finished = self.converged = True

    def result(self, labels: Ints | None = None) -> Run:
        free = self.numbers >= self.settings.n_known
        order = np.lexsort((np.where(free, -self.sums.cluster_weights, 0.0), free))
        return Run(
            labels=np.empty(0, np.int32)
            if labels is None
            else _renumbered(labels, order),
            groups=self.groups,
            sums=self.sums.take(order),
            profile_sums=self.previous_sums.take(order),
            ranks=order.astype(np.int32),
            column_scores=self.step.scores,
            loss=self.lines[-1]["loss"],
            lines=self.lines,
            converged=self.converged,
            numbers=self.numbers[order],
        )

    def _column_step(self) -> ColumnStep:
        settings = self.settings
        smoothed = self.sums.smoothed(settings.prior)
        return settings.column_step(smoothed, self.groups)

    def _comes_back(self, loss: float) -> bool:
        """Whether rules other than the exact one are where they have been before."""
        if not self.lines or loss < min([line["loss"] for line in self.lines]):
            return False
        state = digest(self.sums, self.groups)
        repeated = state in self.seen
        self.seen.add(state)
        return repeated


def run(
    counts: Counts,
    groups: Groups,
    labels: Ints,
    settings: Settings,
    workers: Workers,
    report: Callable[[int, dict[str, float], bool], None] | None = None,
    sums: Sums | None = None,
) -> Run:
    """Alternate column and row steps from these groups and labels to a fixed point.

    Rows that are ``NOWHERE`` join the cluster that the sums of the others make best.
    Sums are those of the groups and labels, where they are known.
    """
    prior = settings.prior
    n_clusters = settings.n_clusters if sums is None else sums.n_clusters
    labels = inner_labels(labels, n_clusters)
    seeded = sums is None
    if sums is None:
        sums = sum_by_labels(counts, labels, n_clusters, groups, prior)
    if (labels == NOWHERE).any():
        sums, kept = without_empty(sums)
        labels = _without_dropped(labels, kept, n_clusters)
        start = sums
        if seeded and counts.weights is not None:
            # A seed is one row, whatever its weight; known rows are not.
            known = counts.known
            weights = None if known is None else np.where(known < 0, 1, counts.weights)
            once = counts.with_rows(replace(counts.row_info, weights=weights))
            start = sum_by_labels(once, labels, sums.n_clusters, groups, prior)
            start.copy_totals_from(sums)
        first = settings.rule.first.profile(start.smoothed(prior), groups)
        assign(counts, first, labels, sums, workers, with_sizes=False)
    n_clusters = sums.n_clusters
    state = RunState(sums, groups, settings)
    labels = _without_dropped(labels, np.flatnonzero(sums.cluster_sizes), n_clusters)
    row_sizes = np.full(counts.n_rows, np.nan)
    while not state.finished:
        profile, with_sizes = state.request
        sums = state.sums.copy()
        moved = assign(
            *(counts, profile, labels, sums, workers),
            with_sizes=with_sizes,
            row_sizes=row_sizes,
        )
        kept = state.take(sums, moved)
        labels = _without_dropped(labels, kept, sums.n_clusters)
        if report is not None:
            report(len(state.lines), state.lines[-1], state.finished)
    return state.result(labels)


def run_of(sums: Sums, groups: Groups, settings: Settings, labels: Ints) -> Run:
    """Return a run of these labels that ends with one more column step."""
    state = RunState(sums, groups, settings)
    state.groups = state.step.groups
    loss = model.loss(state.step.scores, state.groups)
    state.lines.append(history_line(loss, groups, state.groups, UNKNOWN))
    found = state.result(_without_dropped(labels, state.numbers, sums.n_clusters))
    return replace(found, profile_sums=found.sums)


def hopeless(lines: Sequence[dict[str, float]], lowest: float) -> bool:
    """Whether some times the last gain of a run would not bring it to this loss."""
    if len(lines) < 2:
        return False
    before, now = (line["loss"] for line in lines[-2:])
    return now - PATIENCE * max(before - now, 0.0) > lowest


def gain_below(lines: Sequence[dict[str, float]], tol: float) -> bool:
    """Whether the last iteration has lowered the loss by less than this part of it."""
    if len(lines) < 2:
        return False
    before, now = (line["loss"] for line in lines[-2:])
    return 0.0 <= before - now < tol * abs(now)


def without_empty(sums: Sums) -> tuple[Sums, NDArray[np.intp]]:
    """Drop clusters that have lost all rows; also return those that are left."""
    kept = np.flatnonzero(sums.cluster_sizes)
    if len(kept) == sums.n_clusters:
        return sums, kept
    return sums.take(kept), kept


def digest(sums: Sums, groups: Groups) -> bytes:
    """What stands for sums and groups, on which all that follows depends."""
    arrays = sums.arrays
    parts = (groups, arrays.members, arrays.table)
    return blake2b(b"".join(part.tobytes() for part in parts)).digest()


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two short arrays are equal: a tenth of the time of ``array_equal``."""
    return a.tobytes() == b.tobytes()


def _equal_sums(a: Sums, b: Sums) -> bool:
    (table, members, *_), (other_table, other_members, *_) = a.arrays, b.arrays
    return np.array_equal(members, other_members) and np.array_equal(table, other_table)


def _without_dropped(labels: Ints, kept: NDArray[np.intp], n_clusters: int) -> Ints:
    """Number the clusters that are left without gaps, the outliers after them."""
    if len(kept) == n_clusters:
        return labels
    new = np.full(n_clusters + 1, len(kept), dtype=np.int32)
    new[kept] = np.arange(len(kept))
    return np.where(labels == NOWHERE, labels, new[labels])


def _renumbered(labels: Ints, order: NDArray[np.intp]) -> Ints:
    new = np.full(len(order) + 1, OUTLIER, dtype=np.int32)
    new[order] = np.arange(len(order))
    return new[labels]


def history_of(lines: list[dict[str, float]]) -> dict[str, NDArray[np.generic]]:
    """What every iteration did, by name."""
    return {key: np.array([line[key] for line in lines]) for key in lines[0]}


def history_line(
    loss: float, before: Groups, groups: Groups, moved: int
) -> dict[str, float]:
    """One line of the history."""
    moves = np.zeros((len(GROUPS), len(GROUPS)), dtype=np.int64)
    column_loops.count_moves(before, groups, moves)
    stayed, earlier, now = moves.diagonal(), moves.sum(axis=1), moves.sum(axis=0)
    line: dict[str, float] = {"loss": loss}
    for group, name in GROUP_NAMES.items():
        at = group - NOISE
        line[name] = int(now[at])
        line[f"into_{name}"] = int(now[at] - stayed[at])
        line[f"out_of_{name}"] = int(earlier[at] - stayed[at])
    line["rows_moved"] = moved
    return line
