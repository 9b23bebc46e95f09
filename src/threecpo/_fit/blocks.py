"""The search over rows that come in blocks, wherever an engine reads them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import seeding
from .._core.codes import all_held, inner_labels
from .._core.crossing import best_of
from .._core.run import RunState
from .._core.search import first_groups
from .._core.sums import sum_by_labels, sums_by_profile
from .._core.workers import Workers
from .budget import check_all
from .engine import add_sums, on_counts, rows_of, sum_all
from .plan import report_to
from .rare_clusters import MOST_SEARCHES, SAMPLE_PER_ROW, RareClusters, is_due
from .record import FitRecord
from .row_results import sum_placed
from .shared_pass import PendingRun, SharedPass, finish_together
from .starting import (
    all_used,
    first_columns,
    given_labels,
    groups_of_record,
    place_of,
    runs_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .._core.codes import Floats, Groups, Ints
    from .._core.counts import Counts
    from .._core.run import Request, Run
    from .._core.sums import Sums
    from .block_rows import BlockRows
    from .budget import MemoryBudget
    from .checkpoint import Checkpoint
    from .engine import Work
    from .plan import Plan, Progress

    # Sums for each request, and for each block the labels that they are of.
    Answers = tuple[list[Sums], list[list[NDArray[Any]]]]


@dataclass(frozen=True)
class BlockFit:
    """The search that plans, which differ in K alone, ask for in rows in blocks.

    The largest K comes first. They share the sample and the passes; all runs of the
    sample go on, or the ``best_only`` of each K. The ``first`` of two fits, which tells
    how much columns vary, looks for no clusters that are too rare for the sample.
    """

    plans: Sequence[Plan]
    rows: BlockRows
    progress: Progress | None = None
    first: bool = False
    best_only: bool = False

    @property
    def plan(self) -> Plan:
        return self.plans[0]

    def fit(self, checkpoints: Sequence[Checkpoint | None]) -> list[FitRecord]:
        """Return a fit for each number of clusters, without results of the rows."""
        data, info = self.rows.kept.sums, self.rows.info
        lines = self.rows.lines_at_once(self.plan.settings.n_clusters)
        with ExitStack() as stack:
            for each in filter(None, checkpoints):
                stack.enter_context(each.opened())
            loaded: list[SharedPass | None]
            loaded = [each.load(data) if each else None for each in checkpoints]
            if None in loaded and self._ends_with_sample and not self.best_only:
                (runs,) = self._sampled()
                losses = [run.loss for run in runs]
                return [FitRecord.of(best_of(runs), self.plan, losses, info)]
            if None in loaded:
                pairs = zip(self._begun(), checkpoints, strict=True)
                for i, (new, checkpoint) in enumerate(pairs):
                    if loaded[i] is None:
                        loaded[i] = new
                        if checkpoint is not None:
                            new.keep = checkpoint.save
                            new.keep(new)
            fits = [each for each in loaded if each is not None]
            if self.best_only and self.progress is not None:
                self.progress.start(len(fits))
            how = self._pass, lines, report_to(self.progress)
            finish_together(fits, *how)
            while not self.best_only and self._search_again(fits[0]):
                fits[0].keep(fits[0])
                finish_together(fits, *how)
        return [
            FitRecord.of(each.best_running.result(), plan, each.losses, info)
            for each, plan in zip(fits, self.plans, strict=True)
        ]

    def _begun(self) -> Iterator[SharedPass]:
        """Fits before their first pass: where runs of the sample ended, or as given."""
        request, data = self.rows.request, self.rows.kept.sums
        if not self._starts_from_sample:
            start = [self._given_start()]
            yield SharedPass(start, self.plan.settings, data, tol=request.tol)
            return
        for plan, runs in zip(self.plans, self._sampled(), strict=True):
            chosen = [best_of(runs)] if self.best_only else runs
            starts = [PendingRun(run.groups, start=run.sums) for run in chosen]
            yield SharedPass(starts, plan.settings, data, tol=request.tol)

    def _search_again(self, shared: SharedPass) -> bool:
        """Add a run with clusters that the best may have missed, if that is due."""
        rows, plan = self.rows, self.plan
        wanted = rows.request.rare_clusters and not self.first
        of_some = self._starts_from_sample and not self._ends_with_sample
        several = plan.settings.n_clusters > 1 and rows.kept.sums.n_batches == 1
        if not (wanted and of_some and several and is_due(shared)):
            return False
        n_rows = self._n_sampled // SAMPLE_PER_ROW
        with Workers(plan.n_jobs) as workers:
            search = RareClusters(rows.fitted, rows.kept, plan, self._pass, n_rows)
            start = search.start(shared.best_running, workers)
        shared.n_extra_searches += 1 if start else MOST_SEARCHES
        if start is not None:
            shared.runs.append(start)
            if self.progress is not None:
                self.progress.start(1)
        return True

    @property
    def _n_rows(self) -> int:
        return self.rows.kept.sums.n_rows

    @property
    def _n_columns(self) -> int:
        return len(self.rows.totals)

    def _pass(self, requests: Sequence[Request]) -> list[Sums]:
        return self.rows.fitted.fold(partial(answer, requests), add_each)

    def check_memory(self, n_clusters: Sequence[int] = ()) -> None:
        """Refuse what cannot fit into memory before anything is read again.

        ``n_clusters`` are those of a path.
        """
        rows, plan, kept = self.rows, self.plan, self.rows.kept
        budget = rows.request.budget
        if budget.limit is None:
            return
        n_stored = 0.0
        if n_clusters or self._starts_from_sample:
            n_stored = sum(kept.n_stored) * len(self._drawn()) / self._n_rows
        sizes = self._n_columns, kept.sums.n_batches

        def check(allowed: MemoryBudget) -> None:
            allowed.check_rows(rows.n_gathered)
            threads = rows.threads
            if allowed is not budget:
                threads = allowed.threads(plan.n_jobs, max(kept.n_stored))
            most = plan.settings.n_clusters
            allowed.runs_at_once(most, sizes[0], threads, sizes[1])
            if n_clusters:
                allowed.check_labels(self._n_rows, len(n_clusters))
                allowed.check_path(n_clusters, *sizes)
            if n_stored:
                allowed.check_sample(n_stored, most, sizes[0], plan.n_jobs, sizes[1])

        check_all(budget, check)

    @property
    def _n_sampled(self) -> int:
        most = self.rows.request.sample_rows
        return self._n_rows if most is None else min(most, self._n_rows)

    @property
    def _starts_from_sample(self) -> bool:
        """Whether runs are made in memory first: starts by name, and released rows."""
        everything = self._n_sampled == self._n_rows
        released = self.rows.info.may_leave and everything
        return isinstance(self.plan.init, str) or released

    @property
    def _ends_with_sample(self) -> bool:
        """Whether these runs are of all rows."""
        return self._starts_from_sample and self._n_sampled == self._n_rows

    def _drawn(self) -> NDArray[np.int64]:
        known, kept = self.rows.info.known, self.rows.info.kept
        if known is not None and kept is not None:
            known = known[kept]
        seed = self.plan.sample_seed
        return rows_to_sample(self._n_rows, self._n_sampled, seed, known)

    def sample(self) -> Counts:
        return rows_of(self.rows.fitted, self.rows.kept.first_rows, self._drawn())

    def _sampled(self) -> Iterator[list[Run]]:
        """Runs over rows drawn at random, for each plan."""
        # Runs of a sample alone go on, and are heard of then.
        heard = self._ends_with_sample or len(self.plans) > 1
        counts = self.sample()
        with Workers(self.plan.n_jobs) as workers:
            yield from runs_of(self.plans, counts, workers, self.progress, heard=heard)

    def _given_start(self) -> PendingRun:
        """Start from labels, or from where another fit puts the rows."""
        plan, settings = self.plan, self.plan.settings
        n_clusters, prior = settings.n_clusters, settings.prior
        work: Work[Sums]
        if isinstance(plan.init, FitRecord):
            groups = groups_of_record(plan, self._n_columns)
            place = place_of(plan.init, settings)
            found = partial(sum_placed, place, n_clusters, groups, prior)
            work = partial(on_counts, found)
        else:
            labels = inner_labels(given_labels(plan, self._n_rows), n_clusters)
            groups = self._first_groups()
            parts = np.split(labels, self.rows.kept.first_rows[1:-1])
            work = partial(sum_given, parts, n_clusters, groups, prior)
        sums = self.rows.fitted.fold(work, add_sums)
        return PendingRun(groups, running=RunState(sums, groups, settings))

    def _first_groups(self) -> Groups:
        plan, settings = self.plan, self.plan.settings
        if settings.n_clusters == 1 and isinstance(plan.column_init, str):
            return all_used(settings, self._n_columns)

        def information(used: NDArray[np.bool_]) -> Floats:
            work = partial(on_counts, partial(sum_columns, used, settings.prior))
            sums, above = self.rows.fitted.fold(work, add_columns)
            return seeding.information_of(sums, above, settings.prior)

        first = first_columns(plan, self._n_columns, information)
        (seed,) = plan.seeds(1)
        return first_groups(first, np.random.default_rng(seed), settings.fixed_groups)


def answer(requests: Sequence[Request], _: int, counts: Counts) -> list[Sums]:
    """Sums of a block by the profile of each request: the pass of all runs."""
    return [
        sums_by_profile(counts, profile, with_sizes=with_sizes)
        for profile, with_sizes in requests
    ]


def add_each(a: list[Sums], b: list[Sums]) -> list[Sums]:
    for own, other in zip(a, b, strict=True):
        own.add(other)
    return a


def answer_with_labels(requests: Sequence[Request], _: int, counts: Counts) -> Answers:
    """The same, with the labels that the sums are of."""
    found, each_labels = [], []
    for profile, with_sizes in requests:
        labels = np.empty(counts.n_rows, dtype=np.int32)
        how: dict[str, Any] = {"with_sizes": with_sizes, "labels": labels}
        found.append(sums_by_profile(counts, profile, **how))
        each_labels.append(labels.astype(np.min_scalar_type(~profile.n_clusters)))
    return found, [each_labels]


def add_answers(a: Answers, b: Answers) -> Answers:
    return add_each(a[0], b[0]), a[1] + b[1]


def sum_given(
    labels: Sequence[Ints],
    n_clusters: int,
    groups: Groups,
    prior: float,
    index: int,
    counts: Counts,
) -> Sums:
    """Sums of a block whose labels are given, as those of every block."""
    return sum_by_labels(counts, labels[index], n_clusters, groups, prior)


def sum_columns(
    used: NDArray[np.bool_], prior: float, counts: Counts
) -> tuple[Sums, Floats]:
    """Sums over rows for h(j) if only these columns are in use."""
    counts = counts.columns(used)
    return sum_all(prior, counts), seeding.x_log_x_above(counts, prior)


def add_columns(a: tuple[Sums, Floats], b: tuple[Sums, Floats]) -> tuple[Sums, Floats]:
    return add_sums(a[0], b[0]), a[1] + b[1]


def rows_to_sample(
    n_rows: int, n_sampled: int, seed: Any, known: Ints | None = None
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
