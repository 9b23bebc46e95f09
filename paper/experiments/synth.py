"""Synth drawn with twenty generator seeds, as the paper's draw is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .cells import Cell
from .comparisons import COCLUSTERING, TRADITIONAL
from .data import synth as draw_synth
from .files import markdown_table
from .measures import scores
from .tables import one_digit, paper_value

if TYPE_CHECKING:
    from .study import Study
    from .tables import Spread

DRAWS = 20
COLUMNS = ("method", "metric", "lowest", "mean", "highest", "paper_value", "inside")
METRICS = ("ARI", "NMI", "ACC")
TRUE_GROUPS = [1, 1, 0, 0, -1, -1]


def synth(study: Study) -> None:
    """Synth drawn with twenty generator seeds, as the paper's draw is not known."""
    draws = [draw_synth(random_state=seed) for seed in range(DRAWS)]
    methods = study.methods(dict.fromkeys([*TRADITIONAL, *COCLUSTERING]))
    cells = {
        name: [
            Cell(
                scores,
                data,
                methods[name](3, random_state=draw, n_init=study.options.restarts),
                title=f"{name} {draw}",
            )
            for draw, data in enumerate(draws)
        ]
        for name in methods
    }
    values = study.measure(cells)
    rows = []
    for name, each in values.items():
        for metric in METRICS:
            found = [value[metric] for value in each]
            low, mean, high = min(found), float(np.mean(found)), max(found)
            paper = _paper(name, metric)
            # The paper prints one digit.
            inside = low - 0.05 <= paper.mean <= high + 0.05 if paper else None
            row = (name, metric, low, mean, high, paper and paper.mean, inside)
            rows.append(dict(zip(COLUMNS, row, strict=True)))
    study.write_csv(COLUMNS, rows)
    parts = [
        (
            f"{DRAWS} draws, one execution each (best of {study.options.restarts} "
            "runs). The paper draws Synth once with a seed that is not known, so its "
            "value should lie between the lowest and the highest of ours; **bold** "
            "where it does not."
        ),
        *(f"## {metric}\n\n{_table(rows, metric)}" for metric in METRICS),
    ]
    if "3CPO" in values:
        right = [value["groups"] == TRUE_GROUPS for value in values["3CPO"]]
        parts.append(
            f"3CPO finds the right group of all six columns in {sum(right)} of "
            f"{len(right)} draws."
        )
    study.write_page("Synth, twenty draws", *parts)


def _paper(name: str, metric: str) -> Spread | None:
    traditional = paper_value("traditional", "Synth", name, metric)
    return traditional or paper_value("co-clustering", "Synth", name, metric)


def _table(rows: list[dict[str, Any]], metric: str) -> str:
    shown = []
    for row in rows:
        if row["metric"] == metric:
            paper = "" if row["paper_value"] is None else one_digit(row["paper_value"])
            paper = f"**{paper}**" if row["inside"] is False else paper
            numbers = [one_digit(row[name]) for name in ("lowest", "mean", "highest")]
            shown.append([row["method"], *numbers, paper])
    return markdown_table(["method", "lowest", "mean", "highest", "paper"], shown)
