"""read_counts beside the usual reader of each format: time and memory.

    python benchmarks/reading.py

Each reading is one fresh process, which has read a small file of the kind before;
readers take turns.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from _common import Report, in_child, memory_of, parser_of, say, watched
from _reading_files import KINDS, SMALL, write_file
from fuzz.usage import current

if TYPE_CHECKING:
    from collections.abc import Callable


def readers(kind: str, file: str) -> dict[str, Callable[[], Any]]:
    """Readers of a file."""
    get = importlib.import_module
    index = None if kind == "csv, long" else 0
    others: dict[str, dict[str, Callable[[], Any]]] = {
        "csv": {
            "pandas": lambda: get("pandas").read_csv(file, index_col=index),
            "polars": lambda: get("polars").read_csv(file),
        },
        "parquet": {
            "pandas": lambda: get("pandas").read_parquet(file),
            "polars": lambda: get("polars").read_parquet(file),
        },
        "xlsx": {
            "pandas": lambda: get("pandas").read_excel(
                file, index_col=0, engine="calamine"
            )
        },
        "mtx": {"scipy": lambda: get("scipy.io").mmread(file).tocsr()},
        "h5": {"scanpy": lambda: get("scanpy").read_10x_h5(file)},
    }
    ours = {"read_counts": lambda: get("threecpo").read_counts(file)}
    return ours | others[Path(file).suffix[1:]]


def measure(kind: str, name: str, file: str, small: str) -> dict[str, float]:
    """Processor seconds, seconds and bytes of one reading in this process."""
    readers(kind, small)[name]()
    before = memory_of(os.getpid())
    with watched(os.getpid(), 0.01) as most:
        began, worked = time.perf_counter(), current(os.getpid()).seconds
        held = readers(kind, file)[name]()
        seconds = time.perf_counter() - began
        processor = current(os.getpid()).seconds - worked
    counts = getattr(held, "counts", None)
    parts = () if counts is None else (counts.data, counts.indices, counts.indptr)
    return {
        "processor": processor,
        "seconds": seconds,
        "memory": most[0] - before,
        "counts": sum(part.nbytes for part in parts),
    }


def lines_of(kind: str, folder: Path, given: argparse.Namespace) -> list[list[object]]:
    """A line for each reader of a kind of file."""
    file = write_file(kind, folder, given.long_megabytes)
    small = write_file(SMALL[kind], folder, given.long_megabytes)
    found: dict[str, list[dict[str, float]]] = {
        name: [] for name in readers(kind, str(file))
    }
    for _ in range(given.rounds):
        for name, taken in found.items():
            taken.append(in_child(__file__, "--measure", kind, name, file, small))
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
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--rounds", type=int, default=3)
    add("--kinds", default=";".join(KINDS), help="separated by ;")
    add("--long-megabytes", type=int, default=1000, help="of the csv file of triples")
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
    report.add("# Reading files")
    report.add("; ".join(f"{kind}: {KINDS[kind]}" for kind in given.kinds.split(";")))
    header = ["file", "reader", "processor s", "s", "memory, MB", "counts, MB"]
    report.add_table(header, lines)
    report.write()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
