"""3CPO as the paper runs it, and variants of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from threecpo import ThreeCPO

from ._measured_cells import Cell

if TYPE_CHECKING:
    from ._data import Data
    from ._measured_cells import Measure, Values
    from ._study import Study

# What ``ThreeCPO`` does by default, in tables and figures.
MERGING = "3CPO, merging"


class Factory(Protocol):
    """Makes an estimator that has ``labels_`` once fitted, as ``methods()`` do."""

    def __call__(
        self, n_clusters: int, random_state: Any = None, n_init: int = 10
    ) -> Any: ...


def threecpo(**options: Any) -> Factory:
    """Return a factory of the paper's 3CPO with some options changed."""
    chosen = {"init": "poisson-k-means++"} | options

    def make(n_clusters: int, random_state: Any = None, n_init: int = 10) -> ThreeCPO:
        return ThreeCPO(n_clusters, random_state=random_state, n_init=n_init, **chosen)

    return make


def merging(n_clusters: int, random_state: object = None, n_init: int = 10) -> ThreeCPO:
    """Make the default of the library, which needs fewer runs than the paper."""
    n_init = min(n_init, ThreeCPO().n_init)
    return ThreeCPO(n_clusters, random_state=random_state, n_init=n_init)


def best_of(study: Study) -> str:
    """Say which execution is shown."""
    return f"The execution of lowest loss, of {study.options.executions}."


def best_execution(
    study: Study, measure: Measure, data: Data, make: Factory, **options: Any
) -> Values:
    """Return what a measure says of the execution of lowest loss."""
    cells = [
        Cell(
            measure,
            data,
            make(data.n_clusters, random_state=seed, n_init=study.options.restarts),
            options,
            title=f"3CPO {seed}",
        )
        for seed in study.seeds
    ]
    (found,) = study.measure({data.name: cells}).values()
    return min(found, key=lambda values: values["loss"])
