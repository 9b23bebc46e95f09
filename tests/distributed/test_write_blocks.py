"""Blocks that are written are those that were given, or none are."""

import numpy as np
import pytest
from block_fits import counts_of

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


def test_a_checkpoint_takes_a_list_for_the_same_tuple(tmp_path):
    X = counts_of()[0]
    options = {"sample_rows": 30, "checkpoint": tmp_path / "state"}
    models = [ThreeCPO(3, groups=groups, random_state=0) for groups in ((1, 0), [1, 0])]
    first, again = (distributed.fit(model, X, **options) for model in models)
    assert first.loss_ == again.loss_
