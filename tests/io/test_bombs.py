"""Files that unpack without end are refused, and take little memory until then."""

import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import bombs
import numpy as np
import pytest
import scipy.sparse as sp

import threecpo
from threecpo import read_counts
from threecpo.io import DataFormatError, limits
from threecpo.io import isolated as process
from threecpo.io.blocks import open_blocks, write_blocks

SMALL = 1 << 20
TOO_FAR = (
    r"unpacks to more than \d+ bytes; if it comes from somebody you trust, allow more "
    r"by max_unpacked= or THREECPO_MAX_UNPACKED"
)


@pytest.fixture
def small_limit(monkeypatch):
    """A limit of megabytes, so that bombs need not be large."""
    monkeypatch.setattr(limits, "SMALLEST", SMALL)
    monkeypatch.setattr(limits, "MULTIPLE", 10)
    monkeypatch.setattr(process, "SPARE_ROOM", 1 << 25)


@pytest.mark.parametrize("name", bombs.ALL)
def test_a_bomb_is_refused(name, small_limit, tmp_path):
    path = bombs.ALL[name](tmp_path, 4 * SMALL)
    options = {"text_options": {"stem": None}} if name == "jsonl" else {}
    with pytest.raises(DataFormatError, match=TOO_FAR):
        read_counts(path, **options)


def test_a_file_that_is_trusted_may_unpack_further(small_limit, tmp_path):
    path = bombs.npz(tmp_path, 8 * SMALL)
    assert min(read_counts(path, max_unpacked="200MB").shape) > 0


def test_a_chunk_larger_than_it_says_is_refused(small_limit, tmp_path):
    with pytest.raises(DataFormatError, match=r"filter returned failure|unpacks"):
        read_counts(bombs.chunk_h5ad(tmp_path, 8 * SMALL))


@pytest.mark.parametrize("suffix", [".bz2", ".xz"])
def test_every_compression_is_bounded(suffix, small_limit, tmp_path):
    with pytest.raises(DataFormatError, match=TOO_FAR):
        read_counts(bombs.mtx(tmp_path, 2 * SMALL, suffix))


def test_the_environment_names_another_limit(tmp_path, monkeypatch):
    path = bombs.npz(tmp_path, 8 * SMALL)
    monkeypatch.setenv("THREECPO_MAX_UNPACKED", "1MB")
    with pytest.raises(DataFormatError, match="more than 1000000 bytes"):
        read_counts(path)
    assert read_counts(path, max_unpacked="1GB").shape == (1, 1)
    monkeypatch.setenv("THREECPO_MAX_UNPACKED", "much")
    with pytest.raises(DataFormatError, match="THREECPO_MAX_UNPACKED='much' must be"):
        read_counts(path)
    with pytest.raises(ValueError, match="max_unpacked='x' must be a size such as"):
        read_counts(path, max_unpacked="x")


@pytest.mark.parametrize("kind", ["h5ad", "zarr", "npz", "parquet", "mtx"])
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_blocks_are_bounded(kind, small_limit, tmp_path):
    makers = {
        "h5ad": bombs.sparse_h5ad,
        "npz": bombs.npz,
        "parquet": bombs.parquet_numbers,
        "mtx": bombs.mtx,
    }
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        anndata = pytest.importorskip("anndata")
        path = tmp_path / "t.zarr"
        anndata.AnnData(np.eye(3, dtype="f4")).write_zarr(path)
        group = zarr.open_group(path, mode="r+")
        del group["X"]
        zeros = np.zeros((2 * SMALL, 3), "f4")
        group.create_array("X", data=zeros, chunks=(SMALL // 8, 3))
        zarr.consolidate_metadata(path)
    else:
        path = makers[kind](tmp_path, 8 * SMALL)
    with (
        pytest.raises(DataFormatError, match="unpacks to more than"),
        open_blocks(path) as source,
    ):
        all(read() for read in source.readers)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("data", b"(4611686018427387904,)"), ("row_names", b"(9999999999,)")],
)
def test_an_array_that_claims_more_than_it_has_is_refused(name, shape, tmp_path):
    path = tmp_path / "t.npz"
    table = threecpo.CountTable(np.eye(7), row_names=list("abcdefg"))
    threecpo.write_counts(table, path)
    bombs.lying_npz(path, name, shape=(b"(7,)", shape))
    with pytest.raises(DataFormatError, match=f"its array '{name}' claims"):
        read_counts(path)


