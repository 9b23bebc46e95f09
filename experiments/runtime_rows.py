"""Seconds of the Poisson and co-clustering methods over the number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._runtime import run_runtime

if TYPE_CHECKING:
    from ._study import Study

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)


def run(study: Study) -> None:
    sizes = {n: {"n_rows": n} for n in SIZES}
    run_runtime(study, "Runtime over rows", "rows n (m = 6)", sizes)
