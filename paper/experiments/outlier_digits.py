"""Handwritten digits that 3CPO marks as outliers, and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .files import axes, markdown_table
from .measures import outlier_rows
from .tables import best_execution, best_of, threecpo

if TYPE_CHECKING:
    from .study import Study

SIDE = 8
SHOWN = 8
COLUMNS = ("data_set", "class", "inliers", "outliers")


def outlier_digits(study: Study) -> None:
    """Handwritten digits that 3CPO marks as outliers, and others."""
    rows = []
    (data, *_) = study.data(("Optdigits",))
    if data.X.shape[1] != SIDE**2:
        message = (
            f"{data.name} has {data.X.shape[1]} columns; images of {SIDE} x {SIDE} "
            f"have {SIDE**2}."
        )
        raise ValueError(message)
    make = threecpo(outliers="iterative")
    values = best_execution(study, outlier_rows, data, make, shown=SHOWN)
    figure, grid = axes(2, SHOWN, figsize=(8, 2.6))
    for line, (title, members) in zip(grid, values["rows"].items(), strict=True):
        for ax in line:
            ax.axis("off")
        for ax, row in zip(line, members, strict=False):
            image = data.X[[row]].toarray().reshape(SIDE, SIDE)
            ax.imshow(image, cmap="gray_r", vmin=0, interpolation="nearest")
            ax.set_title(
                f"{title[:-1]}: {data.label_name(data.labels[row])}", fontsize=7
            )
    inside, outside = (np.array(values["classes"][t]) for t in ("inliers", "outliers"))
    for label, counts in enumerate(zip(inside.tolist(), outside.tolist(), strict=True)):
        names = (data.name, data.label_name(label), *counts)
        rows.append(dict(zip(COLUMNS, names, strict=True)))
    study.write_csv(COLUMNS, rows)
    n_outliers = int(outside.sum())
    parts = [
        (
            f"{best_of(study)} Outliers, decided in every iteration: {n_outliers} of "
            f"{len(data.labels)} rows. {SHOWN} of each at random:"
        ),
        study.write_figure(figure),
    ]
    if n_outliers:
        most = int(np.argmax(outside))
        share = 100 * outside[most] / n_outliers
        parts.append(
            f"The commonest class among outliers is {data.label_name(most)}, with "
            f"{share:.0f} % of them. The paper: more than half are eights."
        )
    table = [[row["class"], row["inliers"], row["outliers"]] for row in rows]
    parts.append(markdown_table(["class", "inliers", "outliers"], table))
    study.write_page("Outliers among digits", *parts)
