"""Progress of a run on stderr: what is finished, and the time that is left."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Self

SECONDS_SHOWN = 90


class ProgressLines:
    """One line for each step; on a terminal each takes the place of the last."""

    def __init__(self, title: str, total: int, *, shown: bool) -> None:
        self._title, self._total, self._shown = title, total, shown
        self._done, self._begin = 0, time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._done and sys.stderr.isatty():
            print(file=sys.stderr)  # noqa: T201

    def one_more(self, step: str) -> None:
        """Count a finished step."""
        self._done += 1
        if not self._shown:
            return
        count = f"{self._done}/{self._total}"
        line = f"{self._title}: {count} {step}, {self._time_left()}"
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            line, end = f"\r\x1b[K{line[:width]}", ""
        else:
            end = "\n"
        print(line, end=end, file=sys.stderr, flush=True)  # noqa: T201

    def _time_left(self) -> str:
        each = (time.monotonic() - self._begin) / self._done
        seconds = each * (self._total - self._done)
        if seconds > SECONDS_SHOWN:
            return f"{seconds / 60:.0f} min left"
        return f"{seconds:.0f} s left"
