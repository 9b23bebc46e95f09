"""How a command is ended from outside: by a signal, or because nobody listens."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Seconds until a request to end that was lost is repeated.
AGAIN = 0.2
# The exit code of what was asked to end.
ENDED = 128 + signal.SIGTERM


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let a polite request to end (SIGTERM) clean up as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = threading.Event()

    def end(_number: int, _frame: object) -> None:
        asked.set()
        _end()

    before = {number: signal.signal(number, end) for number in _signals()}
    shown, sys.unraisablehook = sys.unraisablehook, _show_others
    try:
        yield
    except Exception:
        if asked.is_set():  # a compiler or an extension has made another error of it
            raise SystemExit(ENDED) from None
        raise
    finally:
        sys.unraisablehook = shown
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _signals() -> list[signal.Signals]:
    again = [signal.SIGALRM] if hasattr(signal, "SIGALRM") else []
    return [signal.SIGTERM, *again]


def _end() -> None:
    """Raise, and raise again: callbacks of a compiler lose what is raised in them."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
    # Cleaning up after the first time is not to be disturbed.
    if not isinstance(sys.exc_info()[1], SystemExit):
        raise SystemExit(ENDED)


def _show_others(lost: sys.UnraisableHookArgs) -> None:
    """Say nothing of a request to end that was lost: it is repeated."""
    if not isinstance(lost.exc_value, SystemExit):
        sys.__unraisablehook__(lost)


def write_to_nowhere() -> None:
    """Let what is still to be printed go nowhere, without a word at the end."""
    with suppress(OSError, ValueError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)
