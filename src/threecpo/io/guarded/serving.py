"""The reading process: requests in, parts of one file at a time out.

A request is JSON, and so is an answer, except for values, which are sent as they lie in
memory; each part has its length before it. The process ends with its input, or when
nobody has asked for anything for a while.
"""

from __future__ import annotations

import json
import os
import select
import struct
from typing import IO, Any

import numpy as np

from . import fences
from .fences import (
    RefusedError,
    lift_memory_limit,
    limit_memory,
    prepare_signals,
    timed,
)
from .pieces import send_rows

IDLE_SECONDS = 30.0


class Server:
    """One file at a time, as asked for."""

    def __init__(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        self._requests, self._answers = requests, answers
        self._file: Any = None
        self._objects: Any = None

    def serve(self) -> None:
        while self._waited():
            size = self._requests.read(8)
            if len(size) < 8:
                return
            request = json.loads(self._requests.read(*struct.unpack("<q", size)))
            try:
                self._answer(request)
                self._send({"done": True})
            except RefusedError as error:
                self._send({"refused": str(error)})
            except Exception as error:  # noqa: BLE001 - libraries raise many kinds
                self._send(_failure(error))

    def _waited(self) -> bool:
        """Wait for a request; no longer than for some time if no file is open."""
        if self._file is not None or os.name != "posix":
            return True
        return bool(select.select([self._requests], [], [], IDLE_SECONDS)[0])

    def _answer(self, request: dict[str, Any]) -> None:
        todo = request.pop("do")
        if todo == "open":
            self._open(**request)
        elif todo == "close":
            with timed():
                if hasattr(self._file, "close"):
                    self._file.close()
            self._file = None
        elif todo == "describe":
            self._send(self._found(request["at"])[1])
        else:
            item, _ = self._found(request["at"])
            with timed():
                values = self._objects.values_of(item, request["field"])
            send_rows(values, request["start"], request["stop"], self._send)

    def _open(
        self,
        format: str,  # noqa: A002
        path: str,
        room: int,
        seconds: float,
        plugins: str | None,
    ) -> None:
        name = os.fsdecode(bytes.fromhex(path))
        fences.SECONDS = seconds
        # That of the file before may be too low for another library to be loaded.
        lift_memory_limit()
        if format == "zarr":
            from . import zarr_objects

            self._objects = zarr_objects
            limit_memory(room)
            with timed():
                self._file = zarr_objects.open_folder(name)
            return
        from . import hdf5_objects

        self._objects = hdf5_objects
        limit_memory(room)
        with timed():
            self._file = hdf5_objects.open_file(name, plugins)

    def _found(self, path: str) -> tuple[Any, dict[str, Any] | None]:
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
    if isinstance(error, MemoryError) or "memory allocation failed" in text:
        return {"memory": True}
    return {"error": text or type(error).__name__}


def main() -> None:
    """Serve until the input ends."""
    prepare_signals()
    requests = open(0, "rb")  # noqa: SIM115
    answers = open(os.dup(1), "wb", buffering=0)  # noqa: PTH123, SIM115
    # What libraries print must not get between the answers.
    os.dup2(2, 1)
    Server(requests, answers).serve()
