"""What can become of an input; failures counted by cause, the first of each kept."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

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


_EXAMPLES = 5


class Tally:
    """Numbers of outcomes by target, and the failures in a folder."""

    def __init__(self, keep: Path, seed: int) -> None:
        self._keep, self._seed = keep, seed
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._seconds: Counter[str] = Counter()
        self.groups: dict[tuple[str, str, str], list[Outcome]] = defaultdict(list)

    @property
    def total(self) -> int:
        return sum(counter.total() for counter in self.counts.values())

    @property
    def n_failed(self) -> int:
        return sum(map(len, self.groups.values()))

    def add(self, outcome: Outcome, folder: Path) -> None:
        """Count an outcome; copy the input of a failure, which lies in the folder."""
        self.counts[outcome.target][outcome.kind] += 1
        self._seconds[outcome.target] += outcome.seconds  # type: ignore[assignment]
        if not outcome.failed:
            return
        alike = self.groups[outcome.group]
        alike.append(outcome)
        if len(alike) <= _EXAMPLES and folder.is_dir():
            target = self._keep / f"{outcome.target}-{self._seed}-{outcome.number}"
            shutil.copytree(folder, target, dirs_exist_ok=True, symlinks=True)
            (target / "what.txt").write_text(f"{self._line(outcome)}\n")
        shutil.rmtree(folder, ignore_errors=True)

    def _line(self, outcome: Outcome) -> str:
        place = f"{outcome.target}:{outcome.number}"
        return f"{outcome.kind}, --seed {self._seed} --replay {place}: {outcome.detail}"

    def table(self, names: list[str]) -> str:
        """Numbers of every target, one a line, and how many a process does a second."""
        titles = ["inputs", *KINDS, "a second"]
        lines = [f"{'target':<16}" + "".join(f"{title:>11}" for title in titles)]
        rows = [(name, self.counts[name], self._seconds[name]) for name in names]
        seconds = self._seconds.total()
        rows.append(("all", sum(self.counts.values(), Counter()), seconds))
        for name, counter, seconds in rows:
            rate = round(counter.total() / seconds) if seconds else 0
            numbers = [counter.total(), *(counter[kind] for kind in KINDS), rate]
            lines.append(f"{name:<16}" + "".join(f"{n:>11}" for n in numbers))
        return "\n".join(lines)

    def causes(self) -> str:
        """All failures by cause, the most frequent first, each with an example."""
        ordered = sorted(self.groups.values(), key=len, reverse=True)
        return "\n".join(f"{len(alike)} x {self._line(alike[0])}" for alike in ordered)
