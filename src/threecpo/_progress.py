"""A bar that says what runs, for people who wait."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Advance = Callable[[int, str], None]


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
