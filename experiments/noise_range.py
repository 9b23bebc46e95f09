"""ARI of all methods with one noise column of growing range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._noise import run_noise

if TYPE_CHECKING:
    from ._study import Study

PAPER = (
    "The paper: all traditional methods but KM and RCA+KM do well up to u = 7, CROINFO "
    "up to 18, 3CPO up to about 32."
)
POINTS = (1, 3, 5, 7, 10, 13, 15, 18, 20, 22, 25, 28, 30, 32, 35, 40, 50, 70, 100)


def run(study: Study) -> None:
    points = {u: {"noise_columns": 1, "noise_high": u} for u in POINTS}
    label = "u, one noise column in [0, u]"
    run_noise(study, "A wider noise column", label, points, PAPER)
