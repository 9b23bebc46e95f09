"""Where the paper's protocol would take too long, and what is run instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ._data import Data

# Methods that make the counts dense, and how many entries are too many for them.
DENSE = ("STD+KM",)
LARGE = 10**8
LARGE_PATH = 10**7
# Stored counts from which paths have fewer runs, and those of k-means fewer K.
MANY_COUNTS = 5 * 10**6
FEW_RUNS = 3
FEW_K = (*range(2, 11), 15, 20, 25, 30)
# Methods whose runs take many iterations, and how many rows are too many for them.
SLOW = ("RF+KM",)
MANY_ROWS = 10**4


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


class PathProtocol(NamedTuple):
    """Numbers of clusters, and runs for each."""

    n_clusters: tuple[int, ...]
    runs: int


def path_protocol(
    method: str, data: Data, n_clusters: tuple[int, ...], runs: int
) -> PathProtocol:
    """Return what is run of a path; less than asked for where that takes too long."""
    n_rows, n_columns = data.X.shape
    many = data.X.nnz >= MANY_COUNTS
    if method == "3CPO":
        return PathProtocol(n_clusters, min(runs, FEW_RUNS) if many else runs)
    if many:
        return PathProtocol(tuple(k for k in n_clusters if k in FEW_K), 1)
    if method in DENSE and n_rows * n_columns > LARGE_PATH:
        runs = 1
    if method in SLOW and n_rows > MANY_ROWS:
        runs = min(runs, FEW_RUNS)
    return PathProtocol(n_clusters, runs)
