"""Where the paper's protocol would take too long, and what is run instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ._data import Data

# Methods that make the counts dense, and how many entries are too many for them.
DENSE = ("STD+KM",)
LARGE = 10**8
LARGE_PATH = 10**7
# Stored counts from which paths over 29 numbers of clusters have fewer runs.
MANY_COUNTS = 5 * 10**6
FEW_RUNS = 3


class Protocol(NamedTuple):
    """Executions, and restarts within each."""

    executions: int
    restarts: int

    def __str__(self) -> str:
        plural = "" if self.executions == 1 else "s"
        return f"{self.executions} execution{plural} of the best of {self.restarts}"


def protocol(method: str, data: Data, executions: int, restarts: int) -> Protocol:
    """Return what is run of a method; less than asked for where that takes too long."""
    n_rows, n_columns = data.X.shape
    if method in DENSE and n_rows * n_columns > LARGE:
        return Protocol(1, 1)
    return Protocol(executions, restarts)


def runs_of_path(method: str, data: Data, runs: int) -> int:
    """Return the runs for each K of a path; fewer where that takes too long."""
    n_rows, n_columns = data.X.shape
    if method in DENSE and n_rows * n_columns > LARGE_PATH:
        return 1
    return runs if data.X.nnz < MANY_COUNTS else min(runs, FEW_RUNS)
