"""Work on blocks by threads."""

import threading
import time

import pytest

from threecpo._core.workers import Workers
from threecpo._fit.engine import ThreadEngine


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
