"""Crafted matrices: some of all pairs of a matrix and a public method."""

import sys

import pytest

from fuzz import crafted
from fuzz.child import Pool
from fuzz.outcomes import Limits, Tally

CONTAINERS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")


def test_there_are_enough_of_every_container():
    names = list(crafted.matrices())
    assert len(names) >= 500
    for container in CONTAINERS:
        for kind in ("array", "matrix"):
            assert any(name.startswith(f"{container}_{kind}") for name in names)


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
def test_none_is_accepted_and_none_is_a_signal(tmp_path):
    pytest.importorskip("anndata")
    target, tally = crafted.Crafted(), Tally(tmp_path, 0)
    # Coprime to the number of doors, so that all of them have a turn.
    numbers = range(0, len(target.cases), 211)
    pool = Pool("fuzz.crafted", 0, Limits(seconds=60), 1)
    pool.run(crafted.batches(numbers), tally.add)
    assert tally.causes() == ""
    assert tally.counts[target.name] == {"own error": len(numbers)}
