"""ARI of all methods with more and more noise columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._noise import run_noise

if TYPE_CHECKING:
    from ._study import Study

PAPER = "The paper: 3CPO stays at 100 for any number of noise columns."
POINTS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50)


def run(study: Study) -> None:
    points = {count: {"noise_columns": count} for count in POINTS}
    run_noise(study, "More noise columns", "noise columns in [0, 15]", points, PAPER)
