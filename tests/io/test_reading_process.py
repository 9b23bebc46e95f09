"""The process that reads files of strangers: it ends, whatever happens in it."""

import os
import select
import signal
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from threecpo import read_counts
from threecpo.io import DataFormatError, guarded
from threecpo.io.guarded import fences, pieces, process

h5py = pytest.importorskip("h5py")

from hdf5_files import Y, written  # noqa: E402


def with_broken_heap(path):
    """Break the list of texts of a file, so that libhdf5 (2.0) walks it for ever."""
    content = bytearray(path.read_bytes())
    # The size of the first text, behind the head of the list and its own number.
    struct.pack_into("<q", content, content.index(b"GCOL") + 16 + 8, 2600)
    path.write_bytes(content)


def test_a_file_that_makes_the_library_spin_ends_in_our_error(tmp_path, monkeypatch):
    kind = "h5ad"
    path = written(tmp_path, kind)
    with_broken_heap(path)
    monkeypatch.setattr(fences, "SECONDS", 0.5)
    with pytest.raises(DataFormatError, match=r"t\.(h5ad|biom).*damaged"):
        read_counts(path)
    assert read_counts(written(tmp_path, kind)).shape == Y.shape


LOOP = """
import signal, sys, types
package = sys.modules["guarded"] = types.ModuleType("guarded")
package.__path__ = [sys.argv[1]]
from guarded import fences
fences.prepare_signals()
fences.SECONDS = 0.2
with fences.timed():
    while True:
        pass
"""


@pytest.mark.skipif(not hasattr(signal, "SIGPROF"), reason="no such timers")
def test_the_system_ends_a_process_that_spins():
    folder = str(Path(guarded.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LOOP, folder], timeout=600, check=False
    )
    assert done.returncode == -signal.SIGPROF


def kill_when_asked(monkeypatch, number):
    """Send a signal to the process when values are asked for."""
    ask = process.ReadingProcess.ask

    def asked(self, **request):
        if request["do"] == "read":
            os.kill(self._process.pid, number)
        ask(self, **request)

    monkeypatch.setattr(process.ReadingProcess, "ask", asked)


WHY_ENDED = {
    "SIGSEGV": "crash",
    "SIGABRT": "has given up",
    "SIGPROF": "work without end",
    "SIGKILL": "ended from outside",
    "SIGTERM": "ended from outside",
}


@pytest.mark.parametrize("number", WHY_ENDED)
def test_a_crash_of_the_library_is_our_error(number, tmp_path, monkeypatch):
    path = written(tmp_path, "h5ad")
    with monkeypatch.context() as patch:
        kill_when_asked(patch, getattr(signal, number))
        with pytest.raises(DataFormatError, match=WHY_ENDED[number]):
            read_counts(path)
    assert read_counts(path).shape == Y.shape


@pytest.mark.skipif(
    not Path(f"/proc/self/task/{os.getpid()}/children").exists(),
    reason="the system does not list children of processes",
)
@pytest.mark.parametrize("number", ["SIGSEGV", "SIGKILL"])
def test_a_crash_of_the_copy_that_reads_is_our_error(number, tmp_path):
    path = written(tmp_path, "h5ad")
    with guarded.open_hdf5(path, "io", "This") as file:
        os.kill(copy_of(file._file.process), getattr(signal, number))
        with pytest.raises(DataFormatError, match=WHY_ENDED[number]):
            file["X"]
    assert read_counts(path).shape == Y.shape


def test_a_long_request_arrives_whole(tmp_path):
    path = written(tmp_path, "h5ad")
    with (
        pytest.raises(DataFormatError, match="lacks x"),
        guarded.open_hdf5(path, "io", "This") as file,
    ):
        file._file["x" * 10**6]


def copy_of(running):
    """Process that reads the file, a child of the one that is asked."""
    children = Path(f"/proc/{running._process.pid}/task").glob("*/children")
    (copy,) = " ".join(each.read_text() for each in children).split()
    return int(copy)


def test_ctrl_c_ends_the_reading_process(tmp_path, monkeypatch):
    path = written(tmp_path, "h5ad")
    receive, seen = process.ReadingProcess.receive, []

    def interrupted(self):
        if seen:
            signal.raise_signal(signal.SIGINT)
        seen.append(self)
        return receive(self)

    process.IDLE.end()
    monkeypatch.setattr(process.ReadingProcess, "receive", interrupted)
    # It may be ignored here, as it is behind nohup.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        read_counts(path)
    signal.signal(signal.SIGINT, before)
    assert not seen[0].alive


def test_a_process_is_used_again_and_ends_when_idle(tmp_path, monkeypatch):
    path = written(tmp_path, "h5ad")
    process.IDLE.end()
    read_counts(path)
    (first,) = process.IDLE._processes
    read_counts(path)
    assert process.IDLE._processes == [first]
    # As if it had waited for too long, between being looked at and being asked.
    first._requests.close()
    first._process.wait()
    first._requests = open(os.devnull, "wb")  # noqa: PTH123, SIM115
    monkeypatch.setattr(process.ReadingProcess, "alive", True)
    assert read_counts(path).shape == Y.shape
    first._requests.close()


