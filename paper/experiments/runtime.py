"""Figures of runtime, over rows and over columns."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from .cells import Cell
from .data import synth
from .files import axes, markdown_table
from .measures import processor_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .study import Study

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
ROWS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
N_COLUMNS = (6, 50, 100, 200, 500, 1_000, 2_000)


def runtime_rows(study: Study) -> None:
    """Seconds of the Poisson and co-clustering methods over the number of rows."""
    sizes = {n: {"n_rows": n} for n in ROWS}
    _runtime(study, "Runtime over rows", "rows n (m = 6)", sizes)


def runtime_columns(study: Study) -> None:
    """Seconds of the Poisson and co-clustering methods over the number of columns."""
    sizes = {m: {"shared_columns": m - 4} for m in N_COLUMNS}
    _runtime(study, "Runtime over columns", "columns m (n = 1000)", sizes)


def _runtime(
    study: Study, title: str, label: str, sizes: Mapping[int, Mapping[str, Any]]
) -> None:
    """Time every method on every size, in random order, so that curves compare."""
    data = {size: synth(**options) for size, options in sizes.items()}
    factories = study.methods(METHODS)
    repeats = min(REPEATS, study.options.executions)
    cells = {
        (size, name): [
            Cell(
                processor_seconds,
                data[size],
                factories[name](3, random_state=0, n_init=study.options.restarts),
                {"repeat": repeat},
                title=f"{name}, {label} {size}",
            )
            for repeat in range(repeats)
        ]
        for size in sizes
        for name in factories
    }
    found = {
        place: [value["seconds"] for value in values]
        for place, values in study.measure(cells, jobs=1).items()
    }
    study.write_csv(
        COLUMNS,
        (
            dict(
                zip(
                    COLUMNS,
                    (*place, median(times), min(times), max(times), len(times)),
                    strict=True,
                )
            )
            for place, times in found.items()
        ),
    )
    figure, grid = axes(1, 1, figsize=(7, 4))
    ax = grid[0, 0]
    for number, name in enumerate(factories):
        done = [size for size in sizes if (size, name) in found]
        times = [median(found[size, name]) for size in done]
        width = 2.2 if name == "3CPO" else 1.2
        colour = "black" if name == "3CPO" else f"C{number}"
        ax.plot(done, times, ".-", label=name, color=colour, linewidth=width)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(label)
    ax.set_ylabel("processor seconds")
    ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    n_times = max(map(len, found.values()))
    shown = {place: f"{median(times):.3g}" for place, times in found.items()}
    rows = [[name, *(shown.get((s, name), "") for s in sizes)] for name in factories]
    study.write_page(
        title,
        f"Processor seconds of {study.options.restarts} runs (TauCC: one run) on one "
        f"thread, median of {n_times}, all fits in random order. Compare curves rather "
        "than seconds; a busy machine slows all of them.",
        study.write_figure(figure),
        markdown_table([label, *map(str, sizes)], rows),
    )
