"""Figures of noise: every method on Synth with noise columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .cells import Cell
from .comparisons import COCLUSTERING, TRADITIONAL
from .data import synth
from .files import axes, markdown_table
from .measures import scores
from .tables import MERGING, merging, one_digit, spread, threecpo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .study import Study

RANDOM_COLUMNS = "3CPO, random columns"
# The paper's 3CPO reaches an ARI of 1, which perturbed entries do not allow.
VARIANT: dict[str, Any] = {"constant_columns": 0, "perturbed": 0.0}
PANELS = {
    "traditional": (*TRADITIONAL, RANDOM_COLUMNS, MERGING),
    "co-clustering": ("3CPO", *COCLUSTERING[1:]),
}
COLUMNS = ("point", "method", "ARI", "std", "draws")
PAPER_OF_COUNTS = "The paper: 3CPO stays at 100 for any number of noise columns."
COUNTS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50)
PAPER_OF_RANGES = (
    "The paper: all traditional methods but KM and RCA+KM do well up to u = 7, CROINFO "
    "up to 18, 3CPO up to about 32."
)
RANGES = (1, 3, 5, 7, 10, 13, 15, 18, 20, 22, 25, 28, 30, 32, 35, 40, 50, 70, 100)


def noise_columns(study: Study) -> None:
    """ARI of all methods with more and more noise columns."""
    points = {count: {"noise_columns": count} for count in COUNTS}
    _noise(
        study, "More noise columns", "noise columns in [0, 15]", points, PAPER_OF_COUNTS
    )


def noise_range(study: Study) -> None:
    """ARI of all methods with one noise column of growing range."""
    points = {u: {"noise_columns": 1, "noise_high": u} for u in RANGES}
    label = "u, one noise column in [0, u]"
    _noise(study, "A wider noise column", label, points, PAPER_OF_RANGES)


def _noise(
    study: Study,
    title: str,
    label: str,
    points: Mapping[int, Mapping[str, Any]],
    paper: str,
) -> None:
    """Measure the ARI at every point, the mean over draws of the data; draw it."""
    names = study.chosen(
        dict.fromkeys(name for panel in PANELS.values() for name in panel)
    )
    factories = study.methods(names)
    own = {RANDOM_COLUMNS: threecpo(column_init="random"), MERGING: merging}
    factories |= {name: make for name, make in own.items() if name in names}
    data = {
        (point, draw): synth(draw, **VARIANT, **options)
        for point, options in points.items()
        for draw in study.seeds
    }
    cells = {
        (point, name): [
            Cell(
                scores,
                data[point, draw],
                factories[name](3, random_state=draw, n_init=study.options.restarts),
                title=f"{name}, {label} {point}",
            )
            for draw in study.seeds
        ]
        for point in points
        for name in names
    }
    values = study.measure(cells)
    found = {place: spread(each, "ARI") for place, each in values.items()}
    n_draws = max(map(len, values.values()))
    study.write_csv(
        COLUMNS,
        (
            dict(zip(COLUMNS, (*place, *ari, len(values[place])), strict=True))
            for place, ari in found.items()
        ),
    )
    figure, grid = axes(2, 1, figsize=(7.5, 7), sharex=True)
    for ax, (panel, members) in zip(grid[:, 0], PANELS.items(), strict=True):
        for number, name in enumerate(m for m in members if m in names):
            done = [point for point in points if (point, name) in found]
            means = [found[point, name].mean for point in done]
            first = name.startswith("3CPO")
            style = {"linewidth": 2.2, "zorder": 3} if first else {"linewidth": 1}
            dashed = {RANDOM_COLUMNS: "--", MERGING: ":"}.get(name, "-")
            colour = "black" if first else f"C{number % 10}"
            ax.plot(done, means, dashed, color=colour, label=name, **style)
        ax.set_ylabel(f"ARI, {panel}")
        ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    grid[-1, 0].set_xlabel(label)
    shown = {place: one_digit(ari.mean) for place, ari in found.items()}
    rows = [[name, *(shown.get((p, name), "") for p in points)] for name in names]
    study.write_page(
        title,
        f"Mean ARI of {n_draws} draws of the first four columns of Synth, "
        "without perturbed entries, and noise columns; each fit the best of "
        f"{study.options.restarts} runs. *{RANDOM_COLUMNS}* starts from a random half "
        f"of the columns instead of the most informative half; *{MERGING}* is what "
        "`ThreeCPO` does by default.",
        study.write_figure(figure),
        paper,
        markdown_table([label, *map(str, points)], rows),
    )
