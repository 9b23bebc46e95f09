"""Tables of docs/compare, made of measured cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from _common import table
from _compare_tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Cell = dict[str, Any]

OURS = "3cpo"
SEEDS = 3
LEVEL = 5.0  # points of the adjusted Rand index, times 100
KINDS = {
    "texts": ("bbcsports", "bbcnews", "classic3", "webkb", "reuters", "newsgroups20"),
    "genes": ("tcga5", "celllines_li", "pbmc_kang"),
    "tables": ("wholesales", "sporta", "optdigits"),
}
CLASSES = dict(
    zip(
        [name for part in KINDS.values() for name in part],
        (5, 5, 3, 6, 5, 20, 5, 7, 8, 2, 2, 10),
        strict=True,
    )
)
# How many seeds a figure rests on where it is not all of them.
FEWER = {1: "¹", 2: "²", SEEDS: ""}
MARKED = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)


@dataclass(frozen=True)
class Cells:
    cells: list[Cell]

    @cached_property
    def _found(self) -> dict[tuple[str, str, str], list[Cell]]:
        found: dict[tuple[str, str, str], list[Cell]] = {}
        for cell in self.cells:
            key = cell["tool"], cell["data"], cell["k"]
            found.setdefault(key, []).append(cell)
        return found

    def of(self, tool: str, data: str, k: str) -> list[Cell]:
        return self._found.get((tool, data, k), [])

    def mean(self, tool: str, data: str, k: str, field: str = "ari") -> float | None:
        """Mean over seeds, or None where a seed has failed or none was measured."""
        cells = self.of(tool, data, k)
        if not cells or any("failed" in cell for cell in cells):
            return None
        return mean(cell[field] for cell in cells)

    def shown(
        self, tool: str, data: str, k: str, text: Callable[[list[Cell]], str]
    ) -> str:
        """Text of cells, or why there is none."""
        cells = self.of(tool, data, k)
        if k == "own" and not TOOLS[tool].own_choice:
            return ""
        if not cells:
            return "–"
        if any("failed" in cell for cell in cells):
            slow = all("CPU" in cell.get("failed", "CPU") for cell in cells)
            return "too slow" if slow else "failed"
        return text(cells) + FEWER[len(cells)]


def chosen_tools(k: str) -> list[str]:
    return [name for name, tool in TOOLS.items() if k == "known" or tool.own_choice]


def titles(tools: Iterable[str]) -> list[str]:
    return [TOOLS[tool].title for tool in tools]


def labelled(data: str) -> str:
    return f"{data} ({CLASSES[data]})"


def scores(cells: Cells, k: str, field: str) -> str:
    """Scores times 100 of sets by tools, the best in bold; for an own K, its mean."""
    tools, rows = chosen_tools(k), []

    def text(found: list[Cell]) -> str:
        score = str(round(100 * mean(cell[field] for cell in found)))
        if k == "known":
            return score
        return f"{score} ({mean(cell['clusters'] for cell in found):.0f})"

    for kind, sets in KINDS.items():
        for data in sets:
            values = {tool: cells.mean(tool, data, k, field) for tool in tools}
            best = max((v for v in values.values() if v is not None), default=None)
            row = [labelled(data)]
            for tool in tools:
                shown = cells.shown(tool, data, k, text)
                near = best is not None and values[tool] is not None
                bold = near and round(100 * values[tool]) == round(100 * best)
                row.append(f"**{shown}**" if bold else shown)
            rows.append(row)
        rows.append([f"*mean of {kind}*", *(means(cells, tools, sets, k, field))])
    return table(["data (classes)", *titles(tools)], rows)


def means(
    cells: Cells, tools: Iterable[str], sets: Sequence[str], k: str, field: str
) -> list[str]:
    """Mean over sets of each tool that has a figure for all of them."""
    out = []
    for tool in tools:
        values = [cells.mean(tool, data, k, field) for data in sets]
        known = [value for value in values if value is not None]
        whole = len(known) == len(values)
        out.append(f"*{100 * mean(known):.0f}*" if whole else "")
    return out


def outcomes(cells: Cells, k: str) -> str:
    """How often 3CPO is better, level and worse than each, and than the best of all."""
    tools = [tool for tool in chosen_tools(k) if tool != OURS]
    rivals: dict[str, list[str]] = {TOOLS[tool].title: [tool] for tool in tools}
    rivals["the best of them, chosen by the labels"] = tools
    rows = []
    for title, names in rivals.items():
        differences = {}
        for data in CLASSES:
            ours = cells.mean(OURS, data, k)
            values = [cells.mean(tool, data, k) for tool in names]
            theirs = max((v for v in values if v is not None), default=None)
            if ours is not None and theirs is not None:
                differences[data] = 100 * (ours - theirs)
        better = sum(value > LEVEL for value in differences.values())
        worse = sorted(
            (value, data) for data, value in differences.items() if value < -LEVEL
        )
        lost = ", ".join(f"{data} ({round(value)})" for value, data in worse)
        level = len(differences) - better - len(worse)
        rows.append([title, better, level, len(worse), lost])
    header = ["3CPO against", "better", "level", "worse", "worse on (points)"]
    return table(header, rows)


def costs(cells: Cells, k: str, field: str, digits: int) -> str:
    tools = chosen_tools(k)

    def text(found: list[Cell]) -> str:
        value = median(cell[field] for cell in found)
        return f"{value:.{digits if value < 9.95 else 0}f}"

    rows = [
        [data, *(cells.shown(tool, data, k, text) for tool in tools)]
        for data in CLASSES
    ]
    return table(["data", *titles(tools)], rows)


def versions(cells: Cells) -> str:
    rows = []
    for name, tool in TOOLS.items():
        found = {cell["versions"] for cell in cells.cells if cell["tool"] == name}
        rows.append([tool.title, tool.own_choice or "none", "; ".join(sorted(found))])
    return table(["tool", "own choice of K", "versions"], rows)


TABLES: dict[str, Callable[[Cells], str]] = {
    "ari-known": lambda cells: scores(cells, "known", "ari"),
    "ari-own": lambda cells: scores(cells, "own", "ari"),
    "ami-known": lambda cells: scores(cells, "known", "ami"),
    "ami-own": lambda cells: scores(cells, "own", "ami"),
    "outcomes-known": lambda cells: outcomes(cells, "known"),
    "outcomes-own": lambda cells: outcomes(cells, "own"),
    "seconds-known": lambda cells: costs(cells, "known", "cpu", 1),
    "seconds-own": lambda cells: costs(cells, "own", "cpu", 1),
    "memory-known": lambda cells: costs(cells, "known", "peak_mb", 0),
    "memory-own": lambda cells: costs(cells, "own", "peak_mb", 0),
    "versions": versions,
}


def with_tables(page: str, cells: list[Cell]) -> str:
    """Return a page with each marked table made afresh."""
    all_cells = Cells(cells)
    return MARKED.sub(
        lambda found: f"{found[1]}\n{TABLES[found[2]](all_cells)}\n\n{found[3]}", page
    )
