"""What a cluster needs no workers to show: waiting, and combining what comes back."""

import copy
import time

import numpy as np
import pytest
from block_fits import fit, shapeless

from threecpo import distributed
from threecpo._core.codes import all_relevant
from threecpo._core.matrices import from_sparse
from threecpo._core.sums import sum_by_labels
from threecpo._fit.block_work import add_each
from threecpo.distributed._patience import Patience
from threecpo.distributed._shares import combined


class TestCombining:
    """A task that Dask runs again gets the same parts, which must not be added to."""

    def test_parts_stay_as_they_are(self):
        parts = [np.arange(3.0), np.ones(3), np.ones(3)]
        before = copy.deepcopy(parts)
        first, second = (combined(np.ndarray.__iadd__, parts) for _ in range(2))
        np.testing.assert_array_equal(first, [2, 3, 4])
        np.testing.assert_array_equal(second, first)
        for part, old in zip(parts, before, strict=True):
            np.testing.assert_array_equal(part, old)

    def test_sums_of_a_pass_are_the_same_twice(self):
        X = shapeless()
        labels = np.arange(100, dtype=np.int32) % 3
        parts = [
            [sum_by_labels(counts, labels, 3, all_relevant(12), 1e-3)]
            for counts in (from_sparse(X[i : i + 100]) for i in range(0, 400, 100))
        ]
        (first,), (second,) = (combined(add_each, parts) for _ in range(2))
        np.testing.assert_array_equal(first.table, second.table)
        assert first.table.sum() == sum(part.table.sum() for (part,) in parts)


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_waiting_is_reported_every_ten_seconds(clock, caplog):
    patience = Patience(300, "Do it again.")
    for _ in range(31):
        patience.wait("There are 0 workers")
        clock[0] += 1
    assert {record.name for record in caplog.records} == {"threecpo.distributed"}
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert caplog.messages == [
        f"There are 0 workers. The pass has waited for {waited} s and gives up in "
        f"{300 - waited} s."
        for waited in (0, 10, 20, 30)
    ]


def test_the_end_says_what_to_do(clock):
    patience = Patience(5, "Do it again.")
    patience.wait("There are 0 workers")
    clock[0] += 5.5
    message = r"There are 0 workers; patience=5 s of waiting are over\. Do it again\."
    with pytest.raises(distributed.ClusterLostError, match=message):
        patience.wait("There are 0 workers")


def test_waits_of_one_pass_add_up(clock):
    patience = Patience(5, "")
    for _ in range(2):
        patience.start()
        for _ in range(2):
            patience.wait("away")
            clock[0] += 2
            patience.wait("away")
            patience.end_wait()
            clock[0] += 100
    patience.wait("away")
    clock[0] += 2
    with pytest.raises(distributed.ClusterLostError):
        patience.wait("away")


@pytest.mark.parametrize("value", [-1, "long", None, np.inf])
def test_patience_is_a_number_of_seconds(value):
    with pytest.raises(ValueError, match="patience="):
        fit(shapeless(), fitting={"patience": value})
