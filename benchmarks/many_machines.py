"""What a pass costs on many machines: a model of it, checked here and drawn out.

    python benchmarks/many_machines.py --rows 40000 --output many.md

Sections: costs (of reading, adding up, sending, one by one), check (processor time of
passes on a LocalCluster of 1, 2 and 4 workers, beside the model), sums (bytes of the
sums in other forms) and drawn (seconds of a pass up to 64 workers and 10^9 rows). All
costs are processor time, so that a busy machine does not matter; a link of 10 Gbit/s
between machines is assumed, and nothing else.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
import zlib
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

from _common import Report
from _planted import Planted
from threecpo._core.rules import EXACT
from threecpo._core.run import Request
from threecpo._core.sums import Sums, sum_by_labels
from threecpo._fit.blocks import add_each, answer
from threecpo.distributed._dask import (
    ADDED_AT_ONCE,
    SHARES_PER_THREAD,
    DaskEngine,
    local_client,
)
from threecpo.io.blocks import open_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

PRIOR = 1e-3
LINK = 1.25e9  # bytes a second
WORKERS, REPEATS = (1, 2, 4), 5
# The data to draw out to: as 1.3 million cells of mouse brain, with more rows.
ROW_COUNTS, COLUMNS, CLUSTERS, RUNS = 2000, 28_000, 20, 6
DRAWN_WORKERS, DRAWN_ROWS = (1, 4, 16, 64), (10**6, 10**7, 10**8, 10**9)


def cost(function: Callable[[], object], repeats: int = 5) -> float:
    """Least processor seconds of a call."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return min(seconds)


@dataclass(frozen=True)
class Costs:
    """Processor seconds of each stored count, of each byte, and of each task."""

    read: float
    score: float
    pack: float
    unpack: float
    add: float
    task: float = 0.0

    def work(self, n_counts: float, n_runs: int) -> float:
        """Reading and scoring, on all machines together."""
        return n_counts * (self.read + n_runs * self.score)

    def sums(self, n_shares: int, n_bytes: float) -> float:
        """What becomes of the sums of the shares, on all machines together."""
        return n_shares * n_bytes * (self.pack + self.unpack + self.add)

    def requests(self, n_workers: int, n_bytes: float) -> float:
        return n_bytes * (self.pack + n_workers * self.unpack)


def n_tasks(n_shares: int) -> int:
    """Tasks of a pass: the request, the shares, and those that add."""
    total = 1
    while n_shares > 1:
        total, n_shares = total + n_shares, ceil(n_shares / ADDED_AT_ONCE)
    return total + 1


def pass_seconds(
    costs: Costs,
    n_workers: int,
    n_rows: float,
    *,
    smaller: float = 1.0,
    shares_per_worker: int = SHARES_PER_THREAD,
) -> dict[str, float]:
    """Seconds of each part of a pass, one thread a worker, ``smaller`` sums."""
    n_bytes = RUNS * (CLUSTERS + 1) * COLUMNS * 8 * smaller
    n_shares = shares_per_worker * n_workers
    levels = max(1, ceil(log2(n_shares) / log2(ADDED_AT_ONCE)))
    each = costs.pack + costs.unpack + costs.add + 1 / LINK
    hops = ceil(log2(n_workers)) if n_workers > 1 else 0
    return {
        "rows": costs.work(n_rows * ROW_COUNTS, RUNS) / n_workers,
        # A task that adds gets its parts one after the other.
        "sums": levels * min(ADDED_AT_ONCE, n_shares) * n_bytes * each,
        "requests": n_bytes / smaller * (costs.pack + costs.unpack + hops / LINK),
        "tasks": n_tasks(n_shares) * costs.task,
    }


def requests_of(planted: Planted, counts: Any, n_runs: int) -> list[Request]:
    labels = planted.labels()[: counts.n_rows].astype(np.int32)
    groups = planted.groups
    sums = sum_by_labels(counts, labels, planted.n_clusters, groups, PRIOR)
    profile = EXACT.profile(sums.smoothed(PRIOR), groups)
    return [Request(profile, with_sizes=True)] * n_runs


def measured(
    readers: Sequence[Callable[[], Any]], requests: list[Request]
) -> tuple[Costs, list[Sums]]:
    """Costs in this process."""
    counts = readers[0]()
    stored = len(counts.data)
    sums = answer(requests, 0, counts)
    packed = pickle.dumps(sums, protocol=5)
    n_bytes = len(packed)
    costs = Costs(
        read=cost(readers[0]) / stored,
        score=cost(partial(answer, requests, 0, counts)) / stored / len(requests),
        pack=cost(partial(pickle.dumps, sums, protocol=5)) / n_bytes,
        unpack=cost(partial(pickle.loads, packed)) / n_bytes,
        add=cost(partial(add_each, sums, pickle.loads(packed))) / n_bytes,
    )
    return costs, sums


