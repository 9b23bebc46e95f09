"""Several runs on one pass: each block of rows is read once for all that still run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .run import Request, Running, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from .loops.records import Profile
    from .run import Run, Settings
    from .search import Report
    from .sums import Sums

    # From what is asked to the sums over all rows.
    Pass = Callable[[Sequence[Request]], list[Sums]]

# A run is hopeless if this many times its last gain would not make it the best.
PATIENCE = 10


@dataclass
class Rider:
    """A run that waits for its first pass, runs, or has ended.

    It starts from a profile and groups, and runs from then on. Of those that ended only
    the best keeps its sums; ``twin`` is the rider whose sums it has come to share.
    """

    groups: NDArray[np.int8]
    profile: Profile | None = None
    running: Running | None = None
    loss: float = np.inf
    ended: bool = False
    twin: int | None = None

    @classmethod
    def after(cls, run: Run, settings: Settings) -> Rider:
        """Start where a run over other rows has ended."""
        smoothed = run.sums.smoothed(settings.prior)
        return cls(run.groups, settings.profile(smoothed, run.groups))

    def request(self) -> Request:
        if self.running is not None:
            return self.running.request
        assert self.profile is not None
        return Request(self.profile, with_sizes=True)

    def take(self, sums: Sums, settings: Settings) -> None:
        if self.running is None:
            self.running = Running(sums, self.groups, settings)
            self.profile = None
        else:
            self.running.take(sums, None)
            self.loss = self.running.lines[-1]["loss"]
            self.ended = self.running.finished


@dataclass
class Ride:
    """All runs of a fit, as far as they have come.

    ``totals`` and ``n_rows`` are of all rows.
    """

    riders: list[Rider]
    settings: Settings
    totals: NDArray[np.float64]
    n_rows: int
    drop_hopeless: bool = False
    n_passes: int = 0

    def go_on(
        self,
        one_pass: Pass,
        seats: int | None,
        after_pass: Callable[[Ride], None] | None = None,
        report: Report | None = None,
    ) -> Run:
        """Make passes, each for as many runs as there are seats; return the best."""
        while seated := [i for i in self._all if not self.riders[i].ended]:
            seated = seated[:seats]
            requests = [self.riders[i].request() for i in seated]
            for i, request, found in zip(
                seated, requests, one_pass(requests), strict=True
            ):
                found.totals, found.n_rows = self.totals, self.n_rows
                self._take(i, request, found, report)
            self._leave(seated)
            self.n_passes += 1
            if after_pass is not None:
                after_pass(self)
        best = self._best(self._all)
        assert best is not None
        running = self.riders[best].running
        assert running is not None
        return running.result()

    @property
    def losses(self) -> NDArray[np.float64]:
        """Loss of every run, a run that met another having that one's."""
        return np.array([self.riders[self._first_of(i)].loss for i in self._all])

    @property
    def _all(self) -> range:
        return range(len(self.riders))

    def _first_of(self, i: int) -> int:
        twin = self.riders[i].twin
        return i if twin is None else self._first_of(twin)

    def _best(self, among: Iterable[int]) -> int | None:
        """Return the first run of the lowest loss."""
        return min(among, key=lambda i: self.riders[i].loss, default=None)

    def _take(
        self, i: int, request: Request, found: Sums, report: Report | None
    ) -> None:
        rider = self.riders[i]
        if rider.running is not None and not request.with_sizes:
            known = rider.running.sums
            found.log_sizes = known.log_sizes
            found.log_size_total = known.log_size_total
        rider.take(found, self.settings)
        assert rider.running is not None
        lines = rider.running.lines
        if report is not None and lines:
            report(self.settings.n_clusters, i, len(lines), lines[-1], rider.ended)

    def _leave(self, seated: Sequence[int]) -> None:
        """End runs that have met another or are hopeless; keep the best one's sums."""
        met: dict[bytes, int] = {}
        for i in seated:
            rider = self.riders[i]
            if rider.running is not None and not rider.ended:
                state = digest(rider.running.sums, rider.running.groups)
                first = met.setdefault(state, i)
                if first != i:
                    rider.ended, rider.twin, rider.loss = True, first, np.inf
        if self.drop_hopeless:
            self._drop_hopeless(seated)
        ended = [i for i in self._all if self.riders[i].ended]
        for i in set(ended) - {self._best(ended)}:
            self.riders[i].running = None

    def _drop_hopeless(self, seated: Sequence[int]) -> None:
        lowest = min(self.riders[i].loss for i in self._all)
        for i in seated:
            rider = self.riders[i]
            if rider.ended or rider.running is None or len(rider.running.lines) < 2:
                continue
            before, now = (line["loss"] for line in rider.running.lines[-2:])
            if now - PATIENCE * max(before - now, 0.0) > lowest:
                rider.ended = True
