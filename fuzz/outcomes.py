"""What can become of an input."""

from __future__ import annotations

from typing import NamedTuple

READ = "read"
OWN_ERROR = "own error"
FOREIGN = "foreign"
CRASH = "crash"
HANG = "hang"
MEMORY = "memory"
KINDS = (READ, OWN_ERROR, FOREIGN, CRASH, HANG, MEMORY)
FAILURES = (FOREIGN, CRASH, HANG, MEMORY)


class Outcome(NamedTuple):
    """What became of the input of some number."""

    target: str
    number: int
    kind: str
    detail: str = ""
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether no input may end like this."""
        return self.kind in FAILURES

    @property
    def group(self) -> tuple[str, str, str]:
        """What failures with the same cause share: all but the words of the error."""
        start, bracket, places = self.detail.rpartition(" [")
        words = start.partition(":")[0] if self.kind in (FOREIGN, CRASH) else ""
        return self.target, self.kind, f"{words} {places if bracket else ''}"


class Limits(NamedTuple):
    """What an input may take.

    Seconds are those of processors, so that a busy machine is no fault of an input's;
    a process that waits has six times as many. Memory is how much the resident memory
    of the process and of its children grows while it has the input; address space that
    is asked for but never touched does not count.
    """

    seconds: float = 10.0
    waiting: float = 6.0
    megabytes: int = 1024
    # Imports and compilation.
    warm_up_seconds: float = 600.0
