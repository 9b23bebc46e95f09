"""Resident memory of a process and of those that it started."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_UNIT = 1 if sys.platform == "darwin" else 1024
MEGABYTE = 1 << 20


def peak() -> int:
    """Return the largest resident memory this process or a child of it ever had."""
    users = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(user).ru_maxrss for user in users) * _UNIT


def current(process: int) -> int:
    """Return the resident memory of a process and its children; 0 if unknown.

    Only Linux tells; elsewhere the process itself looks at its peak afterwards.
    """
    total = 0
    with suppress(OSError, ValueError, IndexError):
        total = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
        listed = Path(f"/proc/{process}/task/{process}/children").read_text()
        total += sum(current(int(child)) for child in listed.split())
    return total
