"""Child processes that read inputs: one, and several at a time."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import IO, Any

from . import usage
from .outcomes import CRASH, HANG, MEMORY, Limits, Outcome
from .worker import INPUT

_FRAME = re.compile(r'File ".*/threecpo/([^"]+)", line (\d+) in (\w+)')
# Most inputs are done before it is worth a look at what they use.
_SOON = 0.2
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class HarnessError(RuntimeError):
    """A worker cannot do its work, for reasons that are not an input's."""


@dataclass(frozen=True)
class Batch:
    """Inputs of one target, by number."""

    target: str
    first: int
    count: int

    def behind(self, number: int) -> Batch:
        """Return the inputs that come after one."""
        done = number + 1 - self.first
        return replace(self, first=number + 1, count=self.count - done)


class Child:
    """One process, the batch it has and the input it is at."""

    def __init__(self, module: str, folder: Path, limits: Limits) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._limits = folder, limits
        self.batch: Batch | None = None
        self.number: int | None = None
        self.finished: int | None = None
        self.idle = False
        self._since, self._memory = time.monotonic(), 0
        self._seconds: float | None = None
        self._heard = b""
        self._errors: IO[bytes] = (folder / "stderr.txt").open("wb")
        self._process = subprocess.Popen(
            _command(module, folder, limits),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=_environment(folder),
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self.output = self._process.stdout.fileno()
        os.set_blocking(self.output, False)

    @property
    def input(self) -> Path:
        """Folder of the input it is at."""
        return self.folder / INPUT

    def take(self, batch: Batch, seed: int) -> None:
        """Give it inputs to work on."""
        self.batch, self.number, self.idle = batch, None, False
        self._since = time.monotonic()
        message = {**vars(batch), "seed": seed}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def messages(self) -> Iterator[dict[str, Any]]:
        """What it has said since it was last asked."""
        with suppress(BlockingIOError):
            while piece := os.read(self.output, 1 << 16):
                self._heard += piece
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            message = json.loads(line)
            self._note(message)
            yield message

    def _note(self, message: dict[str, Any]) -> None:
        if message["at"] == "begin":
            if self.number is None:
                # Memory that inputs leave behind adds up over a batch.
                self._memory = usage.current(self._process.pid).memory
            self._seconds = None
            self.number, self._since = message["number"], message["time"]
        elif message["at"] == "idle":
            self.idle, self.batch, self.number = True, None, None

    def fault(self) -> tuple[str, str] | None:
        """Why it must be ended, or has ended, at the input it is at; None if well."""
        limits = self._limits
        status = self._process.poll()
        if status is not None:
            if status > 0:
                raise HarnessError(self.errors()[-2000:])
            name = signal.Signals(-status).name if status else "an end"
            return CRASH, f"{name}:{self._where()}"
        if self.idle:
            return None
        waited = time.monotonic() - self._since
        if self.number is None:
            too_long = waited > limits.warm_up_seconds
            return (HANG, "at the valid inputs") if too_long else None
        return None if waited < _SOON else self._excess(waited)

    def _excess(self, waited: float) -> tuple[str, str] | None:
        """What the input uses beyond its limits."""
        limits = self._limits
        used = usage.current(self._process.pid)
        if self._seconds is None:
            self._seconds = used.seconds
        seconds = used.seconds - self._seconds
        if seconds > limits.seconds or waited > limits.waiting * limits.seconds:
            spent = f"{seconds:.0f} s of work in {waited:.0f} s"
            return HANG, f"{spent}:{self._asked_where()}"
        grown = used.memory - self._memory
        if grown > limits.megabytes * usage.MEGABYTE:
            size = grown // usage.MEGABYTE
            return MEMORY, f"{size} MB more than before:{self._asked_where()}"
        return None

    def _asked_where(self) -> str:
        """Have the process say where it is; it may be inside of a library."""
        self._process.send_signal(signal.SIGUSR1)
        time.sleep(0.3)
        return self._where()

    def _where(self) -> str:
        """Last places in threecpo that the process reported before its end."""
        text = self.errors().partition("\nExtension modules:")[0]
        _, _, last = text.rpartition("most recent call first")
        places = [f"{Path(f).name}:{n} {name}" for f, n, name in _FRAME.findall(last)]
        return f" [{' < '.join(places[:3])}]" if places else text.strip()[-200:]

    def errors(self) -> str:
        """What it wrote to standard error."""
        return (self.folder / "stderr.txt").read_text(errors="replace")

    def end(self) -> None:
        """End the process and all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]


def _command(module: str, folder: Path, limits: Limits) -> list[str]:
    bound = str(limits.megabytes * usage.MEGABYTE)
    return [sys.executable, "-m", "fuzz.worker", module, str(folder), bound]


def _environment(folder: Path) -> dict[str, str]:
    """One thread, our modules, and temporary files that vanish with the folder."""
    scratch = folder / "tmp"
    scratch.mkdir(exist_ok=True)
    paths = [path or str(Path.cwd()) for path in sys.path]
    ours = {"PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(scratch)}
    return {**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), **ours}


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
