"""Fits that lose workers, schedulers or their driver: do they end with the same bits?

    python benchmarks/faults.py                         # all, about ten minutes
    python benchmarks/faults.py --load 2                # beside two busy loops
    python benchmarks/faults.py --only workers --workers 10

Kinds: workers (one of two is killed by SIGKILL at a random moment, half of them while
something is sent), gone (all workers are killed, and others start after Dask's own
time-out for connections), restarts (scheduler and workers are processes that are killed
and started again at the same address) and drivers (the process that fits is killed up
to three times and started again with the same checkpoint).
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from _common import HERE, Report, say

sys.path.insert(0, str(HERE.parent / "tests"))
sys.path.insert(0, str(HERE.parent / "tests" / "distributed"))

import dask_processes as dasks
from block_fits import assert_same_bits, fit, shapeless, write

import distributed
import threecpo
from threecpo.distributed import _patience, _shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RUNS = {"workers": 50, "gone": 10, "restarts": 5, "drivers": 50}
OPTIONS: dict[str, Any] = {
    "n_clusters": 6,
    "init": "random-labels",
    "n_init": 6,
    "outliers": "iterative",
    "column_penalty": None,
}
ROWS = {"cluster": 400, "driver": 3000}
PATIENCE = 240
DASK_SECONDS = 1.0
# Tasks that send something in a fit: eight shares, then one request for each reading.
SENT = (1, 20)


@dataclass
class Tally:
    """What became of the fits of one kind."""

    runs: int = 0
    faults: int = 0
    same: int = 0
    lost: int = 0
    seconds: float = 0.0

    def add(self, expected: Any, one_fit: Callable[[], Any]) -> None:
        """Fit, and compare; a fit that raises is lost."""
        start = time.perf_counter()
        self.runs += 1
        try:
            found = one_fit()
        except Exception as error:  # noqa: BLE001 - counted, whatever it is
            say(f"  lost: {type(error).__name__}: {error}")
            self.lost += 1
        else:
            self.same += _same(found, expected)
        self.seconds += time.perf_counter() - start


def _same(found: Any, expected: Any) -> bool:
    try:
        assert_same_bits(found, expected)
    except AssertionError as error:
        say(f"  other bits: {error}")
        return False
    return True


def workers(n_runs: int, folder: Path, expected: Any, rng: Any, tally: Tally) -> None:
    """One worker dies in each fit; its nanny starts another."""
    with (
        dasks.local_cluster() as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=PATIENCE)
        start = time.perf_counter()
        fit(folder, fitting={"client": client}, **OPTIONS)
        usual = time.perf_counter() - start
        for i in range(n_runs):
            client.wait_for_workers(1, timeout=PATIENCE)
            one = int(rng.integers(2))

            def kill(one: int = one) -> None:
                tally.faults += dasks.kill_worker_of(cluster, one)

            hooked, timer = client, None
            if i % 2:
                moment = {("before", "after")[one]: kill}
                number = int(rng.integers(*SENT))
                hooked = dasks.Hooked(client, _shares.unpickled, number, **moment)
            else:
                timer = threading.Timer(usual * rng.random(), kill)
                timer.start()
            fitting = {"client": hooked, "patience": PATIENCE}
            tally.add(expected, lambda f=fitting: fit(folder, fitting=f, **OPTIONS))
            if timer is not None:
                timer.join()


def gone(n_runs: int, folder: Path, expected: Any, rng: Any, tally: Tally) -> None:
    """All workers die, and others come when Dask would have given up."""
    _outages(n_runs, folder, expected, rng, tally, with_scheduler=False)


def restarts(n_runs: int, folder: Path, expected: Any, rng: Any, tally: Tally) -> None:
    """Scheduler and workers die, and come again at the same address."""
    _outages(n_runs, folder, expected, rng, tally, with_scheduler=True)


def _outages(
    n_runs: int,
    folder: Path,
    expected: Any,
    rng: Any,
    tally: Tally,
    *,
    with_scheduler: bool,
) -> None:
    text = "does not answer" if with_scheduler else "has 0 workers"
    scratch = folder.parent / "dask"
    with dasks.short_timeouts(DASK_SECONDS), ExitStack() as stack:
        processes, client = stack.enter_context(dasks.started(scratch))
        for _ in range(n_runs):
            with _reports() as reports:
                kill = processes.kill_all if with_scheduler else processes.kill_workers
                number = int(rng.integers(*SENT))
                hooked = dasks.Hooked(client, _shares.unpickled, number, after=kill)
                fitting = {"client": hooked, "patience": PATIENCE}
                call = dasks.InThread(
                    lambda f=fitting: fit(folder, fitting=f, **OPTIONS)
                )
                # One report a second: longer than Dask tries to connect.
                reports.wait_for(text, often=3 + int(DASK_SECONDS))
                tally.faults += 1
                if with_scheduler:
                    processes.start_scheduler()
                processes.start_workers()
                tally.add(expected, call.result)
            if client.status != "running":
                client = stack.enter_context(
                    distributed.Client(processes.address, set_as_default=False)
                )
            client.wait_for_workers(2, timeout=PATIENCE)


@contextmanager
def _reports() -> Iterator[Any]:
    heard = dasks.Reports()
    before, _patience.MESSAGE_SECONDS = _patience.MESSAGE_SECONDS, 1.0
    _patience.logger.addHandler(heard)
    try:
        yield heard
    finally:
        _patience.logger.removeHandler(heard)
        _patience.MESSAGE_SECONDS = before


def drive(folder: Path, state: Path, target: Path) -> None:
    """Fit in a process of its own."""
    warnings.simplefilter("ignore")
    model = fit(folder, fitting={"checkpoint": state}, n_jobs=1, **OPTIONS)
    model.save(target)


def drivers(n_runs: int, folder: Path, expected: Any, rng: Any, tally: Tally) -> None:
    """The driver dies up to three times, and goes on from its checkpoint."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["threecpo.distributed", "faults"])

    def one_fit(number: int, kills: int) -> Any:
        state, target = (folder.parent / f"{name}-{number}" for name in "st")
        target = target.with_suffix(".npz")
        for left in range(kills, -1, -1):
            child = context.Process(target=drive, args=(folder, state, target))
            child.start()
            child.join(usual * rng.random() if left else PATIENCE)
            if child.exitcode is None:
                os.kill(child.pid or 0, signal.SIGKILL)
                child.join()
                tally.faults += 1
            if child.exitcode == 0:
                break
        return threecpo.load(target)

    usual = 60.0
    for number in (-2, -1):  # the first also starts the server of the processes
        start = time.perf_counter()
        one_fit(number, 0)
        usual = time.perf_counter() - start
    for number in range(n_runs):
        kills = int(rng.integers(1, 4))
        tally.add(expected, lambda n=number, k=kills: one_fit(n, k))


