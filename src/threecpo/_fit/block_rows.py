"""Rows of a fit that come in blocks."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import OUTLIER
from .._core.rows import NOTHING, RowInfo
from .._core.run import run_of
from .blocks import (
    BlockFit,
    add_each_with_labels,
    answer_with_labels,
    rows_to_sample,
)
from .budget import OF_ROW, check_all
from .checkpoint import Checkpoint
from .describing import described_each, described_over, shared_out, written_over
from .engine import (
    BlockSummary,
    PreparedBlocks,
    each_block,
    readers_with,
    rows_of,
    scan,
)
from .plan import report_to, with_labels_of
from .record import FitRecord
from .shared_pass import PendingRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.search import FewRuns
    from .budget import MemoryBudget
    from .describing import DescribedFit
    from .engine import Engine, Reader, T, Work
    from .plan import Plan, Progress

SAMPLE_ROWS = 20_000
TOL = 1e-6
# Numbers for each row and cluster while the confidence of a fit is measured.
OF_PROBABILITIES = 3


@dataclass(frozen=True)
class BlockRequest:
    """How a fit over blocks is made: in what memory, from how many rows, kept where.

    Runs end when a pass lowers their loss by less than ``tol`` of it. With
    ``rare_clusters`` the rows that they explain worst start further ones. Results of
    rows, if asked for, are gathered or go to the folder ``write_to``.
    """

    budget: MemoryBudget
    sample_rows: int | None = SAMPLE_ROWS
    tol: float = TOL
    rare_clusters: bool = False
    checkpoint: str | os.PathLike[str] | None = None
    write_to: Path | None = None
    with_rows: bool = True

    @property
    def gathered(self) -> bool:
        """Whether results of rows are kept in memory."""
        return self.with_rows and self.write_to is None


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Blocks, what belongs to their rows, and the engine that works on them.

    ``summary`` is what was seen of all rows, ``kept`` of those that a fit is made of;
    ``over`` makes an engine over other readers of the blocks, of which ``threads`` are
    in work at a time in one process.
    """

    readers: Sequence[Reader]
    over: Callable[[Sequence[Reader]], Engine]
    engine: Engine
    summary: BlockSummary
    kept: BlockSummary
    threads: int
    request: BlockRequest
    info: RowInfo = NOTHING
    column_weights: NDArray[np.float64] | None = None
    hold_all: bool = False

    @property
    def n_rows(self) -> int:
        return sum(self.summary.n_rows)

    @property
    def n_stored(self) -> int:
        return sum(self.summary.n_stored)

    @property
    def totals(self) -> NDArray[np.float64]:
        """Sums of the columns."""
        return self.summary.sums.totals

    @property
    def beyond_sample(self) -> bool:
        """Whether there are more rows than a fit starts from."""
        most = self.request.sample_rows
        return most is not None and most < self.n_rows

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        """Work on all rows of every block."""
        return PreparedBlocks(self.engine, self.summary).fold(work, combine)

    def with_info(self, info: RowInfo, prior: float) -> BlockRows:
        """Return the same rows with what belongs to them, looked at once more."""
        if not info.arrays():
            return replace(self, info=info)
        readers = readers_with(info, self.readers, self.summary.first_rows)
        return replace(self, engine=self.over(readers), info=info)._seen(prior)

    def with_column_weights(
        self, weights: NDArray[np.float64] | None, prior: float
    ) -> BlockRows:
        """Return the same rows with these weights of their columns."""
        if weights is None:
            return self
        return replace(self, column_weights=weights)._seen(prior)

    def holding(self) -> BlockRows:
        """Return the same rows, all held in their known clusters."""
        return replace(self, hold_all=True)

    def _seen(self, prior: float) -> BlockRows:
        found = self._fitted.fold(partial(scan, prior), BlockSummary.and_then)
        return replace(self, kept=found)

    @property
    def _fitted(self) -> Engine:
        """The engine over the rows that a fit is made of."""
        how = self.column_weights, self.hold_all
        return PreparedBlocks(self.engine, self.summary, *how, kept_only=True)

    def search(
        self,
        plan: Plan,
        n_clusters: Sequence[int],
        progress: Progress | None,
        *,
        stage: str,
        path: str | None,
        few: FewRuns | None = None,
    ) -> list[FitRecord]:
        """Return the best run for each number of clusters, without its rows."""
        request, first = self.request, stage.startswith("-first")
        if self.info.kept is not None:
            plan = with_labels_of(plan, self.n_rows, self.info.kept)
        gathered = self.n_rows if request.gathered else 0
        by_name, path = isinstance(plan.init, str), None if first else path
        options = {"path": path} if path else {}
        plans = [plan.with_clusters(k) for k in sorted(n_clusters, reverse=True)]
        fits, kept = [], []
        for each in plans:
            place = self._fitted, self.kept, self, progress
            fits.append(BlockFit(each, *place, first=first))
            ending = stage
            if path:
                ending = f"/k-{each.settings.n_clusters}-runs-{plan.n_init}"
            given = by_name or not path
            kept.append(self._checkpoint(each, ending, **options) if given else None)
        if few is not None and by_name:
            fits[0].check_memory(request.sample_rows, n_clusters, gathered)
            return fits[0].fit_each(plans, [each for each in kept if each is not None])
        fits[0].check_memory(request.sample_rows, (), gathered)
        return [fit.fit(each) for fit, each in zip(fits, kept, strict=True)]

    def sample(self, plan: Plan, n_clusters: Sequence[int]) -> Counts:
        """Return rows drawn at random, in memory, if fits of these numbers fit there.

        The largest number is that of the plan.
        """
        request = self.request
        fit = BlockFit(plan, self._fitted, self.kept, self)
        gathered = self.n_rows if request.gathered else 0
        fit.check_memory(request.sample_rows, n_clusters, gathered)
        return fit.sample(request.sample_rows)

    def one_pass(
        self, plan: Plan, starts: Sequence[FitRecord], progress: Progress | None
    ) -> Iterator[tuple[FitRecord, NDArray[Any]]]:
        """Yield fits after one pass, and labels; rows of weight 0 have none."""
        report, last = report_to(progress), True
        if progress is not None:
            progress.start(len(starts))
        within = slice(None) if self.info.kept is None else self.info.kept
        lines = self.lines_at_once(max(each.settings.n_clusters for each in starts))
        for some in shared_out(starts, lines):
            plans = [plan.with_clusters(each.settings.n_clusters) for each in some]
            requests = [
                PendingRun(start.groups, start=start.sums).request(each.settings)
                for start, each in zip(some, plans, strict=True)
            ]
            work = partial(answer_with_labels, requests)
            found = self._fitted.fold(work, add_each_with_labels)
            for each, start, (sums, parts) in zip(plans, some, found, strict=True):
                sums.copy_totals_from(self.kept.sums)
                run = run_of(sums, start.groups, each.settings, np.concatenate(parts))
                if report is not None:
                    report(each.settings.n_clusters, 0, 1, run.lines[0], last)
                labels = np.full(self.n_rows, OUTLIER, parts[0].dtype)
                labels[within] = run.labels
                yield FitRecord.of(run, each, [run.loss], self.info), labels

    def _checkpoint(self, plan: Plan, ending: str, **options: Any) -> Checkpoint | None:
        """Checkpoint of a fit, if one is asked for, in the folder with this ending."""
        request = self.request
        if request.checkpoint is None:
            return None
        options |= {"sample_rows": request.sample_rows, "tol": request.tol}
        options |= {"rare_clusters": request.rare_clusters, "rows": self.info.digest}
        options |= {"content": f"{self.summary.content:x}", "n_rows": self.n_rows}
        return Checkpoint(Path(os.fspath(request.checkpoint) + ending), plan, options)

    def describe(self, record: FitRecord, *, with_confidence: bool) -> FitRecord:
        """Return the fit with results of its rows, or write them to files."""
        budget, target = self.request.budget, self.request.write_to
        if target is not None:
            # Without a limit nobody knows whether so many rows fit into memory.
            room = budget.limit is not None and budget.holds(self.n_rows * OF_ROW)
            measured = with_confidence and room
            return written_over(self, record, target, with_confidence=measured)
        room = budget.holds(self.n_rows * record.n_clusters * 8 * OF_PROBABILITIES)
        how = {"with_confidence": with_confidence, "with_probabilities": room}
        return described_over(self, record, **how)

    def describe_path(self, records: Iterable[FitRecord]) -> Iterator[DescribedFit]:
        """Yield the fits with labels, dispersions and, where they fit, row results."""
        found = list(records)
        budget = self.request.budget
        room = budget.holds(2 * self.n_rows * OF_ROW * len(found))
        room = room and self.request.write_to is None
        lines = self.lines_at_once(max(each.settings.n_clusters for each in found))
        how = {"with_rows": room, "fractional": self.summary.fractional}
        return described_each(self, found, lines, **how)

    def lines_at_once(self, n_clusters: int) -> int | None:
        """Lines of sums, clusters of all runs, that memory holds in one pass."""
        at_once = self.runs_at_once(n_clusters)
        return None if at_once is None else at_once * (n_clusters + 1)

    def runs_at_once(self, n_clusters: int) -> int | None:
        """Runs of so many clusters that memory holds in one pass."""
        sizes = len(self.totals), self.threads, self.info.n_batches
        return self.request.budget.runs_at_once(n_clusters, *sizes)

    def nearest(self, record: FitRecord) -> NDArray[np.int32]:
        """Best cluster of each row under another fit."""
        work = partial(each_block, record.describer.nearest)
        found = self.fold(work, list.__add__)
        return np.concatenate(found)

    def drawn(
        self, members: NDArray[np.intp], plan: Plan
    ) -> tuple[NDArray[np.intp], Counts]:
        """Return rows to be clustered by themselves, not too many, and their counts."""
        n_drawn = len(members)
        if self.request.sample_rows is not None:
            n_drawn = min(n_drawn, self.request.sample_rows)
        chosen = members[rows_to_sample(len(members), n_drawn, plan.sample_seed)]
        n_stored = self.n_stored * n_drawn / self.n_rows
        sizes = plan.settings.n_clusters, len(self.totals), plan.n_jobs

        def check(budget: MemoryBudget) -> None:
            budget.check_rows(self.n_rows)
            budget.check_sample(n_stored, *sizes)

        check_all(self.request.budget, check)
        return chosen, self.taken(chosen)

    def taken(self, chosen: NDArray[np.intp]) -> Counts:
        """Return counts of some rows, read once more."""
        return rows_of(self, self.summary.first_rows, chosen)
