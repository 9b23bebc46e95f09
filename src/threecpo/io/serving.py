"""The process that reads: for each request a copy of itself, which has limits.

No file meets what another has left behind, and libraries are loaded once. Where a copy
is ended by a signal, this process ends likewise, so that its caller knows why. It ends
with its input, or when nobody has asked for anything for a while.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import struct
import sys
from importlib import import_module
from typing import IO, Any

import numpy as np

from .._errors import DataFormatError

# Of each item: its kind, and the length of what describes it as JSON: its name, and its
# value, or the shape and type of an array, whose bytes come behind.
HEAD = "<cq"
VALUE, ARRAY, END = b"V", b"A", b"E"
# Status of a copy that had no memory left, not even to say so.
FAILED = 3
IDLE_SECONDS = 30.0
_NO_MEMORY = ("memory allocation failed", "can't start new thread", "unable to alloc")


class _WithoutPandas:
    """Keeps pyarrow from loading pandas in every copy: nothing here needs it."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:  # noqa: ARG004
        if name == "pandas":
            raise ModuleNotFoundError(name)


def serve() -> None:
    """Serve the process that started this one."""
    sys.meta_path.insert(0, _WithoutPandas)
    # Ctrl-C is for the caller to hear.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = open(0, "rb", buffering=0)  # noqa: SIM115
    answers = open(os.dup(1), "wb", buffering=0)  # noqa: PTH123, SIM115
    # What libraries print must not get between the items.
    os.dup2(2, 1)
    while os.name != "posix" or select.select([requests], [], [], IDLE_SECONDS)[0]:
        line = b""
        # A pipe gives a long request in parts.
        while not line.endswith(b"\n") and (part := requests.readline()):
            line += part
        if not line:
            return
        request = json.loads(line)
        try:
            # Before the copy is made, so that this is done once.
            for name in (*request["libraries"], request["module"]):
                import_module(name)
        except Exception as error:  # noqa: BLE001 - libraries raise many kinds
            _send(answers, END, "", ["import", str(error)])
            continue
        if hasattr(os, "fork"):
            _read_in_a_copy(request, answers)
        else:
            _read(request, answers)


def _read_in_a_copy(request: dict[str, Any], answers: IO[bytes]) -> None:
    # Else looking for garbage would copy all that the libraries have loaded.
    gc.freeze()
    copy = os.fork()
    if not copy:
        status = FAILED
        try:
            _limit(request["seconds"], request["room"])
            _read(request, answers)
            status = 0
        finally:
            # Without what libraries do at the end of a process.
            os._exit(status)
    _, status = os.waitpid(copy, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    if status:
        os._exit(FAILED)


def _limit(seconds: float, room: int) -> None:
    """Bound processor time and memory; no file is written, no core either."""
    import resource

    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
    signal.setitimer(signal.ITIMER_PROF, seconds)
    bounds = {resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0}
    if sys.platform == "linux":
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
            used = int(file.read().split()[0]) * resource.getpagesize()
        bounds[resource.RLIMIT_AS] = used + room
    for kind, size in bounds.items():
        hard = resource.getrlimit(kind)[1]
        least = size if hard == resource.RLIM_INFINITY else min(size, hard)
        resource.setrlimit(kind, (least, hard))


def _read(request: dict[str, Any], answers: IO[bytes]) -> None:
    """Send what the reader finds, and how it ended."""
    failure = None
    try:
        reader = getattr(import_module(request["module"]), request["reader"])
        for name, value in reader(**request["given"]):
            kind = ARRAY if isinstance(value, np.ndarray) else VALUE
            _send(answers, kind, name, value)
    except DataFormatError as error:
        failure = ["refused", error.marked]
    except BaseException as error:  # noqa: BLE001 - libraries raise many kinds
        text = str(error) or type(error).__name__
        # Libraries tell of memory in errors of their own.
        no_memory = any(sign in text.lower() for sign in _NO_MEMORY)
        memory = isinstance(error, MemoryError) or no_memory
        failure = ["memory" if memory else "error", text]
    _send(answers, END, "", failure)


def _send(answers: IO[bytes], kind: bytes, name: str, value: Any) -> None:
    values: bytes | memoryview = b""
    if kind == ARRAY:
        values = np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
        value = [value.shape, value.dtype.str]
    content = json.dumps([name, value]).encode()
    for part in (struct.pack(HEAD, kind, len(content)) + content, values):
        view, sent = memoryview(part), 0
        while sent < len(view):
            sent += answers.write(view[sent:])
