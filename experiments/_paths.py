"""Cells of paths over the number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._cuts import path_protocol
from ._measured_cells import Cell
from ._measures import path
from ._variants import threecpo

if TYPE_CHECKING:
    from ._cuts import PathProtocol
    from ._data import Data
    from ._study import Study

N_CLUSTERS = tuple(range(2, 31))
THREECPO = "3CPO"
MDL = ("mdl", "mdl-dispersion")
K_MEANS = ("SKM", "KM", "STD+KM", "MM+KM", "RF+KM", "RCA+KM")
CRITERIA = ("silhouette", "elbow", "bic")


def runs_for_each_k(study: Study) -> int:
    """The paper's paths have twice as many runs as its executions."""
    return 2 * study.options.restarts


def path_cells(study: Study, data: Data, method: str, paths: int = 1) -> list[Cell]:
    """Paths of 3CPO, or of a k-means, with the paper's twenty runs for each K."""
    what = _protocol(study, data, method)
    make = threecpo() if method == THREECPO else study.known(method)
    options = {
        "n_clusters": what.n_clusters,
        "criteria": MDL if method == THREECPO else CRITERIA,
        "runs": what.runs,
    }
    return [
        Cell(path, data, make(2, random_state=seed), options, title=f"{method} over K")
        for seed in range(paths)
    ]


def cut_of(study: Study, data: Data, method: str) -> str:
    """Say what was run for each K where that is less than asked for, and note it."""
    what = _protocol(study, data, method)
    if what == (N_CLUSTERS, runs_for_each_k(study)):
        return ""
    cut = f"best of {what.runs} for each K"
    if what.n_clusters != N_CLUSTERS:
        cut += " of " + ", ".join(map(str, what.n_clusters))
    study.note(f"† {method} on {data.name}: {cut}.")
    return cut


def _protocol(study: Study, data: Data, method: str) -> PathProtocol:
    return path_protocol(method, data, N_CLUSTERS, runs_for_each_k(study))
