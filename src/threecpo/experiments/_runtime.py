"""What both figures of runtime share."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from ._cells import Cell
from ._data import synth
from ._measures import seconds
from ._write import axes, markdown_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._study import Study

METHODS = (
    "3CPO",
    "PoissonL",
    "PoissonC",
    "CROINFO",
    "CCMod",
    "CCSMod",
    "ELBM",
    "SELBM",
    "TauCC",
)
REPEATS = 3
COLUMNS = ("size", "method", "seconds", "fastest", "slowest", "repeats")


def run_runtime(
    study: Study, title: str, label: str, sizes: Mapping[int, Mapping[str, Any]]
) -> None:
    """Time every method on every size, in random order, so that curves compare."""
    data = {size: synth(**options) for size, options in sizes.items()}
    factories = study.methods(METHODS)
    repeats = min(REPEATS, study.options.executions)
    places = [(s, name, r) for s in sizes for name in factories for r in range(repeats)]
    cells = [
        Cell(
            seconds,
            data[size],
            factories[name](3, random_state=0, n_init=study.options.restarts),
            {"repeat": repeat, "threads": 1},
            title=f"{name}, {label} {size}",
        )
        for size, name, repeat in places
    ]
    values = dict(zip(places, study.measure(cells, jobs=1), strict=True))
    found = {
        (size, name): [values[size, name, r]["seconds"] for r in range(repeats)]
        for size in sizes
        for name in factories
    }
    study.write_csv(
        COLUMNS,
        (
            dict(
                zip(
                    COLUMNS,
                    (*place, median(times), min(times), max(times), repeats),
                    strict=True,
                )
            )
            for place, times in found.items()
        ),
    )
    figure, grid = axes(1, 1, figsize=(7, 4))
    ax = grid[0, 0]
    for number, name in enumerate(factories):
        times = [median(found[size, name]) for size in sizes]
        width = 2.2 if name == "3CPO" else 1.2
        colour = "black" if name == "3CPO" else f"C{number}"
        ax.plot(list(sizes), times, ".-", label=name, color=colour, linewidth=width)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(label)
    ax.set_ylabel("seconds")
    ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    rows = [
        [name, *(f"{median(found[size, name]):.3g}" for size in sizes)]
        for name in factories
    ]
    study.write_page(
        title,
        f"Seconds of {study.options.restarts} runs (TauCC: one run) on one thread, "
        f"median of {repeats}. All fits in random order, one at a time; compare "
        "curves, not seconds: the machine may have been busy.",
        study.write_figure(figure),
        markdown_table([label, *map(str, sizes)], rows),
    )
