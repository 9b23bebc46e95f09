"""HDF5 files of strangers: they read no other file, and do not hang or crash us."""

import os
import signal
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from threecpo import read_counts
from threecpo.io import DataFormatError, guarded
from threecpo.io.blocks import open_blocks
from threecpo.io.guarded import fences, pieces, process

h5py = pytest.importorskip("h5py")

Y = np.array([[3.0, 0, 1], [0, 5, 0]], dtype=np.float32)
TEXT = h5py.string_dtype()


def encoded(item, kind, version):
    item.attrs["encoding-type"] = kind
    item.attrs["encoding-version"] = version
    return item


def write_frame(file, name, size, categories=None):
    frame = encoded(file.create_group(name), "dataframe", "0.2.0")
    frame.attrs["_index"] = "_index"
    frame.attrs["column-order"] = np.array(["kind"] if categories else [], dtype=TEXT)
    frame["_index"] = np.array([f"{name}{i}" for i in range(size)], dtype=TEXT)
    encoded(frame["_index"], "string-array", "0.2.0")
    if categories:
        group = encoded(frame.create_group("kind"), "categorical", "0.2.0")
        group.attrs["ordered"] = False
        group["codes"] = np.zeros(size, dtype=np.int8)
        group["categories"] = np.array(categories, dtype=TEXT)
        encoded(group["categories"], "string-array", "0.2.0")


def write_sparse(file, name):
    matrix = sp.csr_matrix(Y)
    group = encoded(file.create_group(name), "csr_matrix", "0.1.0")
    group.attrs["shape"] = Y.shape
    for part in ("data", "indices", "indptr"):
        group[part] = getattr(matrix, part)


def write_h5ad(path):
    """A file as anndata writes it, with every object that may be read."""
    with h5py.File(path, "w") as file:
        for name in ("X", "layers/more", "raw/X"):
            write_sparse(file, name)
        file["layers/dense"] = Y
        write_frame(file, "obs", 2, ["a", "b"])
        write_frame(file, "var", 3)
        write_frame(file, "raw/var", 3)


def write_biom(path):
    matrix = sp.csr_matrix(Y)
    with h5py.File(path, "w") as file:
        for part in ("data", "indices", "indptr"):
            file[f"sample/matrix/{part}"] = getattr(matrix, part)
        file["sample/ids"] = np.array(["s1", "s2"], dtype=TEXT)
        file["observation/ids"] = np.array(["o1", "o2", "o3"], dtype=TEXT)


IN_H5AD = (
    *(({}, f"X{part}") for part in ("", "/data", "/indices", "/indptr")),
    *(({}, f"{frame}{part}") for frame in ("obs", "var") for part in ("", "/_index")),
    *(({"layer": "more"}, f"layers{part}") for part in ("", "/more", "/more/data")),
    ({"layer": "dense"}, "layers/dense"),
    *(({"layer": "raw"}, f"raw{part}") for part in ("", "/X", "/X/data")),
    *(({"layer": "raw"}, f"raw/var{part}") for part in ("", "/_index")),
    *(({"labels": "kind"}, f"obs/kind{p}") for p in ("", "/codes", "/categories")),
)
IN_BIOM = (
    *("sample", "sample/ids", "sample/matrix", "sample/matrix/data"),
    *("sample/matrix/indices", "sample/matrix/indptr"),
    *("observation", "observation/ids"),
)
PLACES = [
    *(("h5ad", place, options) for options, place in IN_H5AD),
    *(("biom", place, {}) for place in IN_BIOM),
]


@pytest.fixture
def secret(tmp_path):
    """Another file of this machine, with the same objects and other counts."""
    path = tmp_path / "secret.h5"
    write_h5ad(path)
    with h5py.File(path, "r+") as file:
        file.move("raw", "kept")
        matrix = sp.csr_matrix(7 * Y)
        for part in ("data", "indices", "indptr"):
            file[f"sample/matrix/{part}"] = getattr(matrix, part)
        file["sample/ids"] = np.array(["t1", "t2"], dtype=TEXT)
        file["observation/ids"] = np.array(["t1", "t2", "t3"], dtype=TEXT)
        file.move("kept", "raw")
    return path