@contextmanager
def busy_loops(number: int) -> Iterator[None]:
    """So many processes that do nothing but take a core."""
    command = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(command) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            dasks.kill(loop)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    for kind, number in RUNS.items():
        parser.add_argument(f"--{kind}", type=int, default=number, metavar="N")
    parser.add_argument("--load", type=int, default=0, help="busy loops beside")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.getLogger("threecpo").addHandler(logging.NullHandler())
    rng = np.random.default_rng(options.seed)
    tallies = {}
    with (
        tempfile.TemporaryDirectory(prefix="threecpo-faults-") as scratch,
        busy_loops(options.load),
    ):
        for kind in options.only:
            rows = ROWS["driver" if kind == "drivers" else "cluster"]
            folder = Path(scratch) / kind / "X"
            folder.parent.mkdir()
            X = shapeless(rows)
            write(X, folder, 11)
            say(f"{kind} …")
            tallies[kind] = Tally()
            n_runs = getattr(options, kind)
            globals()[kind](n_runs, folder, fit(X, **OPTIONS), rng, tallies[kind])
            say(f"  {tallies[kind]}")
    report = Report(options.output)
    report.add_table(
        ["fits that lose", "runs", "killed", "same bits", "lost", "s a fit"],
        [
            [kind, t.runs, t.faults, t.same, t.lost, f"{t.seconds / t.runs:.1f}"]
            for kind, t in tallies.items()
        ],
    )
    report.write()
    if any(t.same < t.runs for t in tallies.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
