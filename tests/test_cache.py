"""The compilation cache is a help, never a condition."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import threecpo

# One loop is enough: all are compiled by the same decorator.
PROGRAM = """
import warnings
warnings.simplefilter("error")
import numpy as np
import threecpo
from threecpo._core.loops.records import checksum
ends, places = np.array([0, 1]), np.zeros(1, dtype=np.int32)
found = checksum(ends, places, np.array([7]))
print(threecpo.__file__, type(found).__name__)
"""


def run(**environment):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


@pytest.fixture
def below_a_file(tmp_path):
    """A folder that nobody can make, not even root."""
    (tmp_path / "file").touch()
    return str(tmp_path / "file" / "cache")


@pytest.fixture
def frozen_package(tmp_path):
    """A copy of the package that takes no compiled files beside its own."""
    copy = tmp_path / "site" / "threecpo"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(threecpo.__file__).parent, copy, ignore=ignore)
    for folder in {path.parent for path in copy.rglob("*.py")}:
        (folder / "__pycache__").touch()
    return copy


def test_a_chosen_cache_that_cannot_be_written_is_no_error(below_a_file):
    out = run(NUMBA_CACHE_DIR=below_a_file)
    assert out.stderr == ""
    assert out.returncode == 0
    assert out.stdout.endswith(" int\n")


def test_no_place_for_a_cache_at_all_is_no_error(below_a_file, frozen_package):
    places = ("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME", "LOCALAPPDATA")
    out = run(
        **dict.fromkeys(places, below_a_file),
        PYTHONPATH=str(frozen_package.parent),
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert out.stderr == ""
    assert out.returncode == 0
    assert out.stdout == f"{frozen_package / '__init__.py'} int\n"
