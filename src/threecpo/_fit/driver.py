"""The policy of a fit, written once, for rows in memory and in blocks.

1. Rows beyond ``max_row_size`` count for less, and rows that have much of the
   ``seed_columns`` start in their clusters.
2. With ``max_dispersion`` a first fit, of the same clusters for any K, tells which
   columns vary too much; they count for less in what follows.
3. The search is made, with every known row held in its cluster; from there rows that
   may leave are released, and a run goes on.
4. The rows are described by the fit that was found.

``refit`` goes on from a record instead of searching, ``divide`` with one of its
clusters divided. Both follow the plan and the weights that made the record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import FREE, RELEVANT
from .._core.crossing import best_of
from .._core.dispersion import dispersions
from .._core.workers import Workers
from .describing import (
    OF_FRACTIONS,
    OF_WHOLE,
    DescribedFit,
    LabelGain,
    LeaveOneOutDescriber,
    dispersion_weights,
    with_confidence_of,
)
from .engine import of_each
from .plan import FEW_RUNS, check_rows
from .record import FitRecord
from .starting import MERGE, runs_of, with_labels_of, with_seed_rows
from .updates import kept_names, row_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from .._core.codes import Floats, Ints
    from .._core.counts import Counts
    from .._core.rows import RowInfo
    from .._core.search import FewRuns
    from .block_rows import BlockRows
    from .engine import Engine, T, Work
    from .plan import Plan, Progress

    # The rows of a fit, wherever they are.
    FitRows: TypeAlias = "MemoryRows | BlockRows"

# Clusters of the fit that tells how much columns vary.
MEASURED_CLUSTERS = 5


def fit(
    plan: Plan,
    rows: FitRows,
    progress: Progress | None = None,
    keep: Callable[[FitRecord], object] = lambda _: None,
) -> FitRecord:
    """Return the best run of a plan, with results of its rows.

    ``keep`` gets the fit before its rows are described, should that fail.
    """
    made = _Fit.of(plan, rows)
    (record,) = made.records([plan.settings.n_clusters], progress)
    keep(made.finished(record))
    return made.described(record)


def fit_path(
    plan: Plan,
    n_clusters: Sequence[int],
    rows: FitRows,
    progress: Progress | None = None,
    few: FewRuns | None = None,
) -> Iterator[DescribedFit]:
    """Yield the fit for each number of clusters as soon as it is finished.

    What does not depend on the number is done once. They are the fits that ``fit``
    makes of the numbers, unless they are to have ``few`` runs.
    """
    made = _Fit.of(plan, rows)
    path = "complete" if few is None else "rough"
    records = made.records(n_clusters, progress, path, few)
    for found in made.rows.describe_path(records):
        yield found._replace(record=made.finished(found.record))


def one_pass(
    plan: Plan,
    starts: Sequence[FitRecord],
    rows: BlockRows,
    progress: Progress | None = None,
) -> Iterator[tuple[FitRecord, NDArray[Any]]]:
    """Yield fits of some of the rows after one pass over all rows, and labels."""
    made = _Fit.of(plan, rows)
    weighted = made.rows.with_column_weights(plan.column_weights)
    assert not isinstance(weighted, MemoryRows)
    for record, labels in weighted.one_pass(made.plan, starts, progress):
        yield made.finished(record), labels


def fit_alone(plan: Plan, counts: Counts, entropy: Sequence[int]) -> FitRecord:
    """Return the fit of few rows on the thread of the caller, from its own seed."""
    with Workers(1) as workers:
        rows = MemoryRows(counts, workers)
        return fit(replace(plan, entropy=tuple(entropy), n_jobs=1), rows)


def describe(plan: Plan, record: FitRecord, rows: FitRows) -> FitRecord:
    return _Fit.of(plan, rows).described(record)


def refit(
    plan: Plan, record: FitRecord, rows: FitRows, *, keep_numbers: bool = False
) -> FitRecord:
    """Return the run over these rows that starts from a record.

    Known clusters have their numbers; so all clusters can keep theirs, and their names,
    by being known, though of none of the rows.
    """
    plan = plan.with_column_weights(record.sums.column_weights)
    plan = replace(plan, settings=record.settings, init=record)
    given = rows.info.known
    if keep_numbers:
        known = np.full(rows.n_rows, FREE, np.int32) if given is None else given
        names = record.cluster_names or ("",) * record.n_clusters
        info = replace(rows.info, known=known, known_names=names)
        rows = rows.with_info(info)
    found = fit(plan.with_clusters(record.n_clusters), rows)
    if keep_numbers and given is None and found.rows is not None:
        rows_alone = replace(found.rows, info=found.rows.info.unlabelled)
        found = replace(found, rows=rows_alone)
    return replace(found, cluster_names=kept_names(record, found))


def divide(
    plan: Plan, record: FitRecord, cluster: int, into: int, rows: FitRows
) -> FitRecord:
    """Return the run over these rows that starts with one cluster divided.

    The rows of the cluster are clustered by themselves; the largest part keeps the
    number, and the others come behind all clusters.
    """
    plan = plan.with_column_weights(record.sums.column_weights)
    plan = replace(plan, settings=record.settings)
    weighted = _Fit.of(plan, rows).rows
    labels = weighted.nearest(record).copy()
    members = np.flatnonzero(labels == cluster)
    if len(members) < into:
        message = (
            f"Cluster {cluster} has {len(members)} of these rows, too few for "
            f"into={into}."
        )
        raise ValueError(message)
    alone = replace(
        plan,
        settings=replace(plan.settings, outliers=None),
        init=MERGE,
        max_row_size=None,
        with_confidence=False,
        calibrated=False,
    ).with_clusters(into)
    drawn, counts = weighted.drawn(members, alone)
    with Workers(plan.n_jobs) as workers:
        part = fit(alone, MemoryRows(counts, workers))
    assert part.rows is not None
    parts = part.rows.nearest_labels
    if len(drawn) < len(members):
        parts = weighted.nearest(part)[members]
    n_clusters = record.n_clusters + into - 1
    numbers = np.append(cluster, np.arange(record.n_clusters, n_clusters))
    labels[members] = numbers[parts]
    groups = np.where(part.groups == RELEVANT, part.groups, record.groups)
    plan = replace(plan, init=labels, column_init=groups)
    found = fit(plan.with_clusters(n_clusters), rows)
    return replace(found, cluster_names=kept_names(record, found))


@dataclass(frozen=True)
class _Fit:
    """A fit on its way: the plan and the rows as they are searched.

    ``given`` is what belonged to the rows before long ones were ``reduced`` to the size
    of the ``longest``.
    """

    plan: Plan
    rows: FitRows
    given: RowInfo
    reduced: Floats | None
    longest: float | None

    @classmethod
    def of(cls, plan: Plan, rows: FitRows) -> _Fit:
        """Give the rows their weights and starts."""
        given = rows.info
        reduced, longest = reduced_rows(rows, given.weights, plan.max_row_size)
        info = with_seed_rows(plan, given.weighted(reduced), rows)
        plan = plan.with_known(len(info.known_names))
        if info is not given:
            rows = rows.with_info(info)
        return cls(plan, rows, given, reduced, longest)

    def records(
        self,
        n_clusters: Sequence[int],
        progress: Progress | None,
        path: str | None = None,
        few: FewRuns | None = None,
    ) -> Iterable[FitRecord]:
        """Return the fits without results of their rows."""
        plan, rows = self.plan, self.rows
        check_rows(plan, n_clusters, rows.info, rows.n_rows)
        if plan.max_dispersion is not None:
            n_measured = max(n_clusters)
            if isinstance(plan.init, str):
                room = rows.info.most_clusters(rows.n_rows)
                n_measured = min(MEASURED_CLUSTERS, room)
            n_init = FEW_RUNS if plan.n_init == "auto" else min(FEW_RUNS, plan.n_init)
            plain = replace(plan.with_column_weights(None), n_init=n_init)
            (first,) = _searched(plain, rows, [n_measured], progress, "-first")
            weights = dispersion_weights(rows, first, plan.max_dispersion)
            plan = plan.with_column_weights(weights)
        return _searched(plan, rows, n_clusters, progress, "", path, few)

    def described(self, record: FitRecord) -> FitRecord:
        plan = self.plan
        found = self.rows.describe(record, with_confidence=plan.with_confidence)
        if plan.calibrated:
            from .calibration import calibrated

            found = calibrated(found, plan, self.rows)
        return self.finished(found)

    def finished(self, record: FitRecord) -> FitRecord:
        """Return a fit with what was given of its rows, and what was made of that."""
        rows = record.rows
        rows = rows and rows.downweighted(self.reduced, self.given.weights)
        return replace(record, rows=rows, longest_row=self.longest)


def _searched(
    plan: Plan,
    rows: FitRows,
    n_clusters: Sequence[int],
    progress: Progress | None,
    stage: str,
    path: str | None = None,
    few: FewRuns | None = None,
) -> Iterator[FitRecord]:
    """Yield the best run for each number of clusters; rows that may leave have."""
    rows = rows.with_column_weights(plan.column_weights)
    if not rows.info.may_leave:
        yield from rows.search(plan, n_clusters, progress, stage, path, few)
        return
    held = rows.holding().search(plan, n_clusters, progress, f"{stage}-held", path)
    for first in held:
        asked = first.settings.n_clusters
        released = replace(plan.with_clusters(asked), init=first)
        yield from rows.search(released, [asked], None, stage, path)


@dataclass(frozen=True)
class MemoryRows:
    """Counts with what belongs to their rows, and the threads that work on them."""

    counts: Counts
    workers: Workers

    @property
    def n_rows(self) -> int:
        return self.counts.n_rows

    @property
    def n_stored(self) -> int:
        return len(self.counts.data)

    @property
    def info(self) -> RowInfo:
        return self.counts.row_info

    @property
    def totals(self) -> Floats:
        return np.asarray(self.counts.matrix().sum(axis=0), dtype=np.float64)

    def fold(self, work: Work[T], _: Callable[[T, T], T]) -> T:
        return work(0, self.counts)

    def with_info(self, info: RowInfo) -> MemoryRows:
        return replace(self, counts=self.counts.with_rows(info))

    def with_column_weights(self, weights: Floats | None) -> MemoryRows:
        return replace(self, counts=self.counts.with_column_weights(weights))

    def holding(self) -> MemoryRows:
        return self.with_info(self.info.all_held)

    def search(
        self,
        plan: Plan,
        n_clusters: Sequence[int],
        progress: Progress | None,
        stage: str,  # noqa: ARG002 - of checkpoints, as path
        path: str | None = None,  # noqa: ARG002
        few: FewRuns | None = None,
    ) -> Iterator[FitRecord]:
        counts, kept = self.counts, self.info.kept
        plan = with_labels_of(plan, counts.n_rows, kept)
        if kept is not None:
            counts = counts.rows(kept)
        plans = [plan.with_clusters(k) for k in n_clusters]
        found = runs_of(plans, counts, self.workers, progress, few)
        for each, runs in zip(plans, found, strict=True):
            losses = [run.loss for run in runs]
            yield FitRecord.of(best_of(runs), each, losses, self.info)

    def describe(self, record: FitRecord, *, with_confidence: bool) -> FitRecord:
        record = replace(record, transform=self.counts.transformed)
        if not with_confidence:
            return replace(record, rows=record.describe(self.counts, self.workers))
        found = LeaveOneOutDescriber.of(record)(self.counts, self.workers)
        return with_confidence_of(record, *found)

    def describe_path(self, records: Iterable[FitRecord]) -> Iterator[DescribedFit]:
        least = OF_FRACTIONS if self.counts.fractional else OF_WHOLE
        for record in records:
            done = self.describe(record, with_confidence=False)
            counts = self.counts.with_column_weights(record.sums.column_weights)
            smoothed = done.sums.smoothed(done.settings.prior)
            labels = done.labels_of_rates
            found = dispersions(counts, labels, smoothed, done.groups)
            units = np.maximum(least, found)
            regained = self._regained(LabelGain.of(done, units), labels)
            assert done.rows is not None
            yield DescribedFit(done, done.rows.labels, units, regained)

    def _regained(self, gain: LabelGain, labels: Ints) -> float:
        def one(block: tuple[int, int]) -> float:
            return gain.of_labels(self.counts.between(*block), labels[slice(*block)])

        return sum(self.workers.map(one, self.counts.blocks))

    def nearest(self, record: FitRecord) -> Ints:
        return record.describe(self.counts, self.workers).nearest_labels

    def drawn(
        self, members: NDArray[np.intp], _: Plan
    ) -> tuple[NDArray[np.intp], Counts]:
        """Return rows to be clustered by themselves, all of these, and their counts."""
        return members, self.taken(members)

    def taken(self, chosen: NDArray[np.intp]) -> Counts:
        return self.counts.rows(chosen)


def reduced_rows(
    engine: Engine, given: Floats | None, max_row_size: float | None
) -> tuple[Floats | None, float | None]:
    """Weights that reduce rows longer than so many times their median size, and that.

    The median is the lower one of the rows that have counts, each as often as it is
    given to count.
    """
    if max_row_size is None:
        return None, None
    sizes = np.concatenate(of_each(engine, methodcaller("row_lengths", 1)))
    filled = np.flatnonzero((sizes > 0) & (True if given is None else given > 0))
    if not len(filled):
        return None, None
    order = filled[np.argsort(sizes[filled], kind="stable")]
    mass = np.cumsum(np.ones(len(order)) if given is None else given[order])
    median = sizes[order[np.searchsorted(mass, mass[-1] / 2)]]
    longest = float(max_row_size * median)
    return row_weights(sizes, longest), longest
