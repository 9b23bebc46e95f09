"""The reading process: requests in, parts of one file at a time out.

A request is JSON, and so is an answer, except for values, which are sent as they lie in
memory; each part has its length before it. For each file this process, which has the
libraries loaded, makes a copy of itself that reads it: no file meets what another has
left behind, and no limit of one hinders the next. Where a copy ends by a signal, so
does this process. It ends with its input, or when nobody has asked for anything for a
while.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import struct
from typing import IO, TYPE_CHECKING, Any, NoReturn

import numpy as np

from . import fences
from .fences import RefusedError, limit_memory, prepare_signals, timed
from .pieces import send_rows

if TYPE_CHECKING:
    from types import FrameType

IDLE_SECONDS = 30.0
COPY_FAILED = 3
MOST_KNOWN = 64
_NO_MEMORY = ("memory allocation failed", "can't start new thread")


class Server:
    """Answers about one file, from its opening to its end."""

    def __init__(self, requests: IO[bytes], answers: IO[bytes], objects: Any) -> None:
        self._requests, self._answers, self._objects = requests, answers, objects
        self._file: Any = None
        # Objects that were looked up, of which a file of ours has some twenty.
        self._known: dict[str, Any] = {}

    def serve(self, request: dict[str, Any] | None) -> None:
        """Answer this request and those after it, until one is to close the file.

        That one is left to ``finish``, when the file is not open any more.
        """
        while request is not None and request["do"] != "close":
            try:
                self._answer(request)
                self.finish()
            except RefusedError as error:
                self._send({"refused": str(error)})
            except Exception as error:  # noqa: BLE001 - libraries raise many kinds
                self._send(_failure(error))
            request = received(self._requests)

    def finish(self) -> None:
        """Send the end of an answer."""
        self._send({"done": True})

    def close(self) -> None:
        """Close the file, where that has to be done."""
        if hasattr(self._file, "close"):
            self._file.close()

    def _answer(self, request: dict[str, Any]) -> None:
        todo = request["do"]
        if todo == "open":
            fences.SECONDS = request["seconds"]
            limit_memory(request["room"])
            with timed():
                path = os.fsdecode(bytes.fromhex(request["path"]))
                self._file = self._objects.open_file(path)
        elif todo == "describe":
            self._send(self._found(request["at"])[1])
        else:
            item, _ = self._found(request["at"])
            with timed():
                values = self._objects.values_of(item, request["field"])
            send_rows(values, request["start"], request["stop"], self._send)

    def _found(self, path: str) -> tuple[Any, dict[str, Any] | None]:
        if path not in self._known and len(self._known) < MOST_KNOWN:
            self._known[path] = self._look_up(path)
        return self._known[path] if path in self._known else self._look_up(path)

    def _look_up(self, path: str) -> tuple[Any, dict[str, Any] | None]:
        with timed():
            item = self._objects.found(self._file, path)
            if item is None:
                return None, None
            return item, self._objects.described(item, path)

    def _send(self, content: Any) -> None:
        """Send a frame: values as they are in memory, anything else as JSON."""
        raw = isinstance(content, np.ndarray | bytes)
        if isinstance(content, np.ndarray):
            content = np.ascontiguousarray(content).reshape(-1).view(np.uint8)
        elif not raw:
            content = json.dumps(content).encode()
        view = memoryview(content)
        for part in (memoryview(struct.pack("<?q", raw, len(view))), view):
            sent = 0
            while sent < len(part):
                sent += self._answers.write(part[sent:])


def _failure(error: Exception) -> dict[str, Any]:
    """What to answer instead: libraries tell of memory in errors of their own."""
    text = str(error)
    if isinstance(error, MemoryError) or any(sign in text for sign in _NO_MEMORY):
        return {"memory": True}
    return {"error": text or type(error).__name__}


def received(requests: IO[bytes]) -> dict[str, Any] | None:
    """Return the next request; None at the end."""
    size = _bytes_of(requests, 8)
    if len(size) < 8:
        return None
    content = _bytes_of(requests, *struct.unpack("<q", size))
    request: dict[str, Any] = json.loads(content)
    return request


def _bytes_of(requests: IO[bytes], size: int) -> bytes:
    """Return so many bytes, fewer at the end; a pipe gives a long request in parts."""
    content = b""
    while len(content) < size and (part := requests.read(size - len(content))):
        content += part
    return content


def loaded(request: dict[str, Any]) -> Any:
    """Load the library for a file, and filters of hdf5plugin if the caller has them."""
    if request["format"] == "sheets":
        from . import sheet_objects

        return sheet_objects
    if request["format"] == "zarr":
        from . import zarr_objects

        return zarr_objects
    from . import hdf5_objects

    hdf5_objects.load_filters(request["plugins"])
    return hdf5_objects


class Copies:
    """Copies of this process, of which there is one at a time."""

    def __init__(self) -> None:
        self._running = 0

    def serve(self, server: Server, request: dict[str, Any]) -> None:
        """Let a copy answer all requests about a file; end as it does."""
        if not hasattr(os, "fork"):
            server.serve(request)
            server.close()
            server.finish()
            return
        # Else looking for garbage would copy all that the libraries have loaded.
        gc.freeze()
        self._running = os.fork()
        if not self._running:
            _read_as_copy(server, request)
        _, status = os.waitpid(self._running, 0)
        self._running = 0
        if os.WIFSIGNALED(status):
            _end_by(os.WTERMSIG(status))
        if status:
            # There was no memory left, not even to say so.
            os._exit(COPY_FAILED)
        server.finish()

    def end(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """End the copy too, when this process is told to end."""
        if not self._running:
            os._exit(0)
        os.kill(self._running, signal.SIGKILL)
        _end_by(signal.SIGTERM)


def _read_as_copy(server: Server, request: dict[str, Any]) -> NoReturn:
    """Answer and end, without what the libraries do at the end of a process."""
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        server.serve(request)
        status = 0
    finally:
        os._exit(status)


def _end_by(number: int) -> None:
    """End as by this signal."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def main() -> None:
    """Serve until the input ends."""
    prepare_signals()
    requests = open(0, "rb", buffering=0)  # noqa: SIM115
    answers = open(os.dup(1), "wb", buffering=0)  # noqa: PTH123, SIM115
    # What libraries print must not get between the answers.
    os.dup2(2, 1)
    copies = Copies()
    signal.signal(signal.SIGTERM, copies.end)
    while os.name != "posix" or select.select([requests], [], [], IDLE_SECONDS)[0]:
        request = received(requests)
        if request is None:
            return
        copies.serve(Server(requests, answers, loaded(request)), request)
