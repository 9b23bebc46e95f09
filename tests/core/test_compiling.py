"""Compiler options of the loops."""

import gc
import subprocess
import sys

import pytest

from threecpo._core.loops import Loop, compiled, f8
from threecpo._core.loops import columns as column_loops
from threecpo._core.loops import distances as distance_loops
from threecpo._core.loops import quick as quick_loops
from threecpo._core.loops import records as inspection_loops
from threecpo._core.loops import rows as row_loops

MODULES = row_loops, column_loops, distance_loops, inspection_loops, quick_loops


def test_loops_add_in_the_written_order_and_count_no_references():
    """Fast mathematics and parallel loops would reorder sums."""
    loops = {
        name: loop.dispatcher.targetoptions
        for module in MODULES
        for name, loop in vars(module).items()
        if isinstance(loop, Loop)
    }
    assert {"assign_rows", "score_columns", "x_log_x_sums", "inspect"} <= loops.keys()
    for name, options in loops.items():
        assert not options.get("fastmath"), name
        assert not options.get("parallel"), name
        assert options["nogil"], name
        assert options["_nrt"] is False, name


@pytest.mark.parametrize("collects", [True, False])
def test_compiling_leaves_the_garbage_collector_as_it_was(collects):
    (gc.enable if collects else gc.disable)()
    try:
        assert compiled(f8)(lambda x: x + 1.0)(1.0) == 2.0
        assert gc.isenabled() is collects
    finally:
        gc.enable()


def test_numba_finds_blas_when_somebody_else_multiplies():
    program = (
        "import sys, numba, numpy as np\n"
        "from threecpo._core.loops import compiled, f8\n"
        "assert compiled(f8)(lambda x: x + 1.0)(1.0) == 2.0\n"
        "assert 'scipy.linalg' not in sys.modules\n"
        "assert numba.njit(lambda a: np.dot(a, a))(2 * np.eye(2)).sum() == 8.0"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
