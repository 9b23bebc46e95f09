"""Blocks that are written are those that were given, or none are."""

import numpy as np
import pytest

from threecpo import ThreeCPO, distributed
from threecpo.io.blocks import write_blocks


def test_names_that_do_not_fit_are_told_before_they_are_written(tmp_path):
    with pytest.raises(ValueError, match="has 1 names for 2 columns"):
        write_blocks([np.ones((3, 2))], tmp_path / "X", column_names=["a"])
    assert list(tmp_path.iterdir()) == []


def test_no_blocks_are_no_folder(tmp_path):
    with pytest.raises(ValueError, match="There are no blocks to write"):
        write_blocks(iter([]), tmp_path / "X")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_count_is_told_as_it_is(tmp_path):
    """Cast to 32 bits it would be another number, perhaps a count."""
    block = np.ones((3, 2))
    block[1, 0] = -1e12
    write_blocks([block], tmp_path / "X")
    with pytest.raises(ValueError, match=r"row 1, column 0 holds -1e\+12"):
        distributed.fit(ThreeCPO(2), tmp_path / "X")
