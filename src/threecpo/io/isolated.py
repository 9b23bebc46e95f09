"""Readers of strangers' bytes run in a process of their own, with limits.

Compiled parsers can crash, never return or unpack without end on a damaged file: HDF5,
the codecs of zarr, parquet, spreadsheets. The whole reader of such a file runs in a
child, which sends what it found over a pipe and ends. This is the caller's side;
``serving`` is the child's, which imports nothing but the reader and its library.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from itertools import chain, takewhile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from .._errors import DataFormatError, parameter, refuse
from .._extras import missing
from .limits import check_unpacked, unpacks_too_far
from .serving import ARRAY, END, FAILED, HEAD

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from numpy.typing import NDArray

    from .limits import Limits

    # Names and values: numbers, texts, lists and dicts of these, or arrays of numbers.
    Item = tuple[str, Any]
    Items = Iterator[Item]

# Bytes that a reader may take beyond those that its file may unpack to.
SPARE_ROOM = 1 << 28
_EXTRAS = {"h5py": "io", "zarr": "anndata", "python_calamine": "io", "pyarrow": "io"}
# What has to be loaded before memory is limited, too.
_MORE = {"pyarrow": ("pyarrow.parquet", "pyarrow.compute"), "zarr": ("numcodecs",)}
_START = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from threecpo.io.serving import serve
serve()
"""
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
}


def isolated(
    reader: Callable[..., Items],
    path: Path,
    limits: Limits,
    library: str,
    **options: Any,
) -> Generator[Item]:
    """Run a reader in a process of its own; what it finds comes as it is read.

    ``reader`` is a generator function of a module here, which gets the path as text,
    the bytes that may be unpacked as ``limit``, and the options, which are plain
    values. It hands back ``limits.unpacked`` bytes at most, takes ``SPARE_ROOM`` more
    than that, and works for ``limits.seconds``; else the file is refused, as it is by
    a crash. Whoever stops listening ends the process.
    """
    if find_spec(library) is None:
        raise missing(library, _EXTRAS[library], f"Reading {path.name}")
    plugins = ["hdf5plugin"] if "hdf5plugin" in sys.modules else []
    server = _asked(
        {
            "module": reader.__module__,
            "reader": reader.__name__,
            "libraries": [library, *_MORE.get(library, ()), *plugins],
            "seconds": limits.seconds,
            "room": limits.unpacked + SPARE_ROOM,
            "given": {
                "path": str(path.absolute()),
                "limit": limits.unpacked,
                **options,
            },
        }
    )
    try:
        yield from server.items(limits)
    finally:
        if server.idle and server.alive:
            _IDLE.append(server)
        else:
            server.end()


def _asked(request: dict[str, Any]) -> _Server:
    """Return a process that has got this request."""
    while True:
        try:
            server = _IDLE.pop()
        except IndexError:
            server = _Server()
        # It may have ended since: it waited for too long, or was killed. A copy of it
        # that still exits can hold the pipe open, and writing proves nothing.
        if server.alive:
            with suppress(OSError):
                server.ask(request)
                return server
        server.end()


def gathered(items: Iterable[Item]) -> dict[str, Any]:
    """All that a reader found, by name.

    Arrays may come in pieces, below each other. Those that ``sizes`` announced, as
    numbers of values and types by name, are filled in place, without a second copy.
    """
    found: dict[str, Any] = {}
    filled: dict[str, int] = {}
    parts: dict[str, list[NDArray[Any]]] = {}
    for name, value in items:
        if name == "sizes":
            found |= {key: np.empty(*size) for key, size in value.items()}
            filled |= dict.fromkeys(value, 0)
        elif name in filled:
            end = filled[name] + len(value)
            found[name][filled[name] : end] = value
            filled[name] = end
        elif isinstance(value, np.ndarray):
            parts.setdefault(name, []).append(value)
        else:
            found[name] = value
    short = [name for name, end in filled.items() if end != len(found[name])]
    if short:
        refuse(f"its {short[0]} cannot be read to the end")
    for name, listed in parts.items():
        found[name] = listed[0] if len(listed) == 1 else np.concatenate(listed)
        listed.clear()
    return found


def blocks_of(items: Items) -> Iterator[dict[str, Any]]:
    """All that a reader found, by name, as far as each item called ``block``."""
    for item in items:
        rest = chain([item], items)
        yield gathered(takewhile(lambda item: item[0] != "block", rest))


class _Server:
    """A process that reads one file at a time, in a copy of itself for each."""

    def __init__(self) -> None:
        ours = str(Path(__file__).parents[2])
        folders = [ours, *(folder for folder in sys.path if folder)]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, json.dumps(folders)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | _ENVIRONMENT,
            start_new_session=True,
        )
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)
        self.idle = True

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: dict[str, Any]) -> None:
        self.idle = False
        self._requests.write(json.dumps(request).encode() + b"\n")
        self._requests.flush()

    def items(self, limits: Limits) -> Items:
        """What a reader finds, until it ends."""
        taken = 0
        while True:
            try:
                kind, size = struct.unpack(HEAD, self._received(struct.calcsize(HEAD)))
                taken += size
                check_unpacked(taken, limits.unpacked)
                name, value = json.loads(self._received(size))
                if kind == END:
                    self.idle = True
                    if value is not None:
                        raise _failed(limits, *value)
                    return
                if kind == ARRAY:
                    value = np.empty(value[0], np.dtype(value[1]))
                    taken += value.nbytes
                    check_unpacked(taken, limits.unpacked)
                    view = value.reshape(-1).view(np.uint8).data
                    if self._answers.readinto(view) < len(view):  # type: ignore[attr-defined]
                        raise EOFError
            except EOFError:
                raise _ended(self._process.wait(), limits) from None
            yield name, value

    def _received(self, size: int) -> bytes:
        content = self._answers.read(size)
        if len(content) < size:
            raise EOFError
        return content

    def end(self) -> None:
        """End the process and the copy that reads a file."""
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._answers):
            with suppress(OSError):
                pipe.close()


def _failed(limits: Limits, kind: str, text: str) -> Exception:
    """The error that ended a reader."""
    if kind == "refused":
        return DataFormatError(text)
    if kind == "memory":
        return unpacks_too_far(limits.unpacked)
    if kind == "import":
        return ImportError(f"A library does not work here: {text}")
    return ValueError(text)


def _ended(status: int, limits: Limits) -> DataFormatError:
    """Error about a process that was ended, by its exit status."""
    if status == FAILED:
        return unpacks_too_far(limits.unpacked)
    number = -status
    if number in (getattr(signal, "SIGPROF", None), getattr(signal, "SIGXCPU", None)):
        return DataFormatError(
            f"reading it takes more than {limits.seconds:.0f} s of processor time; it "
            f"is damaged, or needs a larger {parameter('max_unpacked')}"
        )
    if number in (signal.SIGTERM, getattr(signal, "SIGKILL", None)):
        return DataFormatError(
            f"the process that reads it was killed (signal {number}); try again"
        )
    if number == signal.SIGABRT:
        return DataFormatError(
            "the library that reads it gave up; it is damaged, or takes more memory "
            f"than {parameter('max_unpacked')} allows"
        )
    ended = f"signal {number}" if number > 0 else f"exit status {status}"
    return DataFormatError(
        f"it makes the library that reads it crash ({ended}); it is damaged"
    )


# Processes that nobody uses at the moment; they end by themselves after a while.
_IDLE: list[_Server] = []
if hasattr(os, "register_at_fork"):
    # A copy of this process starts its own.
    os.register_at_fork(after_in_child=_IDLE.clear)
