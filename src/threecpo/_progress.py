"""Progress bars and lines."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from html import escape
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from ._fit.plan import Progress, Step

# Seconds after which a line says that work goes on.
SILENCE = 30.0
# Seconds between two pictures of a bar in a notebook.
PICTURE = 0.2


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

    In a notebook it is below the cell. Where stderr is not a terminal, or without rich,
    there is a line for each K, unless ``quiet``, and one after every half minute.
    """

    def __init__(
        self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._quiet, self._clock = quiet, clock
        self._one_by_one = Lock()
        self._total, self._done, self._text, self._seen = 0, 0, "", 0.0
        # What shows it on a terminal, or below the cell of a notebook.
        self._bar: Any = None
        self._handle: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._handle is not None:
            self._handle.update(self)

    def start(self, n_runs: int) -> None:
        """Show a bar of so many runs, in place of that of an earlier fit."""
        self.__exit__()
        self._total, self._done, self._text, self._seen = n_runs, 0, "", self._clock()
        if in_notebook():
            from IPython.display import display

            self._handle = display(self, display_id=True)
        elif sys.stderr.isatty():
            self._bar = _started_bar(n_runs)

    def step(self, step: Step) -> None:
        """Move on when a run has ended."""
        detail = f", iteration {step.iteration}, loss {step.line['loss']:.6g}"
        with self._one_by_one:
            self.advance(int(step.finished), f"K = {step.n_clusters}", detail)

    def advance(self, steps: int, text: str, detail: str = "") -> None:
        """Move on by some runs; say what comes next, and perhaps more about it."""
        self._done, passed = self._done + steps, self._clock() - self._seen
        if self._bar is not None:
            task, text = self._bar.task_ids[0], text + detail
            self._bar.update(task, advance=steps, text=text)
        elif self._handle is not None:
            self._text = text + detail
            if self._done >= self._total or passed >= PICTURE:
                self._seen = self._clock()
                self._handle.update(self)
        else:
            is_new = steps > 0 and text != self._text and not self._quiet
            if is_new or passed >= SILENCE:
                self._text, self._seen = text, self._clock()
                line = f"{self!r}{'' if is_new else detail}"
                print(line, file=sys.stderr)  # noqa: T201

    def _repr_html_(self) -> str:
        return (
            f'<label>Runs <progress value="{self._done}" max="{self._total}">'
            f"</progress> {self._done}/{self._total} {escape(self._text)}</label>"
        )

    def __repr__(self) -> str:
        return f"Runs: {self._done}/{self._total} {self._text}"


def heard_by(given: Progress | None, verbose: int) -> AbstractContextManager[Any]:
    """Who listens to a fit: what was given, else a bar if people want to see one."""
    return RunBar() if verbose and given is None else nullcontext(given)


def _started_bar(n_runs: int) -> Any:
    """A bar of rich; None without it."""
    try:
        from rich import progress as parts
        from rich.console import Console
    except ImportError:
        return None
    bar = parts.Progress(
        parts.TextColumn("{task.description}"),
        parts.BarColumn(),
        parts.MofNCompleteColumn(),
        parts.TextColumn("{task.fields[text]}"),
        parts.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task("Runs", total=n_runs, text="")
    bar.start()
    return bar


def in_notebook() -> bool:
    """Whether what is displayed is seen on the page of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
