"""What keeps the reading process from going on for ever and from taking all memory."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Processor seconds of one call of a library, and more for each byte that it unpacks.
SECONDS = 2.0
SECONDS_PER_BYTE = 2e-8
# No call takes longer than this, not even one that waits for a disk.
LONGEST_WAIT = 600.0
TIMERS = ("SIGPROF", "SIGALRM")


class RefusedError(Exception):
    """The file is not read any further; the message says why."""


@contextmanager
def timed(unpacked: int = 0) -> Iterator[None]:
    """End this process if a call of a library goes on for too long."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    seconds = SECONDS + unpacked * SECONDS_PER_BYTE
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_WAIT + seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def prepare_signals() -> None:
    """Let timers end this process; Ctrl-C is for its caller to hear."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in TIMERS:
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])


def limit_memory(room: int) -> None:
    """Allow so many bytes beyond those in use; no file is written, no core either."""
    try:
        import resource

        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
            used = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        return
    for kind, size in (
        (resource.RLIMIT_AS, used + room),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        allowed = size if hard == resource.RLIM_INFINITY else min(size, hard)
        resource.setrlimit(kind, (allowed, hard))
