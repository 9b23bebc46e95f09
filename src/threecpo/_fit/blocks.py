"""The search over rows that come in blocks, wherever an engine reads them."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import seeding
from .._core.codes import NOWHERE, all_held, all_relevant, inner_labels
from .._core.crossing import best_of
from .._core.run import Request, RunState
from .._core.search import first_groups
from .._core.sums import sum_by_labels, sums_by_profile
from .._core.workers import Workers
from .budget import check_all
from .engine import add_sums, rows_of
from .plan import report_to
from .rare_clusters import MOST_SEARCHES, SAMPLE_PER_ROW, RareClusters, is_due
from .record import FitRecord
from .shared_pass import PendingRun, SharedPass, finish_together
from .starting import (
    all_used,
    first_columns,
    given_labels,
    groups_of_record,
    may_be_used,
    search_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.run import Request, Run
    from .._core.sums import Sums
    from .block_rows import BlockRows
    from .budget import MemoryBudget
    from .checkpoint import Checkpoint
    from .engine import BlockSummary, Engine, Work
    from .plan import Plan, Progress
    from .row_results import RowDescriber


@dataclass(frozen=True)
class BlockFit:
    """A plan, the engine over the rows that it is for, and what was seen of these.

    The ``first`` of two fits, which tells how much columns vary, looks for no clusters
    that are too rare for the sample.
    """

    plan: Plan
    engine: Engine
    summary: BlockSummary
    rows: BlockRows
    progress: Progress | None = None
    first: bool = False

    def fit(self, checkpoint: Checkpoint | None) -> FitRecord:
        """Return the best run over all rows, without results of the rows."""
        sample_rows = self.rows.request.sample_rows
        with nullcontext() if checkpoint is None else checkpoint.opened():
            at_once = self.rows.runs_at_once(self.plan.settings.n_clusters)
            shared = None if checkpoint is None else checkpoint.load(self.summary.sums)
            if shared is None:
                runs = None
                if self._starts_from_sample:
                    (runs,) = self._sampled([self.plan], sample_rows)
                    if self._samples_all(sample_rows):
                        losses = [run.loss for run in runs]
                        return self._record(best_of(runs), losses)
                shared = self._shared_pass(runs)
                del runs  # their sums go with the first pass
                if checkpoint is not None:
                    checkpoint.save(shared)
            after_pass = None if checkpoint is None else checkpoint.save
            how = at_once, after_pass, report_to(self.progress)
            best = shared.finish(self._pass, *how)
            while self._search_again(shared, sample_rows):
                if checkpoint is not None:
                    checkpoint.save(shared)
                best = shared.finish(self._pass, *how)
            return self._record(best, shared.losses)

    def _search_again(self, shared: SharedPass, sample_rows: int | None) -> bool:
        """Add a run with clusters that the best may have missed, if that is due."""
        if not (self._may_search_again(sample_rows) and is_due(shared)):
            return False
        place = self.engine, self.summary.first_rows, self.plan, self.summary.sums
        n_rows = int(sample_rows or 0) // SAMPLE_PER_ROW
        with Workers(self.plan.n_jobs) as workers:
            search = RareClusters(*place, self._pass, n_rows)
            start = search.start(shared.best_running, workers)
        shared.n_extra_searches += 1 if start else MOST_SEARCHES
        if start is not None:
            shared.runs.append(start)
            if self.progress is not None:
                self.progress.start(1)
        return True

    def _may_search_again(self, sample_rows: int | None) -> bool:
        """Whether the runs began from some of the rows, with several clusters."""
        of_some = self._starts_from_sample and not self._samples_all(sample_rows)
        several = self.plan.settings.n_clusters > 1
        wanted = self.rows.request.rare_clusters and not self.first
        return wanted and of_some and several and self._n_batches == 1

    def _record(self, run: Run, losses: Sequence[float]) -> FitRecord:
        return FitRecord.of(run, self.plan, losses, self.rows.info)

    def fit_each(
        self, plans: Sequence[Plan], checkpoints: Sequence[Checkpoint]
    ) -> list[FitRecord]:
        """Return a fit for each number of clusters, without results of the rows.

        The largest is that of the plan. They share the sample and the passes; of the
        runs of the sample the best goes on. A checkpoint belongs to one of them.
        """
        sample_rows = self.rows.request.sample_rows
        assert sample_rows is not None
        lines = self.rows.lines_at_once(self.plan.settings.n_clusters)
        with ExitStack() as stack:
            for checkpoint in checkpoints:
                stack.enter_context(checkpoint.opened())
            fits = self._starts_of(plans, sample_rows, checkpoints)
            kept = {id(fit): each for fit, each in zip(fits, checkpoints, strict=False)}

            def save(fit: SharedPass) -> None:
                if id(fit) in kept:
                    kept[id(fit)].save(fit)

            if self.progress is not None:
                self.progress.start(len(plans))
            report = report_to(self.progress)
            finish_together(fits, self._pass, lines, save, report)
        return [
            FitRecord.of(fit.best_run, plan, fit.losses, self.rows.info)
            for fit, plan in zip(fits, plans, strict=True)
        ]

    def _starts_of(
        self,
        plans: Sequence[Plan],
        sample_rows: int,
        checkpoints: Sequence[Checkpoint],
    ) -> list[SharedPass]:
        """Fits where a checkpoint has left them, else where the sample ended."""
        data = self.summary.sums
        fits = [each.load(data) for each in checkpoints] or [None] * len(plans)
        if None in fits:
            found = zip(plans, self._sampled(plans, sample_rows), strict=True)
            for i, (plan, runs) in enumerate(found):
                if fits[i] is None:
                    best = best_of(runs)
                    start = PendingRun(best.groups, start=best.sums)
                    fits[i] = fit = SharedPass(
                        [start], plan.settings, data, tol=self.rows.request.tol
                    )
                    if checkpoints:
                        checkpoints[i].save(fit)
        return [fit for fit in fits if fit is not None]

    @property
    def _n_rows(self) -> int:
        return self.summary.sums.n_rows

    @property
    def _n_columns(self) -> int:
        return len(self.summary.sums.totals)

    @property
    def _n_batches(self) -> int:
        return self.summary.sums.n_batches

    def _pass(self, requests: Sequence[Request]) -> list[Sums]:
        return self.engine.fold(partial(answer, requests), add_each)

    def check_memory(
        self,
        sample_rows: int | None,
        n_clusters: Sequence[int] = (),
        n_gathered: int = 0,
    ) -> None:
        """Refuse what cannot fit into memory before anything is read again.

        ``n_clusters`` are those of a path; results of ``n_gathered`` rows are kept.
        """
        budget, plan = self.rows.request.budget, self.plan
        if budget.limit is None:
            return
        n_stored = 0.0
        if n_clusters or self._starts_from_sample:
            drawn = self._drawn(sample_rows)
            n_stored = sum(self.summary.n_stored) * len(drawn) / self._n_rows
        sizes = self._n_columns, self._n_batches

        def check(allowed: MemoryBudget) -> None:
            allowed.check_rows(n_gathered)
            threads = self.rows.threads
            if allowed is not budget:
                threads = allowed.threads(plan.n_jobs, max(self.summary.n_stored))
            most = plan.settings.n_clusters
            allowed.runs_at_once(most, sizes[0], threads, sizes[1])
            if n_clusters:
                allowed.check_labels(self._n_rows, len(n_clusters))
                allowed.check_path(n_clusters, *sizes)
            if n_stored:
                allowed.check_sample(n_stored, most, sizes[0], plan.n_jobs, sizes[1])

        check_all(budget, check)

    def _drawn(self, sample_rows: int | None) -> NDArray[np.int64]:
        """Rows that the fit starts from."""
        everything = self._samples_all(sample_rows)
        n_sampled = self._n_rows if everything else int(sample_rows or 0)
        known, kept = self.rows.info.known, self.rows.info.kept
        if known is not None and kept is not None:
            known = known[kept]
        seed = self.plan.sample_seed
        return rows_to_sample(self._n_rows, n_sampled, seed, known)

    @property
    def _starts_from_sample(self) -> bool:
        """Whether runs are made in memory first: starts by name, and released rows."""
        everything = self._samples_all(self.rows.request.sample_rows)
        released = self.rows.info.may_leave and everything
        return isinstance(self.plan.init, str) or released

    def _samples_all(self, sample_rows: int | None) -> bool:
        return sample_rows is None or sample_rows >= self._n_rows

    def sample(self, sample_rows: int | None) -> Counts:
        """Rows drawn at random, in memory."""
        drawn = self._drawn(sample_rows)
        return rows_of(self.engine, self.summary.first_rows, drawn)

    def _sampled(
        self, plans: Sequence[Plan], sample_rows: int | None
    ) -> Iterator[list[Run]]:
        """Runs over rows drawn at random, for each of plans that differ in K alone."""
        plan = self.plan
        everything = self._samples_all(sample_rows)
        counts = self.sample(sample_rows)
        with Workers(plan.n_jobs) as workers:
            search = search_for(plan, counts, workers)
            seeds = plan.seeds(search.n_runs)
            if self.progress is not None:
                self.progress.start(len(plans) * search.n_runs)
            # Runs of a sample alone go on, and are heard of then.
            heard = everything or len(plans) > 1
            report = report_to(self.progress) if heard else None
            settings = [each.settings for each in plans]
            yield from search.find(settings, seeds, workers, report)

    def _shared_pass(self, runs: Sequence[Run] | None) -> SharedPass:
        """All runs before their first pass, where those of the sample ended."""
        if runs is None:
            pending = [self._given_start()]
        else:
            pending = [PendingRun(run.groups, start=run.sums) for run in runs]
        return SharedPass(
            pending, self.plan.settings, self.summary.sums, tol=self.rows.request.tol
        )

    def _given_start(self) -> PendingRun:
        """Start from labels, or from where another fit puts the rows."""
        plan, settings = self.plan, self.plan.settings
        n_clusters, prior = settings.n_clusters, settings.prior
        sums: Work[list[Sums]]
        if isinstance(plan.init, FitRecord):
            groups = groups_of_record(plan, self._n_columns)
            place = (plan.init.describer, settings.marks_outliers)
            sums = partial(sum_placed, *place, n_clusters, groups, prior)
        else:
            labels = inner_labels(given_labels(plan, self._n_rows), n_clusters)
            groups = self._first_groups()
            parts = np.split(labels, self.summary.first_rows[1:-1])
            sums = partial(sum_given, parts, n_clusters, groups, prior)
        (found,) = self.engine.fold(sums, add_each)
        return PendingRun(groups, running=RunState(found, groups, settings))

    def _first_groups(self) -> NDArray[np.int8]:
        plan, settings = self.plan, self.plan.settings

        def information() -> NDArray[np.float64]:
            used = may_be_used(settings, self._n_columns)
            found = np.full(self._n_columns, -np.inf)
            found[used] = self._information(used)
            return found

        if settings.n_clusters == 1 and isinstance(plan.column_init, str):
            return all_used(settings, self._n_columns)
        first = first_columns(plan, self._n_columns, information)
        (seed,) = plan.seeds(1)
        return first_groups(first, np.random.default_rng(seed), settings.fixed_groups)

    def _information(self, used: NDArray[np.bool_]) -> NDArray[np.float64]:
        """h(j) of these columns."""
        prior, sums = self.plan.settings.prior, self.summary.sums
        if not used.all():
            sums = self.engine.fold(partial(sum_columns, used, prior), add_sums)
        above = self.engine.fold(partial(x_log_x_above, used, prior), np.add)
        return seeding.information_of(sums, above, prior)


def answer(requests: Sequence[Request], _: int, counts: Counts) -> list[Sums]:
    """Sums of a block by the profile of each request: the pass of all runs."""
    return [
        sums_by_profile(counts, profile, with_sizes=with_sizes)
        for profile, with_sizes in requests
    ]


def answer_with_labels(
    requests: Sequence[Request], _: int, counts: Counts
) -> list[tuple[Sums, list[NDArray[Any]]]]:
    """The same, each with the labels that the sums are of."""
    found: list[tuple[Sums, list[NDArray[Any]]]] = []
    for profile, with_sizes in requests:
        labels = np.empty(counts.n_rows, dtype=np.int32)
        sums = sums_by_profile(counts, profile, with_sizes=with_sizes, labels=labels)
        found.append((sums, [labels.astype(np.min_scalar_type(~profile.n_clusters))]))
    return found


def sum_given(
    labels: Sequence[NDArray[np.int32]],
    n_clusters: int,
    groups: NDArray[np.int8],
    prior: float,
    index: int,
    counts: Counts,
) -> list[Sums]:
    """Sums of a block whose labels are given, as those of every block."""
    return [sum_by_labels(counts, labels[index], n_clusters, groups, prior)]


def sum_placed(
    describer: RowDescriber,
    with_outliers: bool,  # noqa: FBT001
    n_clusters: int,
    groups: NDArray[np.int8],
    prior: float,
    _: int,
    counts: Counts,
) -> list[Sums]:
    """Sums of a block by the labels that another fit gives it."""
    results = describer(counts)
    labels = results.labels if with_outliers else results.nearest_labels
    labels = inner_labels(labels, n_clusters)
    return [sum_by_labels(counts, labels, n_clusters, groups, prior)]


def x_log_x_above(
    used: NDArray[np.bool_], prior: float, _: int, counts: Counts
) -> NDArray[np.float64]:
    return seeding.x_log_x_above(counts.columns(used), prior)


def sum_columns(used: NDArray[np.bool_], prior: float, _: int, counts: Counts) -> Sums:
    """Sums over all rows with these columns in use, and no others."""
    nowhere = np.full(counts.n_rows, NOWHERE, dtype=np.int32)
    everything = all_relevant(int(np.count_nonzero(used)))
    return sum_by_labels(counts.columns(used), nowhere, 0, everything, prior)


def add_each(a: list[Sums], b: list[Sums]) -> list[Sums]:
    for own, other in zip(a, b, strict=True):
        own.add(other)
    return a


def add_each_with_labels(
    a: list[tuple[Sums, list[Any]]], b: list[tuple[Sums, list[Any]]]
) -> list[tuple[Sums, list[Any]]]:
    add_each([sums for sums, _ in a], [sums for sums, _ in b])
    for (_, own), (_, other) in zip(a, b, strict=True):
        own.extend(other)
    return a


def rows_to_sample(
    n_rows: int, n_sampled: int, seed: Any, known: NDArray[np.int32] | None = None
) -> NDArray[np.int64]:
    """Rows drawn by their number, in their order.

    Of each known cluster there are as many as its part of half a sample, if it has
    them: rows are added where fewer were drawn.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.choice(n_rows, n_sampled, replace=False, shuffle=False)
    if known is not None and n_sampled < n_rows:
        held = all_held(known)
        n_known = int(held.max()) + 1
        enough = max(1, n_sampled // (2 * n_known))
        for k in range(n_known):
            there = int(np.count_nonzero(held[drawn] == k))
            others = np.setdiff1d(np.flatnonzero(held == k), drawn)
            n_more = min(max(enough - there, 0), len(others))
            more = rng.choice(others, n_more, replace=False, shuffle=False)
            drawn = np.concatenate([drawn, more])
    drawn.sort()
    return drawn
