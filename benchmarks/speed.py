"""Speed and memory against clustpy and scikit-learn, side by side in one run.

    python benchmarks/speed.py --only kmeans --repeats 5
    python benchmarks/speed.py --clustpy-python PATH --output speed.md
    python benchmarks/speed.py --only kmeans --json benchmarks/results/history.jsonl

Sections: clustpy (the authors' own program, under an interpreter that has it), kmeans
(scikit-learn's KMeans of ten runs beside a default fit), threads (one and two), auto
(K chosen), pass (one pass over the rows), memory, startup. Compilation is left out by a
small first fit.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

import history
from _common import (
    HERE,
    SYNTH,
    DataSet,
    Report,
    in_child,
    load,
    missing_data,
    parser_of,
    say,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

CLUSTPY_VARIABLE = "THREECPO_CLUSTPY_PYTHON"
CLUSTPY_RESTARTS = {"bbcsports": 10, "bbcnews": 10, "reuters": 1, "newsgroups20": 1}
TEXTS = ("bbcsports", "bbcnews", "webkb", "reuters", "newsgroups20")
ALL_SETS = (*TEXTS, "pbmc_kang")
# Of KMeans and of the comparison with clustpy, and the default of ThreeCPO.
RESTARTS, DEFAULT_RUNS = 10, 6
PASS_REPEATS = 5
CPU_REPEATS = 3
PRIOR = 1e-3

IMPORT_ALONE = """
import time
import sklearn.cluster, sklearn.feature_selection
start = time.perf_counter()
from threecpo import ThreeCPO
print(time.perf_counter() - start)
"""
IMPORT_AND_FIT = """
from threecpo import ThreeCPO
from threecpo.datasets import make_synth
X, _ = make_synth(random_state=0)
ThreeCPO(n_clusters=3, random_state=0).fit(X)
"""
IMPORT_SCIKIT_LEARN = "import sklearn.cluster, sklearn.feature_selection"


def seconds_of(function: Callable[[], object], clock=time.perf_counter) -> float:
    start = clock()
    function()
    return clock() - start


def fit_in_child(python: str, implementation: str, *words: object) -> dict[str, float]:
    command = HERE / "_fit.py", implementation, "3CPO", *words, 0
    return in_child(*command, python=python)


def chosen(
    options: argparse.Namespace, report: Report, names: tuple[str, ...]
) -> list[str]:
    """Data sets of a section that are asked for and there."""
    wanted = [name for name in names if name in (options.datasets or names)]
    found = [name for name in wanted if not missing_data(options.data, [name])]
    message = missing_data(options.data, wanted)
    if message:
        report.add(f"Left out: {message}.")
    return found


def clustpy(options: argparse.Namespace, report: Report) -> None:
    python = options.clustpy_python and shutil.which(options.clustpy_python)
    if not python:
        report.add(
            "Left out: no interpreter with clustpy; name one by --clustpy-python or "
            f"${CLUSTPY_VARIABLE}."
        )
        return
    rows = []
    for name in chosen(options, report, tuple(CLUSTPY_RESTARTS)):
        path, n_init = options.data / f"{name}.npz", CLUSTPY_RESTARTS[name]
        n_clusters = load(options.data, name).n_clusters
        ours = [
            fit_in_child(sys.executable, "threecpo", path, n_clusters, n_init)
            for _ in range(options.repeats)
        ]
        say(f"{name}: threecpo done, clustpy …")
        peer = fit_in_child(python, "clustpy", path, n_clusters, n_init)
        seconds = median(one["seconds"] for one in ours)
        peak = max(one["peak"] for one in ours)
        rows.append(
            [
                *(name, n_init, f"{seconds:.3f}", f"{peer['seconds']:.1f}"),
                f"{peer['seconds'] / seconds:.0f}×",
                *(f"{peak:.0f}", f"{peer['peak']:.0f}"),
            ]
        )
    header = ["data set", "restarts", "threecpo s", "clustpy s", "faster"]
    report.add_table([*header, "threecpo peak MB", "clustpy peak MB"], rows)


def kmeans(options: argparse.Namespace, report: Report) -> None:
    from sklearn.cluster import KMeans

    from threecpo import ThreeCPO

    n_runs = {KMeans: RESTARTS, ThreeCPO: DEFAULT_RUNS}
    rows = []
    for kind in n_runs:
        kind(n_clusters=2, n_init=2, random_state=0).fit(
            load(options.data, SYNTH).matrix
        )
    for name in chosen(options, report, (SYNTH, *ALL_SETS)):
        data = load(options.data, name)
        times: dict[type, list[float]] = {kind: [] for kind in n_runs}
        for seed in range(options.repeats):
            for kind, seconds in times.items():
                asked = {"n_clusters": data.n_clusters, "n_init": n_runs[kind]}
                model = kind(**asked, random_state=seed)
                seconds.append(seconds_of(partial(model.fit, data.matrix)))
        peer, ours = median(times[KMeans]), median(times[ThreeCPO])
        say(f"{name}: KMeans {peer:.3f} s, ThreeCPO {ours:.3f} s")
        if options.json:
            report.figures[name] = processor_seconds(data)
        shown = f"{ours:.3f}", f"{peer:.3f}", f"{peer / ours:.2f}×"
        rows.append([name, data.n_clusters, *shown])
    header = ["data set", "K", "ThreeCPO s", "KMeans s", "faster"]
    report.add_table(header, rows)


def processor_seconds(data: DataSet) -> dict[str, float]:
    """CPU seconds of both, the least of some: for lines of other days and machines."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    from threecpo import ThreeCPO

    least = {}
    with threadpool_limits(1):  # threads that wait for others count, too
        for field, kind in {"seconds": ThreeCPO, "peer": KMeans}.items():
            model = kind(n_clusters=data.n_clusters, n_init=RESTARTS, random_state=0)
            fit = partial(model.fit, data.matrix)
            times = [seconds_of(fit, time.process_time) for _ in range(CPU_REPEATS)]
            least[field] = min(times)
    return least


