"""What a user would pick instead of 3CPO, on every labelled set at hand.

    python benchmarks/compare.py --python PATH

PATH is an interpreter with threecpo, scanpy, igraph and scikit-learn. Every cell (tool,
data set, K of the labels or the tool's own choice, seed) is added to
docs/compare/cells.jsonl as soon as it is measured, and one that stands there is not
measured again, nor are further seeds of one that failed; the tables of
docs/compare/measured.md are then made of that file. --seeds 0 only makes the tables.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _common import HERE, add_data_option, missing_data, say
from _compare_tables import SEEDS, with_tables
from _compare_tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    Cell = dict[str, Any]

# From small to large.
PARTS = (
    ("wholesales", "sporta", "tcga5", "bbcsports", "bbcnews"),
    ("optdigits", "classic3", "webkb", "reuters"),
    ("celllines_li", "newsgroups20", "pbmc_kang"),
)
SETS = tuple(name for part in PARTS for name in part)
CELLS = HERE.parent / "docs" / "compare" / "cells.jsonl"
PAGE = CELLS.with_name("measured.md")
ONE_THREAD = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")},
    # The one of numba's layers that a fork may follow.
    "NUMBA_THREADING_LAYER": "workqueue",
}
K = ("known", "own")
ALL_SEEDS = ("tool", "data", "k")
KEY = (*ALL_SEEDS, "seed")


def read(path: Path) -> list[Cell]:
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def wanted(options: argparse.Namespace) -> Iterator[Cell]:
    """Cells in the order in which they are measured."""
    seeds, tools = range(options.seeds), options.tools
    for seed, part, k, tool in product(seeds, PARTS, options.k, tools):
        for name in part:
            if name in options.sets and (k == "known" or TOOLS[tool].own_choice):
                yield {"tool": tool, "data": name, "k": k, "seed": seed}


def key(cell: Cell, fields: tuple[str, ...] = KEY) -> tuple[Any, ...]:
    return tuple(cell[field] for field in fields)


class Measuring:
    """One process for each family of tools, begun when first needed."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._command = [options.python, str(HERE / "_compare_cells.py")]
        self._command += [str(options.data), str(options.limit)]
        self._processes: dict[str, subprocess.Popen[str]] = {}

    def __call__(self, cell: Cell) -> str:
        """Return the line of a cell; empty where its process has ended."""
        family = TOOLS[cell["tool"]].family
        if family not in self._processes:
            self._processes[family] = subprocess.Popen(
                [*self._command, family],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | ONE_THREAD,
            )
        process = self._processes[family]
        assert process.stdin is not None
        assert process.stdout is not None
        print(json.dumps(cell), file=process.stdin, flush=True)
        return process.stdout.readline()

    def end(self) -> None:
        for process in self._processes.values():
            process.communicate()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_data_option(parser)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--cells", type=Path, default=CELLS)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--k", nargs="+", choices=K, default=list(K))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--limit", type=int, default=600, help="CPU seconds of a cell")
    options = parser.parse_args(arguments)
    message = missing_data(options.data, options.sets)
    if message and options.seeds:
        say(message)
        return 1
    options.cells.parent.mkdir(parents=True, exist_ok=True)
    found = read(options.cells)
    done = {key(cell) for cell in found}
    failed = {key(cell, ALL_SEEDS) for cell in found if "failed" in cell}
    measure = Measuring(options)
    for cell in wanted(options):
        if key(cell) in done or key(cell, ALL_SEEDS) in failed:
            continue
        line = measure(cell)
        say(line.rstrip())
        if "failed" in json.loads(line):
            failed.add(key(cell, ALL_SEEDS))
        with options.cells.open("a", encoding="utf-8") as file:
            file.write(line)
    measure.end()
    text = options.page.read_text(encoding="utf-8")
    made = with_tables(text, read(options.cells))
    options.page.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
