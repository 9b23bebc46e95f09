"""What can be heard of a fit while it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from .._core.search import Report


class Step(NamedTuple):
    """An iteration of a run: number of clusters asked for, run, and what it did.

    ``line`` is the entry of the run's history; ``finished`` says that it is the last.
    """

    n_clusters: int
    run: int
    iteration: int
    line: dict[str, float]
    finished: bool


class Progress(Protocol):
    """Listens to a fit. Steps come from any of its threads."""

    def start(self, n_runs: int) -> None:
        """Hear how many runs are to come, over all numbers of clusters."""
        ...

    def step(self, step: Step) -> None:
        """Hear of an iteration."""
        ...


def report_to(progress: Progress | None) -> Report | None:
    """Return what a search calls after each iteration."""
    if progress is None:
        return None
    return lambda *step: progress.step(Step(*step))
