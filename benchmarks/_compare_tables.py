"""Tables of docs/background/benchmarks.md, made from measured cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from _common import table
from _compare_sets import CLASSES, KINDS
from _compare_tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Cell = dict[str, Any]

OURS = "3cpo"
SEEDS = 3
LEVEL = 5.0  # points of the adjusted Rand index, times 100
# Best pipeline of sc_mixology (Tian et al., 2019) chosen by the labels, median
# pipeline, and its median number of clusters, from the authors' result files.
MIXTURES = {
    "mix_celseq2_3cl": ("3 cell lines, CEL-seq2", "1.00", "0.96", "3"),
    "mix_dropseq_3cl": ("3 cell lines, Drop-seq", "0.96", "0.89", "4"),
    "mix_celseq2_5cl": ("5 cell lines, CEL-seq2", "0.95–0.98", "0.76–0.89", "5–6"),
}
# Sets whose costs are shown, and their rows and columns.
SIZES = {
    "bbcnews": "2 225 × 2 000",
    "reuters": "8 367 × 2 000",
    "newsgroups20": "18 846 × 2 000",
    "zheng_mudan9": "2 140 × 8 863",
    "baron_h1": "1 937 × 16 016",
    "pbmc_kang": "13 999 × 14 044",
}
OTHERS = (
    ("leiden", "own"),
    ("bm25-skm", "known"),
    ("tfidf-k-means", "known"),
    ("nmf", "known"),
    ("lda", "known"),
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


def scores(cells: Cells, k: str) -> str:
    """ARI times 100 of sets by tools, the best in bold; for an own K, its mean."""
    tools, rows = chosen_tools(k), []

    def text(found: list[Cell]) -> str:
        score = str(round(100 * mean(cell["ari"] for cell in found)))
        if k == "known":
            return score
        return f"{score} ({mean(cell['clusters'] for cell in found):.0f})"

    for kind, sets in KINDS.items():
        for data in sorted(sets):
            values = {tool: cells.mean(tool, data, k) for tool in tools}
            best = max((v for v in values.values() if v is not None), default=None)
            row = [labelled(data)]
            for tool in tools:
                shown = cells.shown(tool, data, k, text)
                near = best is not None and values[tool] is not None
                bold = near and round(100 * values[tool]) == round(100 * best)
                row.append(f"**{shown}**" if bold else shown)
            rows.append(row)
        rows.append([f"*mean of {kind}*", *means(cells, tools, sets, k)])
    return table(["data (classes)", *titles(tools)], rows)


def means(
    cells: Cells, tools: Iterable[str], sets: Iterable[str], k: str, mark: str = "*"
) -> list[str]:
    """Mean over sets of each tool that has a figure for all of them."""
    out = []
    for tool in tools:
        values = [cells.mean(tool, data, k) for data in sets]
        known = [value for value in values if value is not None]
        whole = len(known) == len(values)
        out.append(f"{mark}{100 * mean(known):.0f}{mark}" if whole else "")
    return out


def summary(cells: Cells, k: str) -> str:
    """Mean ARI times 100 of each tool by kind of data, and over all sets."""
    tools = chosen_tools(k)
    rows = [
        [f"{kind} ({len(sets)})", *means(cells, tools, sets, k, "")]
        for kind, sets in KINDS.items()
    ]
    rows.append([f"all ({len(CLASSES)})", *means(cells, tools, CLASSES, k, "")])
    return table(["data (sets)", *titles(tools)], rows)


def outcomes(cells: Cells, k: str) -> str:
    """How often 3CPO is better, level and worse than each, and than the best of all."""
    tools = [tool for tool in chosen_tools(k) if tool != OURS]
    rivals: dict[str, list[str]] = {TOOLS[tool].title: [tool] for tool in tools}
    rivals["best of them, chosen by the labels"] = tools
    rows = []
    for title, names in rivals.items():
        found = {
            kind: differences(cells, names, sets, k) for kind, sets in KINDS.items()
        }
        every = [value for values in found.values() for value in values]
        better = sum(value > LEVEL for value in every)
        worse = sum(value < -LEVEL for value in every)
        by_kind = ", ".join(
            f"{sum(value > LEVEL for value in values)}:"
            f"{sum(value < -LEVEL for value in values)}"
            for values in found.values()
        )
        gain = f"{mean(every):+.0f}" if every else ""
        rows.append([title, better, len(every) - better - worse, worse, gain, by_kind])
    kinds = ", ".join(KINDS)
    header = ["3CPO against", "wins", "ties", "losses", "mean", f"wins:losses, {kinds}"]
    return table(header, rows)


def differences(
    cells: Cells, names: list[str], sets: Iterable[str], k: str
) -> list[float]:
    """Points by which 3CPO is better than the best of some tools, for each set."""
    found = []
    for data in sets:
        ours = cells.mean(OURS, data, k)
        values = [cells.mean(tool, data, k) for tool in names]
        theirs = max((v for v in values if v is not None), default=None)
        if ours is not None and theirs is not None:
            found.append(100 * (ours - theirs))
    return found


def mixology(cells: Cells) -> str:
    """Mixtures of cell lines beside the pipelines of their authors."""
    rows = []
    for data, (title, best, middle, found) in MIXTURES.items():
        ours = [cells.mean(OURS, data, k) for k in ("known", "own")]
        shown = ["–" if value is None else f"{value:.2f}" for value in ours]
        chosen = cells.mean(OURS, data, "own", "clusters")
        clusters = "–" if chosen is None else f"{chosen:.0f}"
        name = f"{title} ({CLASSES[data]})"
        rows.append([name, *shown, clusters, best, middle, found])
    header = ["mixture (classes)", "3CPO, K known", "3CPO, own K", "its K"]
    return table([*header, "best pipeline", "median", "its K"], rows)


def versions(cells: Cells) -> str:
    rows = []
    for name, tool in TOOLS.items():
        found = {cell["versions"] for cell in cells.cells if cell["tool"] == name}
        # Development versions of ours are many; the last one measured stands for them.
        shown = max(found, default="")
        rows.append([tool.title, tool.about, tool.own_choice or "–", shown])
    return table(["tool", "pipeline", "own choice of K", "versions"], rows)


def costs(cells: Cells, field: str, unit: float, digits: int) -> str:
    """Median cost of tools for some sets, K known."""
    rows = []
    for data, shape in SIZES.items():
        row = [f"{data}, {shape}"]
        for tool, k in ((OURS, "known"), *OTHERS):
            found = [cell[field] for cell in cells.of(tool, data, k) if field in cell]
            value = median(found) / unit if found else None
            small = value is not None and value < 9.95
            row.append("–" if value is None else f"{value:.{digits * small}f}")
        rows.append(row)
    others = titles(tool for tool, _ in OTHERS)
    return table(["data, rows × columns", "3CPO", *others], rows)


TABLES: dict[str, Callable[[Cells], str]] = {
    "means-known": lambda cells: summary(cells, "known"),
    "means-own": lambda cells: summary(cells, "own"),
    "outcomes-known": lambda cells: outcomes(cells, "known"),
    "outcomes-own": lambda cells: outcomes(cells, "own"),
    "ari-known": lambda cells: scores(cells, "known"),
    "ari-own": lambda cells: scores(cells, "own"),
    "mixology": mixology,
    "seconds": lambda cells: costs(cells, "cpu", 1, 1),
    "memory": lambda cells: costs(cells, "peak_mb", 1024, 1),
    "versions": versions,
}


def with_tables(page: str, cells: list[Cell]) -> str:
    """Return a page with each marked table made afresh."""
    all_cells = Cells(cells)
    return MARKED.sub(
        lambda found: f"{found[1]}\n{TABLES[found[2]](all_cells)}\n\n{found[3]}", page
    )
