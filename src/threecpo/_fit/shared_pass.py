"""Several runs on one pass: each block of rows is read once for all that still run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._core.run import Request, RunState, digest, gain_below, hopeless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from .._core.run import Run, Settings
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

    groups: NDArray[np.int8]
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

    def take(self, sums: Sums, settings: Settings, tol: float) -> None:
        if self.running is None:
            self.running = RunState(sums, self.groups, settings)
            self.start = None
        else:
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
    """

    runs: list[PendingRun]
    settings: Settings
    data: Sums
    n_passes: int = 0
    tol: float = 0.0
    n_extra_searches: int = 0

    def finish(
        self,
        one_pass: Pass,
        at_once: int | None,
        after_pass: Callable[[SharedPass], None] | None = None,
        report: Report | None = None,
    ) -> Run:
        """Make passes, each for at most so many runs, to the end; return the best."""
        lines = None if at_once is None else at_once * self.lines
        finish_together([self], one_pass, lines, after_pass, report)
        return self.best_run

    @property
    def lines(self) -> int:
        """Lines of the sums of a run: clusters, and outliers."""
        return self.settings.n_clusters + 1

    @property
    def going(self) -> list[int]:
        """Runs that have not ended."""
        return [i for i in self._all if not self.runs[i].ended]

    @property
    def best_run(self) -> Run:
        """The best run after all have ended."""
        return self.best_running.result()

    @property
    def best_running(self) -> RunState:
        """The state in which the best run has ended."""
        best = self._best(self._all)
        assert best is not None
        running = self.runs[best].running
        assert running is not None
        return running

    def take(
        self, found: Iterable[tuple[int, Request, Sums]], report: Report | None
    ) -> None:
        """Go on with what a pass found for some of the runs."""
        going = []
        for i, request, sums in found:
            sums.copy_totals_from(self.data)
            self._take(i, request, sums, report)
            going.append(i)
        self._end(going)
        self.n_passes += 1

    @property
    def keeps_the_best(self) -> bool:
        """Whether the best of the runs that ended has its sums."""
        best = self._best(i for i in self._all if self.runs[i].ended)
        return best is None or self.runs[best].running is not None

    @property
    def losses(self) -> list[float]:
        """Loss of every run; one that came to share the sums of another has its."""
        return [self.runs[self._first_of(i)].loss for i in self._all]

    @property
    def _all(self) -> range:
        return range(len(self.runs))

    def _first_of(self, i: int) -> int:
        while (same_as := self.runs[i].same_as) is not None:
            i = same_as
        return i

    def _best(self, among: Iterable[int]) -> int | None:
        """Return the first run of the lowest loss."""
        return min(among, key=lambda i: self.runs[i].loss, default=None)

    def _take(
        self, i: int, request: Request, found: Sums, report: Report | None
    ) -> None:
        run = self.runs[i]
        if run.running is not None and not request.with_sizes:
            found.count_log_sizes = run.running.sums.count_log_sizes
            found.log_size_total = run.running.sums.log_size_total
        run.take(found, self.settings, self.tol)
        assert run.running is not None
        lines = run.running.lines
        if report is not None and lines:
            report(self.settings.n_clusters, i, len(lines), lines[-1], run.ended)

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
        ended = [i for i in self._all if self.runs[i].ended]
        for i in set(ended) - {self._best(ended)}:
            self.runs[i].running = None

    def _drop_hopeless(self, going: Sequence[int]) -> None:
        lowest = min(self.runs[i].loss for i in self._all)
        for i in going:
            run = self.runs[i]
            if not run.ended and run.running is not None:
                run.ended = hopeless(run.running.lines, lowest)


def finish_together(
    fits: Sequence[SharedPass],
    one_pass: Pass,
    lines: int | None,
    after_pass: Callable[[SharedPass], None] | None = None,
    report: Report | None = None,
) -> None:
    """Make passes until all runs of all fits have ended.

    Each is for the first runs whose sums have at most so many lines together.
    """
    while asked := _first(((fit, i) for fit in fits for i in fit.going), lines):
        requests = [fit.runs[i].request(fit.settings) for fit, i in asked]
        found: dict[int, list[tuple[int, Request, Sums]]] = {}
        for (fit, i), request, sums in zip(
            asked, requests, one_pass(requests), strict=True
        ):
            found.setdefault(id(fit), []).append((i, request, sums))
        for fit in fits:
            if id(fit) in found:
                fit.take(found[id(fit)], report)
                if after_pass is not None:
                    after_pass(fit)


def _first(
    runs: Iterable[tuple[SharedPass, int]], lines: int | None
) -> list[tuple[SharedPass, int]]:
    """Return the first runs that fit into so many lines."""
    chosen, used = [], 0
    for fit, i in runs:
        used += fit.lines
        if lines is not None and used > lines:
            break
        chosen.append((fit, i))
    return chosen
