"""Loss and number of relevant columns after each iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .files import axes
from .measures import history
from .tables import best_execution, best_of, threecpo

if TYPE_CHECKING:
    from .study import Study

DATA_SETS = ("SportA", "Optdigits", "BBCSports")
GROUPS = {"relevant": "tab:red", "shared": "tab:blue", "noise": "tab:gray"}
COLUMNS = ("data_set", "iteration", "loss", "relevant", "shared", "noise", "rows_moved")


def convergence(study: Study) -> None:
    """Loss and number of relevant columns after each iteration."""
    found = {
        data.name: best_execution(study, history, data, threecpo())["history"]
        for data in study.data(DATA_SETS)
    }
    figure, grid = axes(1, len(found), figsize=(3.4 * len(found), 2.8))
    rows, falls = [], []
    for ax, (name, kept) in zip(grid[0], found.items(), strict=True):
        loss = np.array(kept["loss"])
        iteration = np.arange(1, len(loss) + 1)
        ax.plot(iteration, loss, color="tab:blue")
        ax.set_title(name)
        ax.set_xlabel("iteration")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_ylabel("loss", color="tab:blue")
        beside = ax.twinx()
        beside.grid(visible=False)
        beside.plot(iteration, kept["relevant"], color="tab:green")
        beside.set_ylabel("relevant columns", color="tab:green")
        for height, (group, colour) in enumerate(GROUPS.items()):
            moved = np.add(kept[f"into_{group}"], kept[f"out_of_{group}"]) > 0
            at = np.full(np.count_nonzero(moved), 0.02 + 0.045 * height)
            transform = ax.get_xaxis_transform()
            ax.plot(iteration[moved], at, "|", color=colour, transform=transform, ms=5)
        falls.append(bool((np.diff(loss) <= 0).all()))
        series = zip(iteration.tolist(), *(kept[c] for c in COLUMNS[2:]), strict=True)
        rows += [dict(zip(COLUMNS, (name, *values), strict=True)) for values in series]
    study.write_csv(COLUMNS, rows)
    study.write_page(
        "Convergence",
        f"{best_of(study)} "
        "Dashes at the bottom: iterations in which columns entered or left C1 (red), "
        "C0 (blue) and C- (gray). The loss "
        + ("never rises." if all(falls) else "**rises in some iterations**."),
        study.write_figure(figure),
    )
