"""Several runs on one pass: each block of rows is read once for all that still run."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from .._core.run import Request, RunState, digest, gain_below, hopeless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .._core.codes import Groups
    from .._core.run import Settings
    from .._core.search import Report
    from .._core.sums import Sums

    # From what is asked to the sums over all rows.
    Pass = Callable[[Sequence[Request]], list[Sums]]


@dataclass
class PendingRun:
    """A run that waits for its first pass, runs, or has ended.

    It starts from groups and the sums of a run over other rows. Of those that ended
    only the best keeps its sums; ``same_as`` is the run whose sums it came to share.
    """

    groups: Groups
    start: Sums | None = None
    running: RunState | None = None
    loss: float = np.inf
    ended: bool = False
    same_as: int | None = None

    def request(self, settings: Settings) -> Request:
        if self.running is not None:
            return self.running.request
        assert self.start is not None
        smoothed = self.start.smoothed(settings.prior)
        return Request(settings.profile(smoothed, self.groups), with_sizes=True)

    def take(
        self, request: Request, sums: Sums, settings: Settings, tol: float
    ) -> None:
        if self.running is None:
            self.running = RunState(sums, self.groups, settings)
            self.start = None
            return
        if not request.with_sizes:
            sums.count_log_sizes = self.running.sums.count_log_sizes
            sums.log_size_total = self.running.sums.log_size_total
        self.running.take(sums, None)
        if gain_below(self.running.lines, tol):
            self.running.stop()
        self.loss = self.running.lines[-1]["loss"]
        self.ended = self.running.finished


@dataclass
class SharedPass:
    """All runs of a fit, as far as they have come.

    ``data`` are sums over all rows, of which totals and numbers of rows are used. A
    run ends when a pass lowers its loss by less than ``tol`` of it. Runs that
    ``n_extra_searches`` for rare clusters have added end early if they are hopeless.
    ``keep`` is called after each pass.
    """

    runs: list[PendingRun]
    settings: Settings
    data: Sums
    n_passes: int = 0
    tol: float = 0.0
    n_extra_searches: int = 0
    keep: Callable[[SharedPass], object] = lambda _: None

    @property
    def going(self) -> list[int]:
        """Runs that have not ended."""
        return [i for i, run in enumerate(self.runs) if not run.ended]

    @property
    def best_running(self) -> RunState:
        """The state in which the best run has ended."""
        running = min(self.runs, key=attrgetter("loss")).running
        assert running is not None
        return running

    @property
    def losses(self) -> list[float]:
        """Loss of every run; one that came to share the sums of another has its."""
        return [self.runs[self._first_of(i)].loss for i in range(len(self.runs))]

    def _first_of(self, i: int) -> int:
        while (same_as := self.runs[i].same_as) is not None:
            i = same_as
        return i

    def take(
        self, found: Sequence[tuple[int, Request, Sums]], report: Report | None
    ) -> None:
        for i, request, sums in found:
            run = self.runs[i]
            sums.copy_totals_from(self.data)
            run.take(request, sums, self.settings, self.tol)
            lines = [] if run.running is None else run.running.lines
            if report is not None and lines:
                report(self.settings.n_clusters, i, len(lines), lines[-1], run.ended)
        self._end([i for i, *_ in found])
        self.n_passes += 1
        self.keep(self)

    def _end(self, going: Sequence[int]) -> None:
        """End runs that are where another is or hopeless; keep the best one's sums."""
        met: dict[bytes, int] = {}
        for i in going:
            run = self.runs[i]
            if run.running is not None and not run.ended:
                state = digest(run.running.sums, run.running.groups)
                first = met.setdefault(state, i)
                if first != i:
                    run.ended, run.same_as, run.loss = True, first, np.inf
        if self.n_extra_searches:
            self._drop_hopeless(going)
        ended = [run for run in self.runs if run.ended]
        best = min(ended, key=attrgetter("loss"), default=None)
        for run in ended:
            if run is not best:
                run.running = None

    def _drop_hopeless(self, going: Sequence[int]) -> None:
        lowest = min(run.loss for run in self.runs)
        for run in (self.runs[i] for i in going):
            if not run.ended and run.running is not None:
                run.ended = hopeless(run.running.lines, lowest)


def finish_together(
    fits: Sequence[SharedPass],
    one_pass: Pass,
    lines: int | None,
    report: Report | None = None,
) -> None:
    """Make passes until all runs of all fits have ended.

    Each is for the first runs whose sums have at most so many lines together.
    """
    while asked := _first(((fit, i) for fit in fits for i in fit.going), lines):
        requests = [fit.runs[i].request(fit.settings) for fit, i in asked]
        answers = zip(asked, requests, one_pass(requests), strict=True)
        found: dict[int, list[tuple[int, Request, Sums]]] = {}
        for (fit, i), request, sums in answers:
            found.setdefault(id(fit), []).append((i, request, sums))
        for fit in fits:
            if id(fit) in found:
                fit.take(found[id(fit)], report)


def _first(
    runs: Iterable[tuple[SharedPass, int]], lines: int | None
) -> list[tuple[SharedPass, int]]:
    """Return the first runs whose clusters and outliers are at most so many lines."""
    chosen, used = [], 0
    for fit, i in runs:
        used += fit.settings.n_clusters + 1
        if lines is not None and used > lines:
            break
        chosen.append((fit, i))
    return chosen
