"""Compiles loops that a fit needs late, in a process beside the one that fits.

Both write to numba's cache; who comes second to a loop finds it there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# In this order, those that take long before they are needed.
LATE = (
    "loops.rows:assign_rows",
    "loops.quick:fill_quick",
    "loops.rows:describe_rows",
    "loops.rows:add_ratios",
    "loops.distances:price_pairs",
    "loops.distances:join_cheapest",
    "loops.left_out:score_left_out",
    "layout:lay_out",
)


@contextmanager
def compiled_beside() -> Iterator[None]:
    """Compile in another process while this one works, if there are two cores."""
    if (os.cpu_count() or 1) < 2:
        yield
        return
    nothing = subprocess.DEVNULL
    command = [sys.executable, "-P", "-m", __name__]
    process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def compile_late() -> None:
    """Compile the loops, as long as numba can cache them."""
    for place in LATE:
        module, _, name = place.partition(":")
        loop = getattr(import_module(f"threecpo._core.{module}"), name)
        if loop.dispatcher.stats.cache_path is None:
            return


if __name__ == "__main__":
    compile_late()
