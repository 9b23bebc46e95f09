"""Seconds of the Poisson and co-clustering methods over the number of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._runtime import run_runtime

if TYPE_CHECKING:
    from ._study import Study

SIZES = (6, 50, 100, 200, 500, 1_000, 2_000)


def run(study: Study) -> None:
    sizes = {m: {"shared_columns": m - 4} for m in SIZES}
    run_runtime(study, "Runtime over columns", "columns m (n = 1000)", sizes)
