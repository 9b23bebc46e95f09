"""Work on blocks by threads."""

import threading
import time
import tracemalloc

import numpy as np
import pytest

from threecpo._core.matrices import from_dense
from threecpo._core.workers import Workers
from threecpo._fit.engine import ThreadEngine, rows_of


def test_no_block_is_in_work_after_an_error():
    begun, failing, ended = threading.Event(), threading.Event(), []

    def work(index, _):
        if index == 0:
            begun.wait(60)
            failing.set()
            message = "block 0"
            raise OSError(message)
        begun.set()
        failing.wait(60)
        # Long enough for whoever does not wait to be first.
        time.sleep(0.2)
        ended.append(index)
        return index

    with Workers(2) as workers:
        engine = ThreadEngine([lambda: None] * 2, workers)
        with pytest.raises(OSError, match="block 0"):
            engine.fold(work, max)
        assert ended == [1]


def test_rows_are_gathered_without_a_second_copy():
    n_blocks, Y = 40, np.ones((100, 200))
    firsts = np.arange(n_blocks + 1) * len(Y)
    with Workers(1) as workers:
        engine = ThreadEngine([lambda: from_dense(Y)] * n_blocks, workers)
        tracemalloc.start()
        counts = rows_of(engine, firsts, np.arange(firsts[-1]))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert counts.shape == (firsts[-1], 200)
    assert peak < 1.5 * (counts.data.nbytes + counts.indices.nbytes)
