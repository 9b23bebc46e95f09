"""Workers that share out batches, are watched, and are replaced when they die."""

from __future__ import annotations

import select
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

from .child import Batch, Child, HarnessError
from .outcomes import HANG, Limits, Outcome

Listener = Callable[[Outcome, Path], None]
_TICK = 0.05


class Pool:
    """Runs batches of inputs of a module's targets in child processes."""

    def __init__(self, module: str, seed: int, limits: Limits, n_workers: int) -> None:
        self._module, self._seed, self._limits = module, seed, limits
        self._n_workers = n_workers
        self._left: list[Batch] = []
        self._folders = count()

    def run(self, batches: Iterator[Batch], listen: Listener) -> None:
        """Work on all batches; tell of each input, with the folder that holds it."""
        with ExitStack() as stack:
            root = Path(stack.enter_context(_scratch()))
            children = [self._start(root) for _ in range(self._n_workers)]
            stack.callback(_end_all, children)
            while children:
                ready = [child.output for child in children]
                select.select(ready, [], [], _TICK)
                for i, child in enumerate(children):
                    if not self._attend(child, batches, listen):
                        child.end()
                        children[i] = self._start(root)
                done = [child for child in children if child.idle]
                for child in done:
                    child.end()
                    children.remove(child)

    def _start(self, root: Path) -> Child:
        return Child(self._module, root / str(next(self._folders)), self._limits)

    def _attend(self, child: Child, batches: Iterator[Batch], listen: Listener) -> bool:
        """Hear a worker and give it more to do; False if it needs to be replaced."""
        # Before its messages: what it says in between is not lost.
        fault = child.fault()
        for message in child.messages():
            if message["at"] == "end":
                number = message["number"]
                about = (message[key] for key in ("kind", "detail", "seconds"))
                outcome = Outcome(self._target(child), number, *about)
                listen(outcome, child.folder / f"failed-{number}")
                fault = None if fault and fault[0] == HANG else fault
                child.finished = number
        if fault is not None:
            return self._blame(child, *fault, listen)
        if child.idle:
            batch = self._left.pop() if self._left else next(batches, None)
            if batch is not None:
                child.take(batch, self._seed)
        return True

    @staticmethod
    def _target(child: Child) -> str:
        return child.batch.target if child.batch else "no batch"

    def _blame(self, child: Child, kind: str, detail: str, listen: Listener) -> bool:
        """Note which input a worker died of, and keep those behind it."""
        batch, number = child.batch, child.number
        if batch is None or number is None:
            where = self._target(child)
            message = f"{kind} before any input of {where}: {child.errors()[-2000:]}"
            raise HarnessError(message)
        if number != child.finished:
            listen(Outcome(batch.target, number, kind, detail), child.input)
        rest = batch.behind(number)
        if rest.count > 0:
            self._left.append(rest)
        return False


def _end_all(children: list[Child]) -> None:
    for child in children:
        child.end()


def _scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder in memory, where there is one."""
    shared = Path("/dev/shm")
    where = shared if shared.is_dir() else None
    return tempfile.TemporaryDirectory(prefix="threecpo-fuzz-", dir=where)
