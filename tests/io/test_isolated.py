"""Readers in a process of their own: it ends, whatever happens in it."""

import json
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import odd_readers
import pytest
from odd_readers import end_processes

from processes import run_python
from threecpo.io import DataFormatError, limits
from threecpo.io import isolated as process
from threecpo.io.isolated import gathered, isolated
from threecpo.io.limits import Limits

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
FEW = Limits(unpacked=1 << 24, seconds=600)


def read(name, path=Path("t.h5"), given=FEW, **options):
    """What a reader of odd_readers finds."""
    return gathered(
        isolated(getattr(odd_readers, name), path, given, "numpy", **options)
    )


@pytest.fixture(autouse=True)
def few_processes(request, monkeypatch):
    """Processes that find odd_readers, and end with the test."""
    monkeypatch.syspath_prepend(request.path.parent)
    end_processes()
    yield
    end_processes()


def test_what_a_reader_finds_arrives_as_it_is():
    found = read("all_kinds")
    assert found["text"] == {"ä": [1, None, 2.5, "x"]}
    assert found["path"] == str(Path("t.h5").absolute())
    np.testing.assert_array_equal(found["table"], np.arange(6).reshape(2, 3))
    assert found["table"].dtype == np.dtype(">i2")
    assert found["nothing"].shape == (0, 4)
    np.testing.assert_array_equal(found["announced"], [1, 2, 3, 4])
    assert found["announced"].dtype == np.float64


def test_an_array_that_ends_early_is_refused():
    with pytest.raises(DataFormatError, match="data cannot be read to the end"):
        gathered(iter([("sizes", {"data": [3, "f8"]}), ("data", np.ones(2))]))


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("refuse", DataFormatError, "not this one"),
        ("fail", ValueError, "what happened"),
        ("panic", ValueError, "panic"),
        ("take", DataFormatError, "unpacks to more than"),
        ("take_for_good", DataFormatError, "unpacks to more than"),
        ("send", DataFormatError, "unpacks to more than"),
        ("print_much", ValueError, "printed"),
    ],
)
def test_errors_of_a_reader_are_ours(name, error, message, monkeypatch):
    monkeypatch.setattr(process, "SPARE_ROOM", 1 << 27)
    with pytest.raises(error, match=message):
        read(name)
    assert read("all_kinds")["text"]


WHY_ENDED = {
    "SIGSEGV": "crash",
    "SIGABRT": "gave up",
    "SIGPROF": "takes more than 600 s of processor time",
    "SIGKILL": "was killed",
    "SIGTERM": "was killed",
}


@pytest.mark.parametrize("number", WHY_ENDED)
def test_a_signal_becomes_one_sentence(number):
    with pytest.raises(DataFormatError, match=WHY_ENDED[number]):
        read("end_by", number=int(getattr(signal, number)))
    assert read("all_kinds")["text"]


def test_the_system_ends_a_reader_that_spins():
    with pytest.raises(DataFormatError, match="processor time; it is damaged"):
        read("spin", given=FEW._replace(seconds=0.1))


def test_a_reader_writes_no_file(tmp_path):
    with pytest.raises(ValueError, match="File too large"):
        read("write", tmp_path / "t")
    assert not (tmp_path / "t").stat().st_size


def test_a_process_is_used_again():
    read("all_kinds")
    (first,) = process._IDLE
    with pytest.raises(DataFormatError):
        read("refuse")
    read("all_kinds")
    assert len(process._IDLE) == 1
    assert process._IDLE[0] is first


def test_a_process_that_has_ended_is_replaced():
    read("all_kinds")
    (first,) = process._IDLE
    first._process.kill()
    first._process.wait()
    assert read("all_kinds")["text"]


@pytest.mark.parametrize("interrupted", [False, True])
def test_whoever_stops_listening_ends_the_process(interrupted):
    items = isolated(odd_readers.count, Path("t"), FEW, "numpy")
    assert next(items)[0] == "number"
    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            items.throw(KeyboardInterrupt)
    items.close()
    assert process._IDLE == []


def test_threads_have_processes_of_their_own():
    ready = threading.Barrier(3)

    def run(_):
        items = isolated(odd_readers.count, Path("t"), FEW, "numpy")
        next(items)
        ready.wait(600)
        return sum(value for _, value in items)

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(run, range(3))) == [sum(range(1, 100))] * 3
    assert len(process._IDLE) == 3


def test_a_missing_library_is_named():
    items = isolated(odd_readers.count, Path("t.xlsx"), FEW, "python_calamine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "find_spec", lambda name: None)
        with pytest.raises(ImportError, match=r"t\.xlsx needs python_calamine"):
            next(items)


def test_limits_follow_from_the_size_and_from_what_is_given():
    small, large = limits.limits_for(10**4), limits.limits_for(10**9)
    assert small == (limits.SMALLEST, pytest.approx(limits.SECONDS, abs=0.1))
    assert large.unpacked == limits.MULTIPLE * 10**9
    assert large.seconds == pytest.approx(limits.SECONDS + 5000)
    trusted = limits.limits_for(10**4, 10**11)
    assert trusted.unpacked == 10**11
    assert trusted.seconds > large.seconds / 2


def test_the_process_loads_little():
    """Else each start would wait for scipy and more."""
    here = Path(process.__file__).parent
    ours = ("h5ad", "tenx", "biom", "parquet", "sheets")
    imports = "".join(f"import threecpo.io.{name}\n" for name in ours)
    code = process._START.replace("serve()", f"{imports}print(*sys.modules)")
    folders = json.dumps([str(here.parents[2]), *sys.path])
    done = run_python("-I", "-S", "-c", code, folders, check=True)
    heavy = {"scipy", "numba", "anndata", "sklearn", "pandas", "threecpo.table"}
    assert heavy.isdisjoint(done.stdout.split())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_copy_made_by_fork_starts_its_own():
    read("all_kinds")
    child = os.fork()
    if not child:
        os._exit(bool(process._IDLE))
    assert os.waitpid(child, 0)[1] == 0
