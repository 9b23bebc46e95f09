"""read_counts beside the usual reader of each format: time and memory.

Run ``python benchmarks/reading.py --output docs/results/reading.md``. Readers take
turns, so that whatever else the machine does falls on all of them.
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
from _reading_files import (
    CELLS,
    COLUMNS,
    GENES,
    ROWS,
    SHEET_COLUMNS,
    SHEET_ROWS,
    write_all,
)

if TYPE_CHECKING:
    from collections.abc import Callable

OURS = "read_counts"
LIMITS = {"mtx": 1.0, "10x-h5": 1.0, "csv": 1.5, "parquet": 1.5, "xlsx": 1.5}
TEXT = """\
# Reading files

Made by `python benchmarks/reading.py`: median of {rounds} rounds (of xlsx 3) in which
the readers take turns, after one that is not counted. Processor seconds are those of
all threads and processes. `read_counts` returns sparse counts by row that are checked,
with names; pandas and polars return full tables, `mmread` a matrix by place, which
`tocsr` turns into one by row. *Ratio* is that of processor seconds and of seconds to
the reader in the next line, with the largest that was aimed at. Memory is the most that
a fresh process and those it starts take beyond what they had after a small file, with
pages that they share counted once; the counts alone take {counts}.

mtx and 10x: {cells} cells × {genes} genes; csv and parquet: {rows} rows × {columns}
columns; xlsx: {sheet_rows} × {sheet_columns}.
"""


def readers(file: str) -> dict[str, dict[str, Callable[[], Any]]]:
    """For each format the readers of a file; the one to compare with comes second."""
    get = importlib.import_module

    def ours() -> Any:
        return get("threecpo").read_counts(file)

    def market(*, by_row: bool) -> Any:
        found = get("scipy.io").mmread(file)
        return found.tocsr() if by_row else found

    def excel(engine: str) -> Any:
        return get("pandas").read_excel(file, index_col=0, engine=engine)

    return {
        "mtx": {
            OURS: ours,
            "scipy mmread, tocsr": lambda: market(by_row=True),
            "scipy mmread": lambda: market(by_row=False),
        },
        "10x-h5": {OURS: ours, "scanpy": lambda: get("scanpy").read_10x_h5(file)},
        "csv": {
            OURS: ours,
            "pandas": lambda: get("pandas").read_csv(file, index_col=0),
            "polars": lambda: get("polars").read_csv(file),
        },
        "parquet": {
            OURS: ours,
            "pandas": lambda: get("pandas").read_parquet(file),
            "polars": lambda: get("polars").read_parquet(file),
        },
        "xlsx": {
            OURS: ours,
            "pandas, calamine": lambda: excel("calamine"),
            "pandas, openpyxl": lambda: excel("openpyxl"),
            "polars, openpyxl": lambda: get("polars").read_excel(
                file, engine="openpyxl"
            ),
        },
    }


def _usage() -> Any:
    """Memory and processor time of this process and of those that it started."""
    sys.path.append(str(HERE.parent))
    return importlib.import_module("fuzz.usage").current(os.getpid())


def _seconds() -> float:
    """Processor seconds; those of other processes are known by the hundredth."""
    own = os.times()
    return _usage().seconds - own.user - own.system + time.process_time()


def timed(chosen: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Medians of processor seconds and seconds of each reader, in turn."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in chosen}
    for turn in range(rounds + 1):
        for name, read in chosen.items():
            began, worked = time.perf_counter(), _seconds()
            read()
            took = (_seconds() - worked, time.perf_counter() - began)
            if turn:
                found[name].append(took)
    return {name: np.median(times, axis=0).tolist() for name, times in found.items()}


def most_memory(kind: str, name: str, file: Path, small: Path) -> float:
    """Megabytes that reading takes in a process of its own."""
    command = [sys.executable, __file__, "--measure", kind, name, str(file), str(small)]
    # Limits of the libraries' own pools, whose memory is not given back.
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)) / 1e6


def measure(kind: str, name: str, file: str, small: str) -> int:
    """Most bytes beyond those after a small file, looked at again and again."""
    readers(small)[kind][name]()
    before, most, ended = _held(os.getpid()), 0, threading.Event()

    def look() -> None:
        nonlocal most
        while not ended.wait(0.002):
            most = max(most, _held(os.getpid()))

    watching = threading.Thread(target=look)
    watching.start()
    held = readers(file)[kind][name]()
    most = max(most, _held(os.getpid()))
    ended.set()
    watching.join()
    del held
    return most - before


def _held(process: int) -> int:
    """Bytes of a process and those it started; what they share is divided by them."""
    with suppress(OSError, ValueError, IndexError):
        folder = Path(f"/proc/{process}")
        text = (folder / "smaps_rollup").read_text()
        own = 1024 * int(text.partition("\nPss:")[2].split()[0])
        started = (folder / "task" / str(process) / "children").read_text().split()
        return own + sum(_held(int(child)) for child in started)
    return 0


def _lines(
    kind: str, file: Path, small: Path, rounds: int
) -> tuple[list[list[object]], float]:
    chosen = readers(str(file))[kind]
    times = timed(chosen, rounds)
    usual = list(chosen)[1]
    lines: list[list[object]] = []
    for name, (worked, took) in times.items():
        ratios = ""
        if name == OURS:
            parts = [
                mine / theirs
                for mine, theirs in zip(times[OURS], times[usual], strict=True)
            ]
            ratios = f"{parts[0]:.2f}, {parts[1]:.2f} (≤ {LIMITS[kind]:g})"
        memory = most_memory(kind, name, file, small)
        lines.append(
            [kind, name, f"{worked:.3f}", f"{took:.3f}", ratios, f"{memory:.0f}"]
        )
    counts = chosen[OURS]().counts
    stored = sum(part.nbytes for part in (counts.data, counts.indices, counts.indptr))
    return lines, stored / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--formats", default=",".join(LIMITS))
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.measure:
        print(measure(*given.measure))
        return 0
    lines: list[list[object]] = []
    sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        say("writing files")
        files = write_all(Path(folder))
        small = _small_files(Path(folder, "small"))
        for kind in given.formats.split(","):
            say(kind)
            rounds = 3 if kind == "xlsx" else given.rounds
            found, sizes[kind] = _lines(kind, files[kind], small[kind], rounds)
            lines += found
    report = Report(given.output)
    counts = ", ".join(f"{size:.0f} MB ({kind})" for kind, size in sizes.items())
    sheet = {"sheet_rows": SHEET_ROWS, "sheet_columns": SHEET_COLUMNS}
    sheet |= {"rows": ROWS, "columns": COLUMNS, "cells": CELLS, "genes": GENES}
    report.add(TEXT.format(rounds=given.rounds, counts=counts, **sheet).rstrip())
    header = ["format", "reader", "processor s", "s", "ratio", "memory, MB"]
    report.add_table(header, lines)
    report.write()
    return 0


def _small_files(folder: Path) -> dict[str, Path]:
    """The same formats, so that everything is loaded before memory is measured."""
    import _reading_files as made

    folder.mkdir()
    made.CELLS = made.GENES = made.ROWS = made.SHEET_ROWS = 20
    made.COLUMNS, made.SHEET_COLUMNS, made.STORED = 5, 5, 50
    return made.write_all(folder)


if __name__ == "__main__":
    raise SystemExit(main())
