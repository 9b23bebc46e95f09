"""Rows of a fit that are in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.crossing import best_of
from .._core.dispersion import dispersions
from .confidence import described
from .described_path import DescribedFit
from .plan import with_labels_of
from .progress import report_to
from .record import FitRecord
from .starting import search_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.rows import RowInfo
    from .._core.workers import Workers
    from .engine import T, Work
    from .plan import Plan
    from .progress import Progress


@dataclass(frozen=True)
class MemoryRows:
    """Counts with what belongs to their rows, and the threads that work on them."""

    counts: Counts
    workers: Workers

    @property
    def n_rows(self) -> int:
        return self.counts.n_rows

    @property
    def info(self) -> RowInfo:
        return self.counts.row_info

    @property
    def totals(self) -> NDArray[np.float64]:
        """Sums of the columns."""
        return np.asarray(self.counts.matrix().sum(axis=0), dtype=np.float64)

    def fold(self, work: Work[T], _: Callable[[T, T], T]) -> T:
        """Work on the only block that there is."""
        return work(0, self.counts)

    def with_info(self, info: RowInfo, _: float = 0.0) -> MemoryRows:
        return replace(self, counts=self.counts.with_rows(info))

    def with_column_weights(
        self, weights: NDArray[np.float64] | None, _: float = 0.0
    ) -> MemoryRows:
        return replace(self, counts=self.counts.with_column_weights(weights))

    def holding(self) -> MemoryRows:
        """Return the same rows, all held in their known clusters."""
        return self.with_info(self.info.all_held)

    def search(
        self,
        plan: Plan,
        n_clusters: Sequence[int],
        progress: Progress | None,
        **_: Any,
    ) -> Iterator[FitRecord]:
        """Yield the best run for each number of clusters, without its rows."""
        counts, kept = self.counts, self.info.kept
        if kept is not None:
            plan = with_labels_of(plan, counts.n_rows, kept)
            counts = counts.rows(kept)
        plans = [plan.with_clusters(k) for k in n_clusters]
        search = search_for(plans[0], counts, self.workers)
        if progress is not None:
            progress.start(len(plans) * search.n_runs)
        settings = [each.settings for each in plans]
        seeds, report = plan.seeds(search.n_runs), report_to(progress)
        found = search.find(settings, seeds, self.workers, report)
        for each, runs in zip(plans, found, strict=True):
            losses = [run.loss for run in runs]
            yield FitRecord.of(best_of(runs), each, losses, self.info)

    def describe(self, record: FitRecord, *, with_confidence: bool) -> FitRecord:
        """Return the fit with results of its rows."""
        return described(record, self.counts, self.workers, sure=with_confidence)

    def describe_path(self, records: Iterable[FitRecord]) -> Iterator[DescribedFit]:
        """Yield the fits with results of their rows and dispersions of columns."""
        for record in records:
            done = self.describe(record, with_confidence=False)
            counts = self.counts.with_column_weights(record.sums.column_weights)
            labels = done.labels_of_rates
            found = dispersions(counts, labels, done.smoothed, done.groups)
            assert done.rows is not None
            yield DescribedFit(done, done.rows.labels, found)

    def nearest(self, record: FitRecord) -> NDArray[np.int32]:
        """Best cluster of each row under another fit."""
        return record.describe(self.counts, self.workers).nearest_labels

    def drawn(
        self, members: NDArray[np.intp], _: Plan
    ) -> tuple[NDArray[np.intp], Counts]:
        """Return rows to be clustered by themselves, all of these, and their counts."""
        return members, self.counts.rows(members)