def written(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    (write_h5ad if kind == "h5ad" else write_biom)(path)
    return path


def replace(path, place, make):
    with h5py.File(path, "r+") as file:
        old = file[place]
        attributes = dict(old.attrs)
        is_group = isinstance(old, h5py.Group)
        values = None if is_group else old[:]
        del file[place]
        make(file, values)
        if not is_group and place in file and isinstance(file[place], h5py.Dataset):
            file[place].attrs.update(attributes)


@pytest.mark.parametrize(("kind", "place", "options"), PLACES)
def test_links_to_other_files_are_refused(kind, place, options, tmp_path, secret):
    path = written(tmp_path, kind)
    assert read_counts(path, **options).shape == Y.shape

    def link(file, _):
        file[place] = h5py.ExternalLink(str(secret), f"/{place}")

    replace(path, place, link)
    with pytest.raises(DataFormatError, match=f"/{place}.*link to another file"):
        read_counts(path, **options)


@pytest.mark.parametrize("kind", ["h5ad", "biom"])
def test_a_link_inside_to_a_link_outside_is_refused(kind, tmp_path, secret):
    path = written(tmp_path, kind)
    place = "X" if kind == "h5ad" else "sample"

    def link(file, _):
        file["door"] = h5py.ExternalLink(str(secret), "/")
        file[place] = h5py.SoftLink(f"/door/{place}")

    replace(path, place, link)
    with pytest.raises(DataFormatError, match="link to another file"):
        read_counts(path)


ARRAYS = [
    ("h5ad", "X/data", {}),
    ("h5ad", "X/indptr", {}),
    ("h5ad", "layers/dense", {"layer": "dense"}),
    ("h5ad", "raw/X/indices", {"layer": "raw"}),
    ("h5ad", "obs/kind/codes", {"labels": "kind"}),
    ("biom", "sample/matrix/data", {}),
    ("biom", "sample/matrix/indptr", {}),
]
NAMES = [
    ("h5ad", "obs/_index", {}),
    ("h5ad", "obs/kind/categories", {"labels": "kind"}),
    ("biom", "observation/ids", {}),
]


@pytest.mark.parametrize(("kind", "place", "options"), ARRAYS)
def test_values_in_other_files_are_refused(kind, place, options, tmp_path):
    path = written(tmp_path, kind)
    other = tmp_path / "other.bin"

    def outside(file, values):
        other.write_bytes(values.tobytes())
        stored = [(str(other), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset(place, values.shape, values.dtype, external=stored)

    replace(path, place, outside)
    with pytest.raises(DataFormatError, match=f"/{place} holds its values in other"):
        read_counts(path, **options)


@pytest.mark.parametrize(("kind", "place", "options"), [*ARRAYS, *NAMES])
def test_virtual_data_sets_are_refused(kind, place, options, tmp_path, secret):
    path = written(tmp_path, kind)

    def virtual(file, values):
        dtype = values.dtype if values.dtype != object else TEXT
        layout = h5py.VirtualLayout(values.shape, dtype)
        layout[:] = h5py.VirtualSource(secret, place, values.shape, dtype)
        file.create_virtual_dataset(place, layout)

    replace(path, place, virtual)
    with pytest.raises(DataFormatError, match=f"/{place} holds its values in other"):
        read_counts(path, **options)


def test_links_inside_a_file_are_followed(tmp_path):
    path = written(tmp_path, "h5ad")
    with h5py.File(path, "r+") as file:
        file.move("X", "stored")
        file["X"] = h5py.SoftLink("/stored")
        file.move("obs/_index", "stored/names")
        file["obs/_index"] = h5py.SoftLink("/stored/names")
    table = read_counts(path)
    np.testing.assert_array_equal(table.X.toarray(), Y)
    assert table.row_names.tolist() == ["obs0", "obs1"]


@pytest.mark.parametrize("target", ["/X", "/Z", "/X/data", "/layers/../X", "nowhere"])
def test_links_in_circles_and_to_nowhere_are_refused(target, tmp_path):
    path = written(tmp_path, "h5ad")
    with h5py.File(path, "r+") as file:
        del file["X"]
        file["X"] = h5py.SoftLink(target)
        file["Z"] = h5py.SoftLink("/X")
    with pytest.raises(DataFormatError, match=r"more than 16 links|it lacks /X"):
        read_counts(path)


def test_a_group_in_itself_is_no_trouble(tmp_path):
    path = written(tmp_path, "h5ad")
    with h5py.File(path, "r+") as file:
        file["X/again"] = file["X"]
        file["layers/all"] = file["/"]
    np.testing.assert_array_equal(read_counts(path, layer="X").X.toarray(), Y)
    with pytest.raises(DataFormatError):
        read_counts(path, layer="all")


def test_the_column_of_names_is_one_of_the_frame(tmp_path):
    path = written(tmp_path, "h5ad")
    for name in ("../var/_index", "/var/_index", "kind/categories", "", "x"):
        with h5py.File(path, "r+") as file:
            file["obs"].attrs["_index"] = name
        with pytest.raises(DataFormatError, match="which of its columns"):
            read_counts(path)


def test_blocks_follow_no_links_either(tmp_path, secret):
    path = written(tmp_path, "h5ad")
    with h5py.File(path, "r+") as file:
        del file["X"]
        file["X"] = h5py.ExternalLink(str(secret), "/X")
    with (
        pytest.raises(DataFormatError, match="link to another file"),
        open_blocks(path),
    ):
        pass


def with_broken_heap(path):
    """Break the list of texts of a file, so that libhdf5 (2.0) walks it for ever."""
    content = bytearray(path.read_bytes())
    # The size of the first text, behind the head of the list and its own number.
    struct.pack_into("<q", content, content.index(b"GCOL") + 16 + 8, 2600)
    path.write_bytes(content)


@pytest.mark.parametrize("kind", ["h5ad", "biom"])
def test_a_file_that_makes_the_library_spin_ends_in_our_error(
    kind, tmp_path, monkeypatch
):
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
    "SIGABRT": "crash",
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
@pytest.mark.parametrize("number", WHY_ENDED)
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
        copy = copy_of(running)
        running.end()
        running.sound = False
    deadline = time.monotonic() + 600
    while Path(f"/proc/{copy}/exe").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{copy}/exe").exists()


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


@pytest.mark.parametrize("chunks", [(50, 1), (1, 31), (7, 4), (50, 31)])
@pytest.mark.parametrize("size", [40, 400, 4000])
def test_pieces_of_any_size_are_the_same_rows(chunks, size, monkeypatch):
    dense = np.random.default_rng(0).poisson(1, (50, 31)).astype("f4")
    monkeypatch.setattr(pieces, "PIECE", size)
    values = pieces.Values(dense, "<f4", dense.shape, 4, chunks)
    for start, stop in ((0, 50), (3, 22), (49, 50)):
        sent = []
        pieces.send_rows(values, start, stop, sent.append)
        np.testing.assert_array_equal(np.vstack(sent[1:]), dense[start:stop])


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
