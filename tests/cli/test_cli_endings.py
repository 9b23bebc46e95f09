"""Commands that are ended from outside, and those that nobody listens to."""

import os
import subprocess
import sys

import pytest
from running import table

from threecpo import write_counts
from threecpo.cli import _main

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such signals")

# Loses what is raised in it, as callbacks of compiled code do, then works on.
DEAF = """
import ctypes, os, signal, sys, time
from threecpo.cli._main import ended_by_signals
callback = ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGTERM))
with ended_by_signals():
    try:
        callback()
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            pass
    finally:
        # Longer than the pause between two requests: nothing disturbs this.
        end = time.monotonic() + 3 * float(sys.argv[1])
        while time.monotonic() < end:
            pass
        print("clean", flush=True)
print("went on")
"""


def test_a_request_that_is_lost_is_repeated_and_cleaning_up_is_left_alone():
    command = [sys.executable, "-c", DEAF, str(_main.AGAIN)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (143, "clean\n", "")


# Makes another error of what is raised in it, as compilers do.
CHANGED = """
import os, signal, sys
from threecpo.cli._main import ended_by_signals
with ended_by_signals():
    try:
        if sys.argv[1] == "asked":
            os.kill(os.getpid(), signal.SIGTERM)
        raise KeyError
    except BaseException:
        raise RuntimeError("it failed")
"""


@pytest.mark.parametrize(("asked", "code"), [("asked", 143), ("not asked", 1)])
def test_a_request_that_became_another_error_ends_all_the_same(asked, code):
    command = [sys.executable, "-c", CHANGED, asked]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert ("it failed" in done.stderr) == (asked == "not asked")


@pytest.fixture
def cells(tmp_path):
    write_counts(table(), tmp_path / "cells.npz")
    return tmp_path / "cells.npz"


def run(*arguments, **options):
    command = [sys.executable, "-m", "threecpo", *map(str, arguments)]
    return subprocess.run(
        command, stderr=subprocess.PIPE, text=True, check=False, **options
    )


@pytest.mark.parametrize("command", [["info"], ["select-k"]])
def test_a_reader_that_goes_away_is_no_error_of_ours(command, cells):
    read, write = os.pipe()
    os.close(read)
    options = ["--max", 2, "--n-init", 1] if command == ["select-k"] else []
    done = run(*command, cells, *options, stdout=write)
    os.close(write)
    assert done.returncode == 1
    assert done.stderr == ""


def test_a_stdout_that_was_closed_before_is_no_error(cells):
    done = run("info", cells, preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (0, "")
