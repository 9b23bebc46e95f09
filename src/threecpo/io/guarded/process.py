"""The reading process seen from its caller: started once, asked often."""

from __future__ import annotations

import atexit
import json
import os
import signal
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from ..._errors import DataFormatError
from .fences import TIMERS
from .serving import COPY_FAILED

if TYPE_CHECKING:
    import io

_MOST_JSON = 1 << 28
_SECONDS_TO_END = 10
# The modules of this folder as a package of their own: the one that they belong to
# would import scipy and more, which takes longer than most files do.
_START = """
import sys, types
sys.path += sys.argv[2:]
package = sys.modules["guarded"] = types.ModuleType("guarded")
package.__path__ = [sys.argv[1]]
from guarded.serving import main
main()
"""
LIBRARIES = ("numpy", "h5py", "zarr", "python_calamine")
_FOLDER = Path(__file__).parent


class ReadingProcess:
    """A process that answers requests about one file at a time.

    ``sound`` is False once an answer did not come, or not to its end.
    """

    def __init__(self) -> None:
        one_thread = {
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "2",
        }
        homes = [folder_of(name) for name in LIBRARIES]
        folders = dict.fromkeys(str(home) for home in homes if home is not None)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, str(_FOLDER), *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | one_thread,
        )
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("io.BufferedReader", self._process.stdout)
        _widen(self._answers.fileno())
        self.sound = True

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, **request: Any) -> None:
        """Send a request; its answer must be received to the end."""
        self.sound = False
        content = json.dumps(request).encode()
        try:
            self._requests.write(struct.pack("<q", len(content)) + content)
            self._requests.flush()
        except OSError:
            raise self._ended() from None

    def receive(self) -> dict[str, Any] | None:
        """Return a part of the answer, or raise the error that came instead."""
        raw, size = self._head()
        if raw or size > _MOST_JSON:
            message = "its description is too large"
            raise DataFormatError(message)
        answer: dict[str, Any] | None = json.loads(self.received(size))
        if answer is not None:
            self._raise_failure(answer)
        return answer

    def finish(self) -> None:
        """Receive the end of an answer."""
        self.receive()
        self.sound = True

    def size_of_values(self) -> int:
        """Return the number of bytes that come next, or raise the error instead."""
        raw, size = self._head()
        if not raw:
            self._raise_failure(json.loads(self.received(size)))
            message = "it ends early"
            raise ValueError(message)
        return size

    def _raise_failure(self, answer: dict[str, Any]) -> None:
        # An error is the end of an answer.
        self.sound = True
        if "refused" in answer:
            raise DataFormatError(answer["refused"])
        if "memory" in answer:
            raise NoRoomError
        if "error" in answer:
            raise ValueError(answer["error"])
        self.sound = False

    def received(self, size: int) -> bytearray:
        """Return the next bytes."""
        content = bytearray(size)
        self.receive_into(memoryview(content))
        return content

    def _head(self) -> tuple[bool, int]:
        """Whether the next frame holds values, and how many bytes."""
        raw, size = struct.unpack("<?q", self.received(9))
        return raw, size

    def receive_into(self, view: memoryview) -> None:
        """Fill this memory."""
        done = 0
        while done < len(view):
            n_bytes = self._answers.readinto(view[done:])
            if not n_bytes:
                raise self._ended()
            done += n_bytes

    def end(self) -> None:
        """End the process, wherever it is."""
        for pipe in (self._requests, self._answers):
            with suppress(OSError):
                pipe.close()
        # It ends the copy that reads a file, too.
        self._process.terminate()
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ended(self) -> Exception:
        code = self._process.wait()
        if code == 0:
            return IdleEndError()
        if code == COPY_FAILED:
            return NoRoomError()
        if code > 0:
            return ImportError(
                "Reading this file needs h5py, zarr or python_calamine, which do not "
                f"work here: {sys.executable} -c 'import h5py, zarr, python_calamine' "
                "shows why."
            )
        if -code in (signal.SIGTERM, getattr(signal, "SIGKILL", None)):
            return DataFormatError(
                f"the process that reads it was ended from outside (signal {-code}); "
                "try again"
            )
        if -code == signal.SIGABRT:
            return DataFormatError(
                "the library that reads it has given up: it is damaged, or takes more "
                "memory than max_unpacked= allows"
            )
        if -code in [getattr(signal, name, None) for name in TIMERS]:
            message = "it makes the library that reads it work without end"
        else:
            message = f"it makes the library that reads it crash (signal {-code})"
        return DataFormatError(f"{message}; it is damaged")


def _widen(pipe: int) -> None:
    """Let a pipe hold a megabyte, where that is possible: fewer turns to take."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)


class NoRoomError(Exception):
    """The process would need more memory than it may have."""


class IdleEndError(OSError):
    """The process had nothing to do and has ended."""


def folder_of(package: str) -> Path | None:
    """Folder that a package is imported from, None if it is not installed."""
    spec = find_spec(package)
    return None if spec is None or not spec.origin else Path(spec.origin).parents[1]


class _IdleProcesses:
    """Processes that nobody uses at the moment; they end by themselves after a while.

    A copy of this one made by ``fork`` starts its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: list[ReadingProcess] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.__init__)  # type: ignore[misc]

    def take(self) -> ReadingProcess:
        with self._lock:
            while self._processes:
                process = self._processes.pop()
                if process.alive:
                    return process
                process.end()
        return ReadingProcess()

    def give_back(self, process: ReadingProcess) -> None:
        if not process.sound:
            process.end()
            return
        with self._lock:
            self._processes.append(process)

    def end(self) -> None:
        with self._lock:
            while self._processes:
                self._processes.pop().end()


IDLE = _IdleProcesses()
atexit.register(IDLE.end)
