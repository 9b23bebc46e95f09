"""read_counts beside the usual reader of each format: time and memory.

Run ``python benchmarks/reading.py --output benchmarks/results/reading.md``. Each
reading is one fresh process, which has read a small file of the kind before; readers
take turns. ``--before PATH`` compares with the sources of another checkout.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from _common import HERE, Report, say
from _reading_files import KINDS, SMALL, write_file

if TYPE_CHECKING:
    from collections.abc import Callable

OURS, BEFORE = "read_counts", "read_counts, before"
TEXT = """\
# Reading files

Made by `python benchmarks/reading.py`: median of {rounds} readings, each by a fresh
process that has read a small file before; readers take turns. Processor seconds are
those of all threads and processes. `read_counts` returns checked sparse counts by row,
with names; pandas and polars return full tables. Memory is the most that the process
and those it starts take beyond what they had after the small file, with shared pages
counted once; *counts* is what the sparse counts take.

{shapes}
"""


def readers(kind: str, file: str) -> dict[str, Callable[[], Any]]:
    """Readers of a file."""
    get = importlib.import_module

    def ours() -> Any:
        return get("threecpo").read_counts(file)

    pandas = {
        "csv": lambda: get("pandas").read_csv(file, index_col=0),
        "parquet": lambda: get("pandas").read_parquet(file),
        "xlsx": lambda: get("pandas").read_excel(file, index_col=0, engine="calamine"),
    }
    polars = {
        "csv": lambda: get("polars").read_csv(file),
        "parquet": lambda: get("polars").read_parquet(file),
    }
    others: dict[str, Callable[[], Any]] = {
        "mtx": lambda: get("scipy.io").mmread(file).tocsr(),
        "h5": lambda: get("scanpy").read_10x_h5(file),
    }
    suffix = Path(file).suffix[1:]
    found: dict[str, Callable[[], Any]] = {OURS: ours, BEFORE: ours}
    if suffix in pandas and kind != "csv, long":
        found["pandas"] = pandas[suffix]
    if kind == "csv, long":
        found["pandas"] = lambda: get("pandas").read_csv(file)
    if suffix in polars:
        found["polars"] = polars[suffix]
    if suffix in others:
        found["scanpy" if suffix == "h5" else "scipy"] = others[suffix]
    return found


def measure(kind: str, name: str, file: str, small: str) -> dict[str, float]:
    """Processor seconds, seconds and bytes of one reading in this process."""
    readers(kind, small)[name]()
    before, most, ended = _held(os.getpid()), 0, threading.Event()

    def look() -> None:
        nonlocal most
        while not ended.wait(0.01):
            most = max(most, _held(os.getpid()))

    watching = threading.Thread(target=look)
    watching.start()
    began, worked = time.perf_counter(), _seconds()
    held = readers(kind, file)[name]()
    took = {"processor": _seconds() - worked, "seconds": time.perf_counter() - began}
    most = max(most, _held(os.getpid()))
    ended.set()
    watching.join()
    counts = getattr(held, "counts", None)
    parts = () if counts is None else (counts.data, counts.indices, counts.indptr)
    return took | {
        "memory": most - before,
        "counts": sum(part.nbytes for part in parts),
    }


def _seconds() -> float:
    """Processor seconds of this process and of those that it started."""
    sys.path.append(str(HERE.parent))
    used = importlib.import_module("fuzz.usage").current(os.getpid())
    return float(used.seconds)


def _held(process: int) -> int:
    """Bytes of a process and those it started; what they share is divided by them."""
    with suppress(OSError, ValueError, IndexError):
        folder = Path(f"/proc/{process}")
        text = (folder / "smaps_rollup").read_text()
        own = 1024 * int(text.partition("\nPss:")[2].split()[0])
        started = (folder / "task" / str(process) / "children").read_text().split()
        return own + sum(_held(int(child)) for child in started)
    return 0


def measured(sources: Path | None, *given: str) -> dict[str, float]:
    """What a fresh process measures, of the sources of another checkout if asked."""
    environment = dict(os.environ)
    if sources is not None:
        environment["PYTHONPATH"] = str(sources)
    command = [sys.executable, __file__, "--measure", *given]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def lines_of(kind: str, folder: Path, given: argparse.Namespace) -> list[list[object]]:
    """A line for each reader of a kind of file."""
    file = write_file(kind, folder, given.long_megabytes)
    small = write_file(SMALL[kind], folder, given.long_megabytes)
    names = [
        name
        for name in readers(kind, str(file))
        if name != BEFORE or given.before is not None
    ]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(given.rounds):
        for name in names:
            sources = given.before if name == BEFORE else None
            found[name].append(measured(sources, kind, name, str(file), str(small)))
    lines: list[list[object]] = []
    for name, taken in found.items():
        middle = {key: float(np.median([t[key] for t in taken])) for key in taken[0]}
        memory = f"{middle['memory'] / 1e6:.0f}"
        counts = f"{middle['counts'] / 1e6:.0f}" if middle["counts"] else ""
        times = [f"{middle['processor']:.2f}", f"{middle['seconds']:.2f}"]
        lines.append([kind, name, *times, memory, counts])
    file.unlink()
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--output", type=Path)
    add("--rounds", type=int, default=3)
    add("--kinds", default=";".join(KINDS), help="separated by ;")
    add("--long-megabytes", type=int, default=1000, help="of the csv file of triples")
    add("--before", type=Path, help="folder src of another checkout")
    add("--measure", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.measure:
        print(json.dumps(measure(*given.measure)))
        return 0
    lines: list[list[object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in given.kinds.split(";"):
            say(kind)
            lines += lines_of(kind, Path(folder), given)
    report = Report(given.output)
    shapes = "; ".join(f"{kind}: {KINDS[kind]}" for kind in given.kinds.split(";"))
    report.add(TEXT.format(rounds=given.rounds, shapes=f"{shapes}.").rstrip())
    header = ["file", "reader", "processor s", "s", "memory, MB", "counts, MB"]
    report.add_table(header, lines)
    report.write()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