def threads(options: argparse.Namespace, report: Report) -> None:
    from threecpo import ThreeCPO

    rows = []
    for name in chosen(options, report, ("newsgroups20", "pbmc_kang")):
        data = load(options.data, name)
        times: dict[int, list[float]] = {1: [], 2: []}
        for seed in range(options.repeats):
            for n_jobs, seconds in times.items():
                model = ThreeCPO(data.n_clusters, random_state=seed, n_jobs=n_jobs)
                seconds.append(seconds_of(partial(model.fit, data.matrix)))
        one, two = median(times[1]), median(times[2])
        rows.append([name, f"{one:.2f}", f"{two:.2f}", f"{one / two:.2f}×"])
    report.add_table(["data set", "one thread s", "two threads s", "faster"], rows)


def auto(options: argparse.Namespace, report: Report) -> None:
    from threecpo import ThreeCPO

    rows = []
    for name in chosen(options, report, ("pbmc_kang",)):
        model, data = ThreeCPO("auto", random_state=0), load(options.data, name)
        before = time.process_time()
        wall = seconds_of(partial(model.fit, data.matrix))
        busy = time.process_time() - before
        rows.append([name, model.n_clusters_, f"{wall:.1f}", f"{busy:.1f}"])
    report.add_table(["data set", "K chosen", "seconds", "processor seconds"], rows)


def pass_costs(data: DataSet, repeats: int) -> list[float]:
    """Nanoseconds per stored count of three passes over the rows of a fit."""
    from threecpo import ThreeCPO
    from threecpo._core.codes import NOWHERE
    from threecpo._core.rules import EXACT
    from threecpo._core.sums import Sums, assign, sum_by_labels
    from threecpo._core.workers import SERIAL
    from threecpo._validation import check_counts

    counts = check_counts(data.matrix)
    record = ThreeCPO(data.n_clusters, random_state=0).fit(data.matrix).record_
    profile = EXACT.profile(record.smoothed, record.groups, ranks=record.ranks)
    labels, n_clusters = record.rows.labels, record.sums.n_clusters
    sums = sum_by_labels(counts, labels, n_clusters, record.groups, PRIOR)
    nowhere = np.full(counts.n_rows, NOWHERE, dtype=np.int32)
    nothing = Sums.zeros_for(counts, n_clusters)
    starts = [(labels, sums, False), (labels, sums, True), (nowhere, nothing, False)]
    times = np.empty((repeats, len(starts)))
    for line in times:
        for i, (before, moved, with_sizes) in enumerate(starts):
            own = counts, profile, before.copy(), moved.copy(), SERIAL
            run = partial(assign, *own, with_sizes=with_sizes)
            line[i] = seconds_of(run, time.process_time)
    return (1e9 * times.min(axis=0) / len(counts.data)).tolist()


