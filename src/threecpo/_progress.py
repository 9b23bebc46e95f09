"""Bars and lines for people who wait."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._fit.progress import Step

    Advance = Callable[[int, str], None]


class PrintedSteps:
    """Prints a line for every run that ends, or for every iteration."""

    def __init__(self, verbose: int) -> None:
        self._verbose = verbose

    def start(self, n_runs: int) -> None:
        """Say nothing: the first line comes soon."""

    def step(self, step: Step) -> None:
        """Print what an iteration did."""
        if not step.finished and self._verbose < 2:
            return
        line, moved = step.line, step.line["rows_moved"]
        print(  # noqa: T201
            f"Run {step.run + 1}, iteration {step.iteration}: loss {line['loss']:.6f}, "
            f"relevant {line['relevant']}"
            + (f", rows moved {moved}" if moved >= 0 else "")
            + (" (finished)" if step.finished else "")
        )


class RunBar:
    """Shows the runs of one or several fits as a bar; use it in a ``with`` block.

    Where stderr is no terminal, or without rich, there is a line for each K.
    """

    def __init__(self) -> None:
        self._one_by_one = Lock()
        self._bar: Advance | None = None
        self._shown: Iterator[Advance] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shown is not None:
            next(self._shown, None)

    def start(self, n_runs: int) -> None:
        """Show a bar of so many runs."""
        if self._shown is not None:  # a second fit, of which this is the bar
            next(self._shown, None)
        self._shown = _kept_open(n_runs)
        self._bar = next(self._shown)

    def step(self, step: Step) -> None:
        """Move on when a run has ended."""
        if self._bar is None:
            return
        text = f"K = {step.n_clusters}"
        if sys.stderr.isatty():
            text += f", iteration {step.iteration}, loss {step.line['loss']:.6g}"
        elif not step.finished:
            return
        with self._one_by_one:
            self._bar(int(step.finished), text)


def _kept_open(n_runs: int) -> Iterator[Advance]:
    with progress("Runs", n_runs, shown=True) as advance:
        yield advance


@contextmanager
def progress(title: str, total: int, *, shown: bool) -> Iterator[Advance]:
    """Yield a function that moves on by some steps and says what comes next.

    A bar of rich on a terminal; elsewhere, or without rich, one line for each text.
    """
    if not shown:
        yield lambda *_: None
        return
    bar = _bar() if sys.stderr.isatty() else None
    if bar is None:
        yield _lines(title, total)
        return
    with bar:
        task = bar.add_task(title, total=total, text="")
        yield lambda steps, text: bar.update(task, advance=steps, text=text)


def _bar():  # type: ignore[no-untyped-def]
    try:
        from rich import progress as parts
        from rich.console import Console
    except ImportError:
        return None
    return parts.Progress(
        parts.TextColumn("{task.description}"),
        parts.BarColumn(),
        parts.MofNCompleteColumn(),
        parts.TextColumn("{task.fields[text]}"),
        parts.TimeRemainingColumn(),
        console=Console(stderr=True),
    )


def _lines(title: str, total: int) -> Advance:
    done, last = 0, ""

    def advance(steps: int, text: str) -> None:
        nonlocal done, last
        done += steps
        if text != last:
            print(f"{title}: {done}/{total} {text}", file=sys.stderr)  # noqa: T201
            last = text

    return advance
