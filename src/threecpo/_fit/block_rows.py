"""Rows of a fit that come in blocks."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import OUTLIER
from .._core.confidence import stacked
from .._core.dispersion import few_digits
from .._core.rows import NOTHING, RowInfo
from .._core.run import run_of
from .._writing import new_folder
from .blocks import BlockFit, add_answers, answer_with_labels, rows_to_sample
from .budget import OF_ROW, check_all
from .checkpoint import Checkpoint
from .describing import (
    OF_FRACTIONS,
    OF_WHOLE,
    DescribedFit,
    LabelGain,
    LeaveOneOutDescriber,
    Part,
    RatioDescriber,
    beside_each,
    describe_each,
    describe_left_out,
    regained_of,
    with_confidence_of,
)
from .engine import PreparedBlocks, of_each, readers_with, rows_of, scanned
from .plan import report_to
from .record import FitRecord
from .row_results import RowResults, written
from .shared_pass import PendingRun
from .starting import with_labels_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from .._core.codes import Floats, Ints
    from .._core.counts import Counts
    from .._core.search import FewRuns
    from .budget import MemoryBudget
    from .engine import BlockSummary, Engine, Reader, T, Work
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
    prior: float
    info: RowInfo = NOTHING
    column_weights: Floats | None = None
    hold_all: bool = False

    @property
    def n_rows(self) -> int:
        return sum(self.summary.n_rows)

    @property
    def n_stored(self) -> int:
        return sum(self.summary.n_stored)

    @property
    def totals(self) -> Floats:
        return self.summary.sums.totals

    @property
    def beyond_sample(self) -> bool:
        """Whether there are more rows than a fit starts from."""
        most = self.request.sample_rows
        return most is not None and most < self.n_rows

    @property
    def n_gathered(self) -> int:
        """Number of rows whose results are kept in memory."""
        gathered = self.request.with_rows and self.request.write_to is None
        return self.n_rows if gathered else 0

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        return self._prepared().fold(work, combine)

    @property
    def fitted(self) -> Engine:
        """The engine over the rows that a fit is made of."""
        how = {"column_weights": self.column_weights, "hold_all": self.hold_all}
        return self._prepared(**how, kept_only=True)

    def _prepared(self, **how: Any) -> Engine:
        seen = self.summary.n_rows, len(self.totals), self.summary.checksums
        return PreparedBlocks(self.engine, partial(_as_seen, seen, **how))

    def with_info(self, info: RowInfo) -> BlockRows:
        if not info.arrays():
            return replace(self, info=info)
        readers = readers_with(info, self.readers, self.summary.first_rows)
        return replace(self, engine=self.over(readers), info=info)._seen()

    def with_column_weights(self, weights: Floats | None) -> BlockRows:
        if weights is None:
            return self
        return replace(self, column_weights=weights)._seen()

    def holding(self) -> BlockRows:
        return replace(self, hold_all=True)

    def _seen(self) -> BlockRows:
        return replace(self, kept=scanned(self.fitted, self.prior))

    def search(
        self,
        plan: Plan,
        n_clusters: Sequence[int],
        progress: Progress | None,
        stage: str,
        path: str | None = None,
        few: FewRuns | None = None,
    ) -> list[FitRecord]:
        """Return the best run for each number of clusters, without its rows."""
        first = stage.startswith("-first")
        plan = with_labels_of(plan, self.n_rows, self.info.kept)
        plans = [plan.with_clusters(k) for k in sorted(n_clusters, reverse=True)]
        kept = [self._checkpoint(each, stage, path) for each in plans]
        if few is not None:
            fit = BlockFit(plans, self, progress, best_only=True)
            fit.check_memory(n_clusters)
            return fit.fit(kept)
        fits = [BlockFit([each], self, progress, first=first) for each in plans]
        fits[0].check_memory()
        pairs = zip(fits, kept, strict=True)
        return [record for fit, one in pairs for record in fit.fit([one])]

    def _checkpoint(
        self, plan: Plan, stage: str, path: str | None
    ) -> Checkpoint | None:
        """Checkpoint of a fit, if one is asked for, in a folder of its own."""
        request = self.request
        # Of a path those that go on from released rows have none.
        released = path is not None and not isinstance(plan.init, str)
        if request.checkpoint is None or released:
            return None
        ending = stage
        if path:
            ending = f"/k-{plan.settings.n_clusters}-runs-{plan.n_init}"
        options: dict[str, Any] = {"path": path} if path else {}
        options |= {"sample_rows": request.sample_rows, "tol": request.tol}
        options |= {"rare_clusters": request.rare_clusters, "rows": self.info.digest}
        options |= {"content": f"{self.summary.content:x}", "n_rows": self.n_rows}
        return Checkpoint(Path(os.fspath(request.checkpoint) + ending), plan, options)

    def sample(self, plan: Plan, n_clusters: Sequence[int]) -> Counts:
        """Return rows drawn at random, in memory, if fits of these numbers fit there.

        The largest number is that of the plan.
        """
        fit = BlockFit([plan], self)
        fit.check_memory(n_clusters)
        return fit.sample()

    def one_pass(
        self, plan: Plan, starts: Sequence[FitRecord], progress: Progress | None
    ) -> Iterator[tuple[FitRecord, NDArray[Any]]]:
        """Yield fits after one pass, and labels; rows of weight 0 have none."""
        report, last = report_to(progress), True
        if progress is not None:
            progress.start(len(starts))
        within = slice(None) if self.info.kept is None else self.info.kept
        for some in self._shared_out(starts):
            plans = [plan.with_clusters(each.settings.n_clusters) for each in some]
            requests = [
                PendingRun(start.groups, start=start.sums).request(each.settings)
                for start, each in zip(some, plans, strict=True)
            ]
            work = partial(answer_with_labels, requests)
            found, parts = self.fitted.fold(work, add_answers)
            each_labels = map(np.concatenate, zip(*parts, strict=True))
            for each, start, sums, kept_labels in zip(
                plans, some, found, each_labels, strict=True
            ):
                sums.copy_totals_from(self.kept.sums)
                run = run_of(sums, start.groups, each.settings, kept_labels)
                if report is not None:
                    report(each.settings.n_clusters, 0, 1, run.lines[0], last)
                labels = np.full(self.n_rows, OUTLIER, kept_labels.dtype)
                labels[within] = run.labels
                yield FitRecord.of(run, each, [run.loss], self.info), labels

    def describe(self, record: FitRecord, *, with_confidence: bool) -> FitRecord:
        """Return the fit with results of its rows, or write them to files.

        Reads all blocks once. If probabilities do not fit into memory, the confidence
        of the fit holds only T and φ.
        """
        budget, target = self.request.budget, self.request.write_to
        room = budget.holds(self.n_rows * record.n_clusters * 8 * OF_PROBABILITIES)
        if target is not None:
            # Without a limit nobody knows whether so many rows fit into memory.
            measured = budget.limit is not None and budget.holds(self.n_rows * OF_ROW)
            with_confidence, room = with_confidence and measured, False
        rows: RowResults | None = None
        if not with_confidence:
            if target is not None:
                written(self, target, record.describer.results)
            else:
                rows = RowResults.stacked(of_each(self, record.describer))
            return replace(record, rows=rows)
        describer = LeaveOneOutDescriber.of(record, every_score=room)
        with nullcontext() if target is None else new_folder(target) as folder:
            work = partial(describe_left_out, describer, folder)
            parts, ratios = self.fold(work, Part.beside)
        each_rows, scores = zip(*parts, strict=True)
        if target is None:
            rows = RowResults.stacked(each_rows)
        return with_confidence_of(record, rows, stacked(scores), ratios)

    def describe_path(self, records: Iterable[FitRecord]) -> Iterator[DescribedFit]:
        """Yield the fits with labels, dispersions and, where they fit, row results.

        Blocks are read twice for as many fits as have room for their sums.
        """
        made = list(records)
        room = self.request.budget.holds(2 * self.n_rows * OF_ROW * len(made))
        room = room and self.request.write_to is None
        least = OF_FRACTIONS if self.summary.fractional else OF_WHOLE
        for some in self._shared_out(made):
            work = [
                RatioDescriber.of(each, "rows" if room else "labels") for each in some
            ]
            found = self.fold(partial(describe_each, work), beside_each)
            # So few digits that the order in which φ was added up does not show.
            units = [
                np.maximum(least, few_digits(each.expected.dispersions(part.ratios)))
                for each, part in zip(work, found, strict=True)
            ]
            gains = [LabelGain.of(*each) for each in zip(some, units, strict=True)]
            regained = np.sum(of_each(self, partial(regained_of, gains)), axis=0)
            each_fit = zip(some, found, units, regained.tolist(), strict=True)
            for record, part, unit, gain in each_fit:
                if room:
                    rows = RowResults.stacked(part.rows)
                    done = replace(record, rows=rows), rows.labels
                else:
                    done = record, np.concatenate(part.rows)
                yield DescribedFit(*done, unit, gain)

    def _shared_out(self, records: Sequence[FitRecord]) -> Iterator[list[FitRecord]]:
        """Lists of fits whose sums memory holds together."""
        lines = self.lines_at_once(max(each.settings.n_clusters for each in records))
        some: list[FitRecord] = []
        used = 0
        for record in records:
            used += record.n_clusters + 1
            if some and lines is not None and used > lines:
                yield some
                some, used = [], record.n_clusters + 1
            some.append(record)
        yield some

    def lines_at_once(self, n_clusters: int) -> int | None:
        """Lines of sums, clusters of all runs, that memory holds in one pass."""
        sizes = len(self.totals), self.threads, self.info.n_batches
        at_once = self.request.budget.runs_at_once(n_clusters, *sizes)
        return None if at_once is None else at_once * (n_clusters + 1)

    def nearest(self, record: FitRecord) -> Ints:
        return np.concatenate(of_each(self, record.describer.nearest))

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
        return rows_of(self, self.summary.first_rows, chosen)


def _as_seen(
    seen: tuple[Sequence[int], int, Sequence[int]],
    index: int,
    counts: Counts,
    *,
    column_weights: Floats | None = None,
    hold_all: bool = False,
    kept_only: bool = False,
) -> Counts:
    """Return a block with these weights of columns, unless it is another than at first.

    With ``hold_all`` every row stays in its known cluster, those that may leave, too;
    ``kept_only`` leaves out rows of weight 0.
    """
    n_rows, n_columns, checksums = seen
    shape, before = counts.shape, (n_rows[index], n_columns)
    what = None
    # Loops trust the shape: one column more would be read beyond the end.
    if shape != before:
        what = (
            f"it has {shape[0]} rows and {shape[1]} columns, and had {before[0]} and "
            f"{before[1]}"
        )
    elif counts.checksum != checksums[index]:
        what = "it holds other counts than at the first scan"
    if what is not None:
        message = (
            f"Block {index} has changed while it was in use: {what}. Fit again when "
            "nothing writes to it any more."
        )
        raise ValueError(message)
    info = counts.row_info.all_held if hold_all else counts.row_info
    counts = counts.with_column_weights(column_weights).with_rows(info)
    if kept_only and info.kept is not None:
        counts = counts.rows(info.kept)
    return counts
