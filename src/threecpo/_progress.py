"""Progress bars and lines."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, contextmanager, nullcontext
from html import escape
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from ._fit.plan import Progress, Step

    Clock = Callable[[], float]

# Seconds after which a line says that work goes on.
SILENCE = 30.0
# Seconds between two pictures of a bar in a notebook.
PICTURE = 0.2


class Advance(Protocol):
    """Moves on by some steps; says what comes next, and perhaps more about it."""

    def __call__(self, steps: int, text: str, detail: str = "") -> None: ...


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

    Where stderr is not a terminal, or without rich, there is a line for each K, unless
    ``quiet``, and one after every half minute.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._one_by_one = Lock()
        self._quiet = quiet
        self._bar: Advance | None = None
        self._shown = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._shown.close()

    def start(self, n_runs: int) -> None:
        """Show a bar of so many runs, in place of that of an earlier fit."""
        self._shown.close()
        self._bar = self._shown.enter_context(progress(n_runs, quiet=self._quiet))

    def step(self, step: Step) -> None:
        """Move on when a run has ended."""
        if self._bar is None:
            return
        detail = f", iteration {step.iteration}, loss {step.line['loss']:.6g}"
        with self._one_by_one:
            self._bar(int(step.finished), f"K = {step.n_clusters}", detail)


def heard_by(given: Progress | None, verbose: int) -> AbstractContextManager[Any]:
    """Who listens to a fit: what was given, else a bar if people want to see one."""
    return RunBar() if verbose and given is None else nullcontext(given)


@contextmanager
def progress(
    total: int, *, quiet: bool = False, clock: Clock = time.monotonic
) -> Iterator[Advance]:
    """Yield a function that moves on: a bar, or lines where there is no terminal."""
    if in_notebook():
        with NotebookBar(total, clock) as picture:
            yield picture.advance
        return
    bar = _bar() if sys.stderr.isatty() else None
    if bar is None:
        yield _lines(total, clock, quiet=quiet)
        return
    with bar:
        task = bar.add_task("Runs", total=total, text="")
        yield lambda steps, text, detail="": bar.update(
            task, advance=steps, text=text + detail
        )


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
        transient=True,
    )


def _lines(total: int, clock: Clock, *, quiet: bool) -> Advance:
    done, last, spoken = 0, "", clock()

    def advance(steps: int, text: str, detail: str = "") -> None:
        nonlocal done, last, spoken
        done += steps
        is_new = steps > 0 and text != last and not quiet
        if not is_new and clock() - spoken < SILENCE:
            return
        more = "" if is_new else detail
        print(f"Runs: {done}/{total} {text}{more}", file=sys.stderr)  # noqa: T201
        last, spoken = text, clock()

    return advance


def in_notebook() -> bool:
    """Whether what is displayed is seen on the page of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class NotebookBar:
    """A bar below the cell of a notebook."""

    def __init__(self, total: int, clock: Clock) -> None:
        self._total, self._clock = total, clock
        self._done, self._text, self._seen = 0, "", clock()
        self._handle: Any = None

    def __enter__(self) -> Self:
        from IPython.display import display

        self._handle = display(self, display_id=True)
        return self

    def __exit__(self, *error: object) -> None:
        self._handle.update(self)

    def advance(self, steps: int, text: str, detail: str = "") -> None:
        """Move on; the picture follows a few times a second."""
        self._done += steps
        self._text = text + detail
        ended = self._done >= self._total
        if ended or self._clock() - self._seen >= PICTURE:
            self._seen = self._clock()
            self._handle.update(self)

    def _repr_html_(self) -> str:
        return (
            f'<label>Runs <progress value="{self._done}" max="{self._total}">'
            f"</progress> {self._done}/{self._total} {escape(self._text)}</label>"
        )

    def __repr__(self) -> str:
        return f"Runs: {self._done}/{self._total} {self._text}"