def test_an_array_of_nothing_is_refused(tmp_path):
    path = tmp_path / "t.npz"
    table = threecpo.CountTable(np.eye(7), row_names=list("abcdefg"))
    threecpo.write_counts(table, path)
    changes = {"kind": (b"'<U1'", b"'<U0'"), "shape": (b"(7,)", b"(999999999999,)")}
    bombs.lying_npz(path, "row_names", **changes)
    with pytest.raises(DataFormatError, match="its array 'row_names' claims"):
        read_counts(path)


@pytest.mark.parametrize(
    ("sizes", "of"), [("10000000 10000000 1", "rows"), ("3 500000 1", "columns")]
)
def test_a_table_that_is_nearly_all_empty_is_refused(sizes, of, tmp_path):
    path = tmp_path / "t.mtx"
    path.write_bytes(bombs.MTX + sizes.encode() + b"\n1 1 1\n")
    with pytest.raises(DataFormatError, match=rf"it claims \d+ {of} for 1 counts"):
        read_counts(path)


def test_a_table_with_a_count_in_most_rows_is_read(tmp_path):
    rows = np.arange(0, 1_000_000, 3)
    ones = np.ones(len(rows), "i4")
    matrix = sp.csr_array((ones, (rows, rows % 7)), shape=(1_000_000, 7))
    sp.save_npz(tmp_path / "t.npz", matrix)
    assert read_counts(tmp_path / "t.npz").shape == (1_000_000, 7)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_a_bomb_takes_three_times_its_limit_at_most(tmp_path):
    bombs.csv_of_ones(tmp_path, 8 << 20)
    bombs.sparse_h5ad(tmp_path, 20 << 20)
    code = """
        import sys
        from pathlib import Path
        import threecpo, threecpo._core.loops.records
        def peak():
            status = Path("/proc/self/status").read_text().split()
            return int(status[status.index("VmHWM:") + 1])
        before = peak()
        for path in Path(sys.argv[1]).iterdir():
            try:
                threecpo.read_counts(path, max_unpacked=2**24)
            except ValueError as error:
                assert "unpacks to more than" in str(error)
                print(peak() - before)
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    # Besides, text is read in blocks of 4 MB, which take 200 MB while they are cut.
    assert len(done.stdout.split()) == 2
    assert int(done.stdout.split()[-1]) < (3 << 14) + (1 << 18)


@pytest.mark.parametrize("what", ["pipe", "socket", "device", "folder"])
def test_what_is_no_file_is_refused_and_not_waited_for(what, tmp_path, monkeypatch):
    # Names of sockets are short.
    monkeypatch.chdir(tmp_path)
    path = Path("t.csv")
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    elif what == "folder":
        path.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    for kind in ("csv", "parquet", "npz", "mtx", "h5ad", "biom", "jsonl", None):
        reason = (
            "neither a matrix" if (what, kind) == ("folder", None) else "not a file"
        )
        with pytest.raises(DataFormatError, match=reason):
            read_counts(path, format=kind)


def test_blocks_are_files(tmp_path):
    for suffix in (".npz", ".h5ad", ".parquet", ".mtx"):
        os.mkfifo(tmp_path / f"t{suffix}")
        with pytest.raises(DataFormatError), open_blocks(tmp_path / f"t{suffix}"):
            pass
    folder = tmp_path / "blocks"
    write_blocks([np.eye(3)], folder)
    (folder / "000000.npz").unlink()
    os.mkfifo(folder / "000001.npz")
    with (
        pytest.raises(DataFormatError, match="named pipe"),
        open_blocks(folder) as source,
    ):
        source.readers[0]()


def test_pipes_in_a_10x_folder_are_refused(tmp_path):
    path = bombs.tenx(tmp_path, 4)
    (path / "matrix.mtx.gz").unlink()
    os.mkfifo(path / "matrix.mtx.gz")
    with pytest.raises(DataFormatError, match="named pipe"):
        read_counts(path)
