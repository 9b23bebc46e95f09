"""How loops are compiled: as written, on any machine."""

import pytest
from numba.core.dispatcher import Dispatcher

from threecpo._core.loops import columns as column_loops
from threecpo._core.loops import distances as distance_loops
from threecpo._core.loops import inspection as inspection_loops
from threecpo._core.loops import quick as quick_loops
from threecpo._core.loops import rows as row_loops

MODULES = row_loops, column_loops, distance_loops, inspection_loops, quick_loops
LOOPS = {
    name: loop
    for module in MODULES
    for name, loop in vars(module).items()
    if isinstance(loop, Dispatcher)
}


@pytest.mark.parametrize("name", LOOPS)
def test_no_sum_is_reordered(name):
    """Fast mathematics and parallel loops add in an order of their own."""
    options = LOOPS[name].targetoptions
    assert not options.get("fastmath")
    assert not options.get("parallel")
    assert options["nogil"]


@pytest.mark.parametrize("name", LOOPS)
def test_no_array_is_counted(name):
    """Counting references for every row takes longer than scoring short rows."""
    assert LOOPS[name].targetoptions["_nrt"] is False


def test_loops_are_looked_at():
    assert {"assign_rows", "score_columns", "x_log_x_sums", "inspect"} <= LOOPS.keys()
