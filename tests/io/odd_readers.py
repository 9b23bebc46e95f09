"""Readers that do what a library might do on a damaged file."""

import os

import numpy as np

from threecpo._errors import DataFormatError


def all_kinds(path, limit):
    yield "text", {"ä": [1, None, 2.5, "x"]}
    yield "path", path
    yield "table", np.arange(6, dtype=">i2").reshape(2, 3)
    yield "nothing", np.zeros((0, 4))
    yield "sizes", {"announced": [4, "f8"]}
    yield "announced", np.array([1, 2], "u1")
    yield "announced", np.array([3, 4], "i8")


def count(path, limit):
    for number in range(100):
        yield "number", number


def refuse(path, limit):
    yield "number", 1
    message = "not this one"
    raise DataFormatError(message)


def fail(path, limit):
    yield "number", 1
    message = "what happened"
    raise KeyError(message)


class PanicError(BaseException):
    """As bindings to other languages raise it."""


def panic(path, limit):
    yield "number", 1
    message = "panic"
    raise PanicError(message)


def take(path, limit):
    yield "number", len(np.ones(4 * limit))


def take_for_good(path, limit):
    """Use up all memory, and then some to say so."""
    kept = []
    for size in (1 << 24, 1 << 16, 1 << 8):
        try:
            while True:
                kept.append(bytes(size))
        except MemoryError:
            pass
    yield "number", len(kept)
    raise MemoryError


def send(path, limit):
    for _ in range(3):
        yield "bytes", np.zeros(limit // 2, np.uint8)


def print_much(path, limit):
    os.write(1, b"printed" * 1000)
    yield "number", 1
    message = "printed"
    raise ValueError(message)


def end_by(path, limit, number):
    yield "number", 1
    os.kill(os.getpid(), number)
    yield "number", 2


def spin(path, limit):
    yield "number", 1
    while True:
        pass


def write(path, limit):
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(b"x")
    yield "number", 1


def end_processes():
    """End the processes that wait for files."""
    from threecpo.io import isolated

    while isolated._IDLE:
        isolated._IDLE.pop().end()
