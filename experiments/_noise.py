"""What both figures of noise share: every method on Synth with noise columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._comparison_tables import spread
from ._data import synth
from ._measured_cells import Cell
from ._measures import scores
from ._paper import one_digit
from ._result_files import axes, markdown_table
from ._variants import MERGING, merging, threecpo
from .coclustering import METHODS as COCLUSTERING
from .traditional import METHODS as TRADITIONAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._study import Study

RANDOM_COLUMNS = "3CPO, random columns"
# The paper's 3CPO reaches an ARI of 1, which perturbed entries do not allow.
VARIANT: dict[str, Any] = {"constant_columns": 0, "perturbed": 0.0}
PANELS = {
    "traditional": (*TRADITIONAL, RANDOM_COLUMNS, MERGING),
    "co-clustering": ("3CPO", *COCLUSTERING[1:]),
}
COLUMNS = ("point", "method", "ARI", "std", "draws")


def run_noise(
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
