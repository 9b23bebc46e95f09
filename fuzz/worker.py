"""A child process that passes inputs to doors: ``python -m fuzz.worker``.

It takes batches as lines of JSON from standard input, and says on its standard output
which input it is about to begin and what became of it, so that the process that started
it knows which input was to blame if it dies.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import signal
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from threecpo.io import limits

from . import usage
from .outcomes import FOREIGN, MEMORY, OWN_ERROR, READ
from .target import Target, described, write

INPUT = "input"
# Processor seconds for a reader of a file of some kilobytes: those that never return
# cost less time.
LIBRARY_SECONDS = 0.5


class Worker:
    """Uses the targets of one module, with inputs in a folder of its own."""

    def __init__(self, module: str, folder: Path, bound: int) -> None:
        self._targets: dict[str, Target] = import_module(module).registry()
        self._folder, self._bound = folder, bound
        self._input = folder / INPUT
        self._input.mkdir(exist_ok=True)
        self._warm: set[str] = set()
        # What libraries print goes to standard error.
        self._output = os.dup(1)
        os.dup2(2, 1)

    def serve(self) -> None:
        """Work on batches until there are no more."""
        self._say(at="idle")
        for line in sys.stdin:
            batch = json.loads(line)
            target = self._targets[batch["target"]]
            if target.name not in self._warm:
                target.warm_up(self._input)
                self._warm.add(target.name)
            usage.forget_peak()
            before = usage.peak_memory()
            first = batch["first"]
            for number in range(first, first + batch["count"]):
                self._say(at="begin", number=number, time=time.monotonic())
                began = time.monotonic()
                kind, detail = self._try(target, number, batch["seed"], before)
                took = {"detail": detail, "seconds": time.monotonic() - began}
                self._say(at="end", number=number, kind=kind, **took)
                if kind == MEMORY:
                    # The peak stays; the next input needs a new process.
                    return
            self._say(at="idle")

    def _try(
        self, target: Target, number: int, seed: int, before: int
    ) -> tuple[str, str]:
        tree = target.make(number, seed)
        write(tree, self._input)
        kind, detail = outcome(target, self._input)
        grown = usage.peak_memory() - before
        if grown > self._bound:
            kind = MEMORY
            detail = f"{grown // usage.MEGABYTE} MB more than before; {detail}"
        if kind in (FOREIGN, MEMORY):
            failed = self._folder / f"failed-{number}"
            failed.mkdir(exist_ok=True)
            write(tree, failed)
        return kind, detail

    def _say(self, **message: Any) -> None:
        os.write(self._output, json.dumps(message).encode() + b"\n")


def outcome(target: Target, folder: Path) -> tuple[str, str]:
    """Use a door; say whether something was read, and what was raised."""
    try:
        target.use(folder)
    except BaseException as error:  # noqa: BLE001 - this is what is looked for
        own = isinstance(error, Exception) and target.is_own(error, folder)
        return OWN_ERROR if own else FOREIGN, described(error)
    return READ, ""


def main() -> None:
    """Serve the process that started this one."""
    module, folder, bound = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    # Says where a process hangs before it is ended.
    faulthandler.register(signal.SIGUSR1)
    warnings.simplefilter("ignore")
    limits.SECONDS = LIBRARY_SECONDS
    Worker(module, Path(folder), int(bound)).serve()


if __name__ == "__main__":
    main()