def one_pass(options: argparse.Namespace, report: Report) -> None:
    rows = []
    for name in chosen(options, report, ALL_SETS):
        data = load(options.data, name)
        late, summed, moving = pass_costs(data, PASS_REPEATS * options.repeats)
        found = (f"{each:.2f}" for each in (late, summed - late, moving - late))
        rows.append([name, data.n_clusters, *found])
    report.add(
        "Nanoseconds of a processor per stored count, on one thread: a pass in which "
        "no row moves (*late*), what summing Σ X log r adds (*sizes*), and what it "
        "adds if every row moves (*moves*)."
    )
    report.add_table(["data set", "K", "late", "sizes", "moves"], rows)


def memory(options: argparse.Namespace, report: Report) -> None:
    rows = []
    for name in chosen(options, report, ("pbmc_kang",)):
        data = load(options.data, name)
        arrays = (data.matrix.data, data.matrix.indices, data.matrix.indptr)
        path = options.data / f"{name}.npz"
        one = fit_in_child(sys.executable, "threecpo", path, data.n_clusters, RESTARTS)
        size = sum(array.nbytes for array in arrays) / 2**20
        used = size, one["loaded"], one["peak"], one["peak"] - one["loaded"]
        shown = (f"{each:.0f}" for each in used)
        rows.append([name, data.n_clusters, *shown, f"{one['seconds']:.2f}"])
    header = ["data set", "K", "matrix MB", "before fit MB", "peak MB", "above MB"]
    report.add_table([*header, "seconds"], rows)


def startup(options: argparse.Namespace, report: Report) -> None:
    def output(code: str) -> str:
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    output(IMPORT_AND_FIT)
    repeats = range(options.repeats)
    measured = {
        "import ThreeCPO after scikit-learn": [
            float(output(IMPORT_ALONE)) for _ in repeats
        ],
        "new process: import and fit Synth": [
            seconds_of(lambda: output(IMPORT_AND_FIT)) for _ in repeats
        ],
        "new process: import scikit-learn only": [
            seconds_of(lambda: output(IMPORT_SCIKIT_LEARN)) for _ in repeats
        ],
    }
    rows = [
        [what, f"{min(values):.3f}", f"{median(values):.3f}"]
        for what, values in measured.items()
    ]
    report.add_table(["start-up", "least s", "median s"], rows)


SECTIONS = {
    "clustpy": clustpy,
    "kmeans": kmeans,
    "threads": threads,
    "auto": auto,
    "pass": one_pass,
    "memory": memory,
    "startup": startup,
}


def surroundings() -> str:
    names = ("threecpo", "numpy", "scipy", "scikit-learn", "numba")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, data=True)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument(
        "--datasets", nargs="+", choices=(SYNTH, *ALL_SETS), metavar="NAME"
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--clustpy-python",
        default=os.environ.get(CLUSTPY_VARIABLE),
        help=f"interpreter that has clustpy (default: ${CLUSTPY_VARIABLE})",
    )
    parser.add_argument(
        "--json", type=Path, help="append a line of section kmeans for this commit"
    )
    return parser.parse_args()


def main() -> int:
    options = arguments()
    report = Report(options.output)
    report.add(surroundings())
    for name in options.only:
        report.add(f"## {name}")
        SECTIONS[name](options, report)
    report.write()
    if options.json:
        about = {"surroundings": surroundings(), "kmeans": report.figures}
        history.append(options.json, history.commit() | about)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
