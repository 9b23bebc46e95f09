"""Cells of paths over the number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._cells import Cell
from ._cuts import runs_of_path
from ._measures import path
from ._threecpo import threecpo

if TYPE_CHECKING:
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


def path_cell(study: Study, data: Data, method: str, seed: int = 0) -> Cell:
    """The path of 3CPO, or of a k-means, with the paper's twenty runs for each K."""
    runs = runs_of_path(method, data, runs_for_each_k(study))
    make = threecpo() if method == THREECPO else study.known(method)
    options = {
        "n_clusters": N_CLUSTERS,
        "criteria": MDL if method == THREECPO else CRITERIA,
        "runs": runs,
    }
    estimator = make(2, random_state=seed)
    return Cell(path, data, estimator, options, title=f"{method} over K")


def cut_of(study: Study, data: Data, method: str) -> str:
    """Say what was run for each K where that is less than asked for, and note it."""
    asked = runs_for_each_k(study)
    runs = runs_of_path(method, data, asked)
    if runs == asked:
        return ""
    study.note(f"† {method} on {data.name}: best of {runs} for each K.")
    return f"best of {runs}"