def processor_seconds(client: Any) -> NDArray[np.float64]:
    """Of this process, with client and scheduler, and of all workers, so far."""
    workers = client.run(lambda: sum(psutil.Process().cpu_times()[:2]))
    return np.array([time.process_time(), sum(workers.values())])


def passes_on(
    n_workers: int, readers: Sequence[Any], requests: list[Request]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Processor seconds, here and on workers, of a pass and of one that asks nothing.

    The latter reads the blocks all the same.
    """
    with local_client(n_workers) as client:
        engine = DaskEngine(client, readers, "")
        found = []
        for asked in (requests, []):
            work = partial(answer, asked)
            engine.fold(work, add_each)
            before = processor_seconds(client)
            for _ in range(REPEATS):
                engine.fold(work, add_each)
            found.append((processor_seconds(client) - before) / REPEATS)
    return found[0], found[1]


def check(
    report: Report, costs: Costs, readers: Sequence[Any], requests: list[Request]
) -> Costs:
    """Compare processor time of passes with the model; return it with that of tasks."""
    stored = sum(len(read().data) for read in readers)
    n_bytes = sum(array.nbytes for array in answer(requests, 0, readers[0]())[0].arrays)
    rows, tasks = [], []
    for n_workers in WORKERS:
        seconds, empty = passes_on(n_workers, readers, requests)
        n_shares = min(len(readers), SHARES_PER_THREAD * n_workers)
        tasks.append(empty[0] / n_tasks(n_shares))
        parts = (
            costs.work(stored, len(requests)),
            costs.sums(n_shares, n_bytes * len(requests)),
            costs.requests(n_workers, n_bytes * len(requests)),
            empty.sum() - costs.read * stored,
        )
        shown = [f"{part:.2f}" for part in (*parts, sum(parts), seconds.sum())]
        rows.append([n_workers, n_shares, *shown, f"{seconds.sum() / sum(parts):.2f}"])
    header = ["workers", "shares", "rows", "sums", "requests", "Dask", "model"]
    report.add_table([*header, "measured", "ratio"], rows)
    return replace(costs, task=min(tasks))


def forms(report: Report, sums: Sums) -> None:
    """Bytes of the table of a block's sums in other forms that lose nothing."""
    table = sums.table
    shown: dict[str, NDArray[Any] | bytes] = {
        "float64": table,
        "int32": table.astype(np.int32),
        "int32 in zlib 1": zlib.compress(table.astype(np.int32).tobytes(), 1),
    }
    rows = []
    for name, form in shown.items():
        size = len(form) if isinstance(form, bytes) else form.nbytes
        rows.append([name, f"{size / 1e6:.2f}", f"{table.nbytes / size:.1f}"])
    report.add(f"Cells that are not 0: {np.count_nonzero(table) / table.size:.2f}")
    report.add_table(["table of a run", "MB", "times smaller"], rows)


def drawn(report: Report, costs: Costs) -> None:
    rows = []
    for n_rows in DRAWN_ROWS:
        for n_workers in DRAWN_WORKERS:
            parts = pass_seconds(costs, n_workers, n_rows)
            less = pass_seconds(costs, n_workers, n_rows, smaller=0.5)
            fewer = pass_seconds(costs, n_workers, n_rows, shares_per_worker=1)
            seconds = [
                *parts.values(),
                *(sum(p.values()) for p in (parts, less, fewer)),
            ]
            rows.append(
                [f"{n_rows:.0e}", n_workers, *(f"{part:.2f}" for part in seconds)]
            )
    header = ["rows of the table", "workers", "rows", "sums", "requests", "tasks"]
    report.add_table([*header, "pass", "sums in int32", "one share a worker"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--columns", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--output", type=Path, help="also write the Markdown here")
    options = parser.parse_args()
    report = Report(options.output)
    planted = Planted(options.rows, options.columns, CLUSTERS, block_rows=2000)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "rows"
        planted.write(folder)
        readers = stack.enter_context(open_blocks(folder)).readers
        requests = requests_of(planted, readers[0](), options.runs)
        costs, sums = measured(readers, requests)
        named = vars(costs).items()
        report.add("Nanoseconds of a stored count or a byte: ")
        lines = [[name, f"{1e9 * value:.2f}"] for name, value in named if value]
        report.add_table(["cost", "ns"], lines)
        costs = check(report, costs, readers, requests)
        report.add(f"A task takes the scheduler {1e3 * costs.task:.1f} ms.")
    forms(report, sums[0])
    drawn(report, costs)
    report.write()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
