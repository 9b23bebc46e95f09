"""Fits past memory and past one process: time, memory, bytes, recovered clusters.

    python benchmarks/scaling.py                        # all, about an hour
    python benchmarks/scaling.py --rows 30000 --only disk dask

Sections: disk (a fit with max_memory=2GB beside reading and the pass in memory), dask
(the same on two single-threaded workers), restarts (ten runs against one) and curves
(one pass over rows, columns, clusters, threads and workers). The counts are made by a
seeded generator and written to disk block by block; they are removed at the end unless
--keep names a folder for them.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from _common import HERE, Report, in_child, parser_of, say
from _planted import Planted
from _scaling_fit import start_cluster
from threecpo._core.rules import EXACT
from threecpo._core.run import Request
from threecpo._core.sums import Sums, assign, sum_by_labels
from threecpo._core.workers import Workers
from threecpo._fit.blocks import add_each, answer
from threecpo._fit.engine import ThreadEngine
from threecpo.distributed._dask import DaskEngine
from threecpo.io.blocks import open_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threecpo._fit.engine import Engine, Reader

SECTIONS = ("disk", "dask", "restarts", "curves")
N_JOBS = 2
PICTURE = HERE / "results" / "scaling.png"


def fit_in_child(**task: Any) -> dict[str, Any]:
    """Fit in a process of its own; also the peak memory of it and its children."""
    return in_child(HERE / "_scaling_fit.py", json.dumps(task), every=0.05)


def random_request(
    readers: Sequence[Reader], planted: Planted, n_clusters: int
) -> Request:
    """What a run asks whose clusters are those of a few thousand rows at random."""
    counts = readers[0]()
    rng = np.random.default_rng(0)
    labels = rng.integers(n_clusters, size=counts.n_rows, dtype=np.int32)
    found = sum_by_labels(counts, labels, n_clusters, planted.groups, 1e-3)
    return Request(
        EXACT.profile(found.smoothed(1e-3), planted.groups), with_sizes=False
    )


def seconds_of_pass(engine: Engine, request: Request, repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        engine.fold(partial(answer, [request]), add_each)
        times.append(time.perf_counter() - start)
    return median(times)


def _n_stored(_: int, counts: Any) -> int:
    return len(counts.data)


def reading_and_pass(folder: Path, planted: Planted) -> tuple[float, float, int]:
    """Seconds to read all blocks, and of the pass over the same counts in memory."""
    with open_blocks(folder) as source, Workers(N_JOBS) as workers:
        readers = source.readers
        request = random_request(readers, planted, planted.n_clusters)
        engine = ThreadEngine(readers, workers)
        start = time.perf_counter()
        n_stored = engine.fold(_n_stored, int.__add__)
        reading = time.perf_counter() - start
        passing = 0.0
        for read in readers:
            counts = read()
            assert counts.whole
            labels = np.full(counts.n_rows, -2, dtype=np.int32)
            sums = Sums.zeros(planted.n_clusters, counts.n_columns)
            start = time.perf_counter()
            assign(counts, request.profile, labels, sums, workers, with_sizes=False)
            passing += time.perf_counter() - start
    return reading, passing, n_stored


def on_disk(folder: Path, planted: Planted, report: Report) -> None:
    say("disk: reading and passing …")
    before = reading_and_pass(folder, planted)
    say("disk: fitting …")
    fit = fit_in_child(
        folder=str(folder),
        n_clusters=planted.n_clusters,
        n_init=6,
        max_memory="2GB",
        planted=vars(planted),
    )
    after = reading_and_pass(folder, planted)
    reading, passing = ((a + b) / 2 for a, b in zip(before[:2], after[:2], strict=True))
    a_pass = median(each["seconds"] / each["runs"] for each in fit["passes"])
    ratio = median(
        each["seconds"] / (reading + each["runs"] * passing) for each in fit["passes"]
    )
    report.add("## On disk")
    report.add_table(
        ["", f"{planted.n_rows} x {planted.n_columns}, K = {planted.n_clusters}"],
        [
            ["stored counts, millions", f"{before[2] / 1e6:.0f}"],
            ["on disk, GB", f"{_size(folder) / 1e9:.2f}"],
            ["max_memory, GB", "2"],
            ["peak memory of all processes, GB", f"{fit['watched'] / 1e9:.2f}"],
            ["adjusted Rand index with the planted clusters", f"{fit['ari']:.5f}"],
            ["columns in their planted group", f"{fit['groups']:.4f}"],
            ["runs", 6],
            ["passes", len(fit["passes"])],
            ["runs in each pass", _runs(fit)],
            ["whole fit, s", f"{fit['seconds']:.1f}"],
            ["one pass, s a run", f"{a_pass:.2f}"],
            ["reading the blocks, s", f"{reading:.2f}"],
            ["the pass of one run over the same counts in memory, s", f"{passing:.2f}"],
            ["a pass over reading and the passes in memory, median", f"{ratio:.2f}"],
        ],
    )


def _median_pass(fit: dict[str, Any]) -> float:
    return median(each["seconds"] for each in fit["passes"])


def _runs(fit: dict[str, Any]) -> str:
    """How many runs shared each pass, as 6, 4, 46 x 1."""
    numbers = [int(each["runs"]) for each in fit["passes"]]
    return ", ".join(
        f"{n}" if often == 1 else f"{often} x {n}"
        for n in sorted(set(numbers), reverse=True)
        for often in [numbers.count(n)]
    )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def on_dask(folder: Path, planted: Planted, report: Report) -> None:
    """Fits of ten passes, on disk before and after the one on Dask."""
    task = {
        "folder": str(folder),
        "n_clusters": planted.n_clusters,
        "n_init": 6,
        "max_iter": 9,
        "max_memory": "2GB",
        "planted": vars(planted),
    }
    say("dask: on disk …")
    disk = fit_in_child(**task)
    say("dask: on two workers …")
    fit = fit_in_child(**task, workers=2)
    say("dask: on disk again …")
    again = fit_in_child(**task)
    assert fit["loss"] == disk["loss"], "not the same fit"
    disk["seconds"] = (disk["seconds"] + again["seconds"]) / 2
    disk["passes"] += again["passes"]
    n_blocks = len(list(folder.iterdir()))
    last, both = fit["passes"][-1], (disk, fit)
    report.add("## On two Dask workers")
    report.add_table(
        ["", "on disk", "Dask"],
        [
            ["whole fit, s", f"{disk['seconds']:.1f}", f"{fit['seconds']:.1f}"],
            ["one pass, s", *(f"{_median_pass(each):.2f}" for each in both)],
            ["Dask over disk", "", f"{fit['seconds'] / disk['seconds']:.2f}"],
            ["loss", f"{disk['loss']:.6f}", f"{fit['loss']:.6f}"],
            ["tasks a pass", "", f"{last['tasks']} ({n_blocks} blocks)"],
            ["sums of one run, MB", "", f"{last['statistics'] / 1e6:.1f}"],
            ["sent by workers a pass, MB", "", f"{last['sent'] / 1e6:.1f}"],
            [
                "peak memory of all processes, GB",
                f"{disk['watched'] / 1e9:.2f}",
                f"{fit['watched'] / 1e9:.2f}",
            ],
        ],
    )


def restarts(folder: Path, planted: Planted, report: Report) -> None:
    rows = []
    for seed in (0, 1, 2):
        say(f"restarts: seed {seed} …")
        task = {"folder": str(folder), "n_clusters": planted.n_clusters, "seed": seed}
        one, ten = (fit_in_child(**task, n_init=n)["passes"] for n in (1, 10))
        # Scan, sample and labels are readings, too.
        n_one, n_ten = len(one) + 3, len(ten) + 3
        alone = sum(each["runs"] for each in ten)
        rows.append([seed, n_one, n_ten, f"{n_ten / n_one:.2f}", alone])
    report.add("## Ten restarts")
    header = ["seed", "readings, one", "ten", "ratio", "passes of ten one by one"]
    report.add_table(header, rows)


def curves(folder: Path, planted: Planted, scratch: Path, report: Report) -> None:
    """Seconds of one pass of one run, over one size at a time."""
    found: dict[str, list[tuple[float, float]]] = {}
    with open_blocks(folder) as source, Workers(N_JOBS) as workers:
        readers = source.readers
        step = max(1, len(readers) // 8)
        base = readers[: 2 * step]
        ask = partial(random_request, readers, planted)
        say("curves: rows …")
        found["rows"] = [
            (
                planted.block_rows * n,
                seconds_of_pass(ThreadEngine(readers[:n], workers), ask(10)),
            )
            for n in (step, 2 * step, 4 * step, 8 * step)
        ]
        say("curves: clusters …")
        engine = ThreadEngine(base, workers)
        found["clusters"] = [
            (k, seconds_of_pass(engine, ask(k))) for k in (5, 10, 20, 40, 80)
        ]
        say("curves: threads and workers …")
        with Workers(1) as one:
            found["threads"] = [
                (1, seconds_of_pass(ThreadEngine(base, one), ask(10))),
                (2, seconds_of_pass(engine, ask(10))),
            ]
        found["workers"] = []
        for n in (1, 2):
            with ExitStack() as stack:
                client = start_cluster(stack, n)
                cluster = DaskEngine(client, base, "")
                found["workers"].append((n, seconds_of_pass(cluster, ask(10))))
        found["columns"] = []
        for n_columns in (5000, 10_000, 20_000, 40_000, 80_000):
            say(f"curves: {n_columns} columns …")
            other = Planted(20_000, n_columns, 10)
            other.write(scratch / str(n_columns))
            with open_blocks(scratch / str(n_columns)) as narrow:
                request = random_request(narrow.readers, other, 10)
                engine = ThreadEngine(narrow.readers, workers)
                found["columns"].append((n_columns, seconds_of_pass(engine, request)))
            shutil.rmtree(scratch / str(n_columns))
    report.add("## One pass of one run")
    for name, points in found.items():
        report.add_table(
            [name, *(f"{x:g}" for x, _ in points)],
            [["s", *(f"{y:.2f}" for _, y in points)]],
        )
    draw(found)


def draw(found: dict[str, list[tuple[float, float]]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 4, figsize=(13, 3), layout="constrained")
    for ax, names in zip(
        axes, (["rows"], ["columns"], ["clusters"], ["threads", "workers"]), strict=True
    ):
        for name in names:
            ax.plot(*zip(*found[name], strict=True), "o-", label=name)
        ax.set(xlabel=" or ".join(names), ylabel="s a pass", ylim=(0, None))
    axes[-1].legend()
    PICTURE.parent.mkdir(exist_ok=True)
    fig.savefig(PICTURE, dpi=110)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=20_000)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--keep", type=Path, help="folder for the counts, made if new")
    options = parser.parse_args()
    report = Report(options.output)
    planted = Planted(options.rows, options.columns, options.clusters)
    with tempfile.TemporaryDirectory(prefix="threecpo-scaling-") as scratch:
        folder = options.keep or Path(scratch) / "X"
        if not folder.exists():
            say(f"writing {planted} …")
            planted.write(folder)
        if "disk" in options.only:
            on_disk(folder, planted, report)
        if "dask" in options.only:
            on_dask(folder, planted, report)
        if "restarts" in options.only:
            small = Planted(min(40_000, options.rows), options.columns, 10)
            small.write(Path(scratch) / "small")
            restarts(Path(scratch) / "small", small, report)
        if "curves" in options.only:
            curves(folder, planted, Path(scratch), report)
    report.write()


if __name__ == "__main__":
    main()
