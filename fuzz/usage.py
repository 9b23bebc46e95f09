"""Memory and processor time of a process and of those that it started."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PAGE = os.sysconf("SC_PAGE_SIZE")
_UNIT = 1 if sys.platform == "darwin" else 1024
_TICKS = os.sysconf("SC_CLK_TCK")
MEGABYTE = 1 << 20


def peak_memory() -> int:
    """Return the largest resident memory that this process had, or an ended child."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _UNIT
    with suppress(OSError, ValueError, IndexError):
        # What the system counts for a process itself begins with that of its parent.
        text = Path("/proc/self/status").read_text()
        return max(ended, int(text.partition("VmHWM:")[2].split()[0]) * 1024)
    return max(ended, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT)


def forget_peak() -> None:
    """Begin again from what this process has now, where that is possible."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


class Usage(NamedTuple):
    """Bytes of resident memory, and seconds that processors worked."""

    memory: int = 0
    seconds: float = 0.0


def current(process: int) -> Usage:
    """Return what a process and its children use; nothing where that is not known.

    Only Linux tells; elsewhere the process itself looks at its peak afterwards.
    """
    total = Usage()
    with suppress(OSError, ValueError, IndexError):
        folder = Path(f"/proc/{process}")
        memory = int((folder / "statm").read_text().split()[1]) * _PAGE
        # Behind the name, which may hold anything: own time, and that of ended ones.
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        total = Usage(memory, sum(map(int, fields[11:15])) / _TICKS)
        listed = (folder / "task" / str(process) / "children").read_text()
        for child in listed.split():
            used = current(int(child))
            total = Usage(total.memory + used.memory, total.seconds + used.seconds)
    return total
