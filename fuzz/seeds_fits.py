"""Small model files and checkpoint folders, to be mutated."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any

from threecpo import ThreeCPO

from .doors import blocks_of_rows, resume
from .seeds import made, table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .target import Tree


class _StopError(Exception):
    """Ends a fit between two passes."""


def models() -> list[Tree]:
    """Models with and without names, outliers and labels to start from."""
    given = table(12, 5)
    ways: tuple[dict[str, Any], ...] = (
        {"X": given},
        {"X": given.X, "outliers": "iterative", "column_penalty": None},
        {"X": given.X, "init": [0, 1] * 6, "prior": 0.5},
    )
    return [_model(**way) for way in ways]


def _model(X: Any, **options: Any) -> Tree:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ThreeCPO(2, random_state=0, n_init=2, n_jobs=1, **options).fit(X)
    return made(lambda folder: model.save(folder / "t.npz"))


def checkpoints() -> list[Tree]:
    """Folders of a fit that was stopped early, later, and not at all."""
    return [made(_stopped, n_reads) for n_reads in (4, 6, 10, 10**6)]


def _stopped(folder: Path, n_reads: int) -> None:
    done = iter(range(n_reads))

    def counted(read: Callable[[], Any]) -> Callable[[], Any]:
        def reading() -> Any:
            if next(done, None) is None:
                raise _StopError
            return read()

        return reading

    with contextlib.suppress(_StopError):
        resume(folder / "t", blocks=[counted(read) for read in blocks_of_rows()])
