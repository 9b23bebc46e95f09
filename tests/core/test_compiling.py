"""Compiler options of the loops."""

import gc
import subprocess
import sys

import pytest

from threecpo._core import ahead
from threecpo._core.layout import lay_out
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


@pytest.mark.parametrize("n_cores", [1, 2])
def test_another_process_compiles_until_the_work_is_done(n_cores, monkeypatch):
    begun = []

    def start(command, **_):
        assert command[1:] == ["-P", "-m", ahead.__name__]
        waiting = [sys.executable, "-c", "input()"]
        begun.append(Popen(waiting, stdin=subprocess.PIPE))
        return begun[0]

    Popen = subprocess.Popen
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: n_cores)
    monkeypatch.setattr(ahead.subprocess, "Popen", start)
    with ahead.compiled_beside():
        assert [each.poll() for each in begun] == [None] * (n_cores - 1)
    assert all(each.poll() is not None for each in begun)
    for each in begun:
        each.stdin.close()


def test_what_is_compiled_ahead_goes_to_the_cache():
    ahead.compile_late()
    assert row_loops.assign_rows.dispatcher.stats.cache_path
    assert lay_out.is_compiled