def test_a_process_outlives_errors_of_the_library(tmp_path):
    path = written(tmp_path, "h5ad")
    process.IDLE.end()
    read_counts(path)
    (first,) = process.IDLE._processes
    path.write_bytes(path.read_bytes()[:-900])
    with pytest.raises(DataFormatError, match="truncated"):
        read_counts(path)
    assert process.IDLE._processes == [first]
    assert read_counts(written(tmp_path, "h5ad")).shape == Y.shape


@pytest.mark.skipif(
    not Path(f"/proc/self/task/{os.getpid()}/children").exists(),
    reason="the system does not list children of processes",
)
def test_the_copy_that_reads_ends_with_its_process(tmp_path):
    path = written(tmp_path, "h5ad")
    process.IDLE.end()
    with guarded.open_hdf5(path, "io", "This") as file:
        running = file._file.process
        copy = os.pidfd_open(copy_of(running))
        running.end()
        running.sound = False
        ended, _, _ = select.select([copy], [], [], 600)
        os.close(copy)
    assert ended


def test_the_file_is_not_kept_open(tmp_path):
    path = written(tmp_path, "h5ad")
    read_counts(path)
    with h5py.File(path, "r+") as file:
        file["X/data"][0] = 9
    assert read_counts(path).X[0, 0] == 9


def test_threads_have_processes_of_their_own(tmp_path):
    path = written(tmp_path, "h5ad")
    process.IDLE.end()
    ready = threading.Barrier(3)

    def read(_):
        with guarded.open_hdf5(path, "io", "This") as file:
            ready.wait(600)
            return file["X"]["data"][:].tolist()

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(read, range(3))) == [[3, 1, 5]] * 3
    assert len(process.IDLE._processes) == 3


@pytest.mark.parametrize(
    ("chunks", "size"), [((50, 1), 40), ((1, 31), 400), ((7, 4), 400), ((50, 31), 4000)]
)
def test_pieces_of_any_size_are_the_same_rows(chunks, size, monkeypatch):
    dense = np.random.default_rng(0).poisson(1, (50, 31)).astype("f4")
    monkeypatch.setattr(pieces, "PIECE", size)
    values = pieces.Values(dense, "<f4", dense.shape, 4, chunks)
    for start, stop in ((0, 50), (3, 22), (49, 50)):
        sent = []
        pieces.send_rows(values, start, stop, sent.append)
        np.testing.assert_array_equal(np.vstack(sent[2::2]), dense[start:stop])


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [("<i8", 0, 255), (">i8", 0, 256), ("<i2", -1, 9), ("|b1", 0, 1), ("<f8", 0, 9)],
)
def test_whole_numbers_are_sent_narrow_and_arrive_as_they_are(
    kind, least, most, tmp_path
):
    values = np.array([least, most, 3] * 9).astype(kind)
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["t"] = values
    with guarded.open_hdf5(tmp_path / "t.h5", "io", "This") as file:
        found = file["t"][:]
        parts = [part.copy() for part in file["t"].parts()]
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)
    np.testing.assert_array_equal(np.concatenate(parts), values)
    whole = values.dtype.kind in "iu" and values.min() >= 0
    most = np.min_scalar_type(values.max()) if whole else values.dtype
    assert {part.itemsize for part in parts} == {most.itemsize}


def test_chunks_of_any_shape_give_the_same_values(tmp_path):
    rng = np.random.default_rng(0)
    dense = rng.poisson(1, (50, 31)).astype("f4")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        for i, chunks in enumerate([None, (50, 1), (1, 31), (7, 4), (50, 31)]):
            file.create_dataset(
                f"{i}", data=dense, chunks=chunks, compression=chunks and "gzip"
            )
        file.create_dataset("line", data=dense[:, 0], chunks=(3,))
        file["none"] = np.zeros((5, 0))
        file["big endian"] = dense.astype(">i8")
    with guarded.open_hdf5(tmp_path / "t.h5", "io", "This") as file:
        for i in range(5):
            for start, stop in ((0, 50), (3, 22), (49, 50), (7, 7)):
                np.testing.assert_array_equal(
                    file[f"{i}"][start:stop], dense[start:stop]
                )
        np.testing.assert_array_equal(file["line"][5:44], dense[5:44, 0])
        np.testing.assert_array_equal(file["big endian"][:], dense)
        assert file["none"][:].shape == (5, 0)


def test_the_modules_of_the_process_import_nothing_else():
    """Else each start would wait for scipy and more."""
    code = process._START.replace("main()", "print(*sys.modules)")
    folders = [str(process._FOLDER), str(process.folder_of("h5py"))]
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            code,
            *folders,
            str(Path(np.__path__[0]).parent),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"scipy", "threecpo", "anndata", "sklearn", "pandas"}.isdisjoint(
        done.stdout.split()
    )
