"""What a user meets stays small: parameters, options, public names."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import surface


@pytest.mark.parametrize("what", surface.CEILINGS)
def test_the_surface_is_within_its_ceiling(what):
    assert surface.counted()[what] <= surface.CEILINGS[what]
