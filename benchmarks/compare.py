"""ARI of 3CPO and of other tools on labelled count tables.

    python benchmarks/compare.py ../shared/data ../shared/labelled

Needs scanpy and igraph beside threecpo. Every cell (tool, data set, K of the labels or
the tool's own choice, seed) is added to benchmarks/results/compare.jsonl as soon as it
is measured. A cell in that file is not measured again, nor are further seeds of one
that failed; --again TOOL drops the cells of a tool first. The tables of
docs/background are made from that file; --seeds 0 only makes the tables.
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

from _common import HERE, say
from _compare_sets import CLASSES, data_files
from _compare_tables import SEEDS, with_tables
from _compare_tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    Cell = dict[str, Any]

CELLS = HERE / "results" / "compare.jsonl"
FOLDER = HERE.parent / "docs" / "background"
PAGES = [FOLDER / "benchmarks.md", FOLDER / "speed.md"]
PARTS = 3
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


def wanted(options: argparse.Namespace, names: list[str]) -> Iterator[Cell]:
    """Cells in the order in which they are measured: small sets and one seed first."""
    n = -(-len(names) // PARTS)
    parts = [names[start : start + n] for start in range(0, len(names), n)]
    for seed, part, k, tool in product(
        range(options.seeds), parts, options.k, options.tools
    ):
        for name in part:
            if k == "known" or TOOLS[tool].own_choice:
                yield {"tool": tool, "data": name, "k": k, "seed": seed}


def again(cell: Cell, options: argparse.Namespace) -> bool:
    """Whether a cell is to be measured afresh."""
    return (
        cell["tool"] in options.again
        and cell["data"] in options.sets
        and cell["k"] in options.k
    )


def key(cell: Cell, fields: tuple[str, ...] = KEY) -> tuple[Any, ...]:
    return tuple(cell[field] for field in fields)


class Measuring:
    """One process for each family of tools, begun when first needed."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._command = [options.python, str(HERE / "_compare_cells.py")]
        self._command += [str(options.limit)]
        self._folders = list(map(str, options.data))
        self._processes: dict[str, subprocess.Popen[str]] = {}

    def __call__(self, cell: Cell) -> str:
        """Return the line of a cell; empty where its process has ended."""
        family = TOOLS[cell["tool"]].family
        if family not in self._processes:
            self._processes[family] = subprocess.Popen(
                [*self._command, family, *self._folders],
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
    parser.add_argument("data", nargs="+", type=Path, help="folders of .npz files")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--cells", type=Path, default=CELLS)
    parser.add_argument("--page", type=Path, nargs="+", default=PAGES)
    parser.add_argument("--sets", nargs="+", choices=CLASSES, default=list(CLASSES))
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--again", nargs="+", choices=TOOLS, default=[])
    parser.add_argument("--k", nargs="+", choices=K, default=list(K))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--limit", type=int, default=600, help="CPU seconds of a cell")
    options = parser.parse_args(arguments)
    names = [name for name in data_files(options.data) if name in options.sets]
    missing = {*options.sets} - {*names}
    if missing and options.seeds:
        say(f"not in these folders: {', '.join(sorted(missing))}")
        return 1
    options.cells.parent.mkdir(parents=True, exist_ok=True)
    found = read(options.cells)
    if options.again:
        found = [cell for cell in found if not again(cell, options)]
        lines = "".join(f"{json.dumps(cell)}\n" for cell in found)
        options.cells.write_text(lines, encoding="utf-8")
    done = {key(cell) for cell in found}
    failed = {key(cell, ALL_SEEDS) for cell in found if "failed" in cell}
    measure = Measuring(options)
    for cell in wanted(options, names):
        if key(cell) in done or key(cell, ALL_SEEDS) in failed:
            continue
        line = measure(cell)
        say(line.rstrip())
        if "failed" in json.loads(line):
            failed.add(key(cell, ALL_SEEDS))
        with options.cells.open("a", encoding="utf-8") as file:
            file.write(line)
    measure.end()
    for page in options.page:
        made = with_tables(page.read_text(encoding="utf-8"), read(options.cells))
        page.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
