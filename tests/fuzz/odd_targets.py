"""Targets that fail in every way, for tests of what watches them."""

import os
import signal
import sys
import threading

import numpy as np

from fuzz.target import Target


class Odd(Target):
    """Does something on some of the numbers."""

    weight = 1

    def __init__(self, name, act, *, when=(3,)):
        self.name, self._act, self._when = name, act, when

    def warm_up(self, folder):
        pass

    def make(self, number, seed):
        return {"number.txt": f"{seed} {number}".encode()}

    def use(self, folder):
        number = int((folder / "number.txt").read_text().split()[1])
        if number in self._when:
            self._act()
        elif number % 2:
            message = "as promised"
            raise ValueError(message)

    def is_own(self, error, folder):
        return isinstance(error, ValueError)


def leave():
    sys.exit(3)


def foreign():
    return {}["absent"]


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    threading.Event().wait()


def spin():
    while True:
        pass


def memory():
    np.ones(25 << 20)  # 200 MB


def hungry():
    """Take memory and keep it until somebody looks."""
    held = [np.ones(25 << 20)]
    threading.Event().wait()
    del held


def registry():
    targets = [
        Odd("well", foreign, when=()),
        Odd("foreign", foreign, when=(2, 4)),
        Odd("leaving", leave),
        Odd("crash", crash, when=(2,)),
        Odd("hang", hang),
        Odd("spin", spin),
        Odd("memory", memory),
        Odd("hungry", hungry),
    ]
    return {target.name: target for target in targets}
