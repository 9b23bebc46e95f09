"""Zeros per column in each group: 3CPO does not just leave out rare columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .files import axes, markdown_table
from .measures import zeros as zeros_of_columns
from .tables import best_execution, best_of, threecpo

if TYPE_CHECKING:
    from .study import Study

DATA_SETS = ("BBCSports", "BBCNews")
BINS = 25
GROUPS = ("all", "C1", "C0", "C-")
COLOURS = ("tab:purple", "tab:red", "tab:blue", "tab:gray")
COLUMNS = ("data_set", "group", "zeros_from", "zeros_to", "columns")


def zeros(study: Study) -> None:
    """Zeros per column in each group: 3CPO does not just leave out rare columns."""
    found = {
        data.name: best_execution(study, zeros_of_columns, data, threecpo(), bins=BINS)
        for data in study.data(DATA_SETS)
    }
    figure, grid = axes(
        len(found), len(GROUPS), figsize=(9, 2.2 * len(found)), sharex=True
    )
    rows, medians = [], []
    for line, (name, values) in zip(grid, found.items(), strict=True):
        edges = values["edges"]
        for ax, group, colour in zip(line, GROUPS, COLOURS, strict=True):
            counts = values["histograms"][group]
            ax.bar(edges[:-1], counts, width=1 / BINS, align="edge", color=colour)
            ax.set_title(f"{name}, {group}: {sum(counts)} columns", fontsize=8)
            rows += [
                dict(zip(COLUMNS, (name, group, *place), strict=True))
                for place in zip(edges[:-1], edges[1:], counts, strict=True)
            ]
        line[0].set_ylabel("columns")
        shares = [values["medians"][group] for group in GROUPS[1:]]
        medians.append([name, *("" if s is None else f"{s:.2f}" for s in shares)])
    for ax in grid[-1]:
        ax.set_xlabel("share of zeros")
    study.write_csv(COLUMNS, rows)
    study.write_page(
        "Zeros per column",
        f"{best_of(study)} If 3CPO only left out rare columns, those of C1 would have "
        "fewer zeros than the others. Median share of zeros:",
        markdown_table(["data set", *GROUPS[1:]], medians),
        study.write_figure(figure),
    )
