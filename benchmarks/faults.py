"""Fits that lose workers or schedulers: do they end with the same bits?

    python benchmarks/faults.py                         # all; takes a while
    python benchmarks/faults.py --only workers --workers 10

Kinds: workers (one of two is killed), gone (all workers are killed, and others start
when Dask's own time-out for connections is over) and restarts (scheduler and workers
are killed, which ends the fit; others are started and the same call resumes from its
checkpoint). All are ended by SIGKILL at a random moment: after a random time, or in
every other fit while something is sent to the cluster.

Before each such fit there is one that nothing happens to, which says how long it takes.
A fit that ends before it is struck is compared, but not counted. A fit that raises is
lost.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from _common import HERE, Report, parser_of, say

sys.path.insert(0, str(HERE.parent / "tests"))
sys.path.insert(0, str(HERE.parent / "tests" / "distributed"))

import dask_processes as dasks
from block_fits import assert_same_bits, fit, shapeless, write

import distributed
from threecpo.distributed import ClusterLostError, _dask

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = {"workers": 50, "gone": 10, "restarts": 5}
OPTIONS: dict[str, Any] = {
    "n_clusters": 6,
    "init": "random-labels",
    "n_init": 6,
    "outliers": "iterative",
    "column_penalty": None,
}
ROWS = 400
TIMEOUT = 240
# Dask waits 30 s for a connection by itself; all workers are away for longer.
AWAY_SECONDS = 45.0
# Tasks that send something in a fit: eight shares, then one request for each reading.
SENT = (1, 20)


@dataclass
class Tally:
    """What became of the fits of one kind."""

    kind: str
    wanted: int
    runs: int = 0
    kills: int = 0
    same: int = 0
    lost: int = 0

    @property
    def left(self) -> bool:
        """Whether some fits are still to be struck."""
        return self.runs < self.wanted

    def add(self, strike: Strike, expected: Any, one_fit: Callable[[], Any]) -> None:
        """Fit, and compare; a fit that raises is lost."""
        start, same, lost = time.perf_counter(), False, False
        try:
            same = _same(one_fit(), expected)
        except Exception as error:  # noqa: BLE001 - counted, whatever it is
            say(f"  lost: {type(error).__name__}: {error}")
            lost = True
        seconds = time.perf_counter() - start
        kills = strike.ended()
        if same and (not kills or seconds < strike.away):
            return
        self.runs += 1
        self.kills += kills
        self.same += same
        self.lost += lost
        if self.runs % 5 == 0:
            say(f"  {self.runs} of {self.wanted}: {self.same} the same")


def _same(found: Any, expected: Any) -> bool:
    try:
        assert_same_bits(found, expected)
    except AssertionError as error:
        say(f"  other bits: {error}")
        return False
    return True


class Strike:
    """Kills something at a random moment of a fit, and knows whether it did."""

    def __init__(
        self, usual: float, kill: Callable[[], int], away: float = 0.0
    ) -> None:
        self.usual, self.away = usual, away
        self._kill, self._kills = kill, 0
        self._running, self._one = True, threading.Lock()
        self._timer: threading.Timer | None = None

    def __call__(self) -> None:
        with self._one:
            if self._running:
                self._kills += self._kill()

    def client(self, client: Any, rng: Any, *, sending: bool) -> Any:
        """Return the client for a fit that is struck while sending or at any time."""
        if sending:
            moment = {str(rng.choice(["before", "after"])): self}
            number = int(rng.integers(*SENT))
            return dasks.Hooked(client, _dask.unpickled, number, **moment)
        self._timer = threading.Timer(self.usual * rng.random(), self)
        self._timer.start()
        return client

    def ended(self) -> int:
        """The fit has ended: nothing is killed any more. Return how much was."""
        with self._one:
            self._running = False
        if self._timer is not None:
            self._timer.cancel()
        return self._kills


def _seconds(one_fit: Callable[[], Any]) -> float:
    start = time.perf_counter()
    one_fit()
    return time.perf_counter() - start


def workers(folder: Path, expected: Any, rng: Any, tally: Tally) -> None:
    """One worker dies in each fit; its nanny starts another."""
    with (
        dasks.local_cluster() as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=TIMEOUT)
        while tally.left:
            client.wait_for_workers(2, timeout=TIMEOUT)
            one = int(rng.integers(2))
            kill = partial(dasks.kill_worker_of, cluster, one)
            strike = Strike(_usual(folder, client), kill)
            _struck(folder, client, expected, rng, strike, tally)


def gone(folder: Path, expected: Any, rng: Any, tally: Tally) -> None:
    """All workers die, and others come when Dask would have given up connecting."""

    def kill() -> int:
        processes.kill_workers()
        threading.Timer(AWAY_SECONDS, processes.start_workers).start()
        return 1

    with dasks.started(folder.parent / "dask") as (processes, client):
        while tally.left:
            client.wait_for_workers(2, timeout=TIMEOUT)
            strike = Strike(_usual(folder, client), kill, AWAY_SECONDS)
            _struck(folder, client, expected, rng, strike, tally)


def restarts(folder: Path, expected: Any, rng: Any, tally: Tally) -> None:
    """Scheduler and workers die; the same call resumes on others."""
    numbers = iter(range(10**6))
    while tally.left:
        dask_folder = folder.parent / "dask"
        state = folder.parent / f"state-{next(numbers)}"
        with dasks.started(dask_folder) as (processes, client):

            def kill(processes: dasks.Processes = processes) -> int:
                processes.kill_all()
                return 1

            strike = Strike(_usual(folder, client), kill)
            hooked = strike.client(client, rng, sending=bool(tally.runs % 2))
            resumed = partial(_resumed, folder, state, hooked, dask_folder)
            tally.add(strike, expected, resumed)


def _resumed(folder: Path, state: Path, client: Any, dask_folder: Path) -> Any:
    """Fit; after a lost scheduler make the same call on another cluster."""
    fitting = {"client": client, "checkpoint": state}
    try:
        return fit(folder, fitting=fitting, **OPTIONS)
    except ClusterLostError as error:
        say(f"  {error}")
    with dasks.started(dask_folder) as (_, other):
        return fit(folder, fitting=fitting | {"client": other}, **OPTIONS)


def _usual(folder: Path, client: Any) -> float:
    """Seconds of a fit that nothing happens to."""
    return _seconds(lambda: fit(folder, fitting={"client": client}, **OPTIONS))


def _struck(
    folder: Path, client: Any, expected: Any, rng: Any, strike: Strike, tally: Tally
) -> None:
    """Fit on a cluster that is struck, every other time while something is sent."""
    hooked = strike.client(client, rng, sending=bool(tally.runs % 2))
    fitting = {"client": hooked}
    tally.add(strike, expected, lambda: fit(folder, fitting=fitting, **OPTIONS))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    for kind, number in RUNS.items():
        parser.add_argument(f"--{kind}", type=int, default=number, metavar="N")
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.getLogger("threecpo").addHandler(logging.NullHandler())
    rng = np.random.default_rng(options.seed)
    tallies = [Tally(kind, getattr(options, kind)) for kind in options.only]
    with tempfile.TemporaryDirectory(prefix="threecpo-faults-") as scratch:
        for tally in tallies:
            folder = Path(scratch) / tally.kind / "X"
            folder.parent.mkdir()
            X = shapeless(ROWS)
            write(X, folder, 11)
            say(f"{tally.kind} …")
            globals()[tally.kind](folder, fit(X, **OPTIONS), rng, tally)
            say(f"  {tally}")
    report = Report(options.output)
    report.add_table(
        ["fits that lose", "fits", "kills", "same bits", "lost"],
        [[t.kind, t.runs, t.kills, t.same, t.lost] for t in tallies],
    )
    report.write()
    if any(t.same < t.runs for t in tallies):
        sys.exit(1)


if __name__ == "__main__":
    main()
