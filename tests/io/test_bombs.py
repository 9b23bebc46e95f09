"""Files that unpack without end are refused, and take little memory until then."""

import bz2
import gzip
import json
import lzma
import os
import socket
import sys
import textwrap
import zipfile
from pathlib import Path

import anndata
import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from tables import refused

import threecpo
from processes import run_python
from threecpo import CountTable, read_counts, write_counts
from threecpo.io import DataFormatError, limits
from threecpo.io import isolated as process
from threecpo.io.blocks import open_blocks, write_blocks

MTX = b"%%MatrixMarket matrix coordinate integer general\n"
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def packed(path, content):
    path.write_bytes(PACKERS[path.suffix](content))
    return path


def mtx(folder, n_bytes, suffix=".gz"):
    n_lines = n_bytes // 6
    head = MTX + b"9 9 %d\n" % n_lines
    return packed(folder / f"t.mtx{suffix}", head + b"1 1 1\n" * n_lines)


def csv_of_ones(folder, n_bytes):
    """Less text than the counts in it take."""
    return packed(folder / "t.csv.gz", b"a,b\n" + b"1,1\n" * (n_bytes // 12))


def triples(folder, n_bytes):
    return packed(folder / "t.csv.gz", b"a,b,count\n" + b"x,y,1\n" * (n_bytes // 6))


def tenx(folder, n_bytes):
    path = folder / "t"
    path.mkdir()
    packed(path / "matrix.mtx.gz", MTX + b"1 1 1\n1 1 1\n")
    packed(path / "features.tsv.gz", b"g\tg\n" * (n_bytes // 4))
    packed(path / "barcodes.tsv.gz", b"c\n")
    return path


def jsonl(folder, n_bytes):
    return packed(folder / "t.jsonl.gz", b'"a"\n' * (n_bytes // 4))


def biom_json(folder, n_bytes):
    path = folder / "t.biom"
    table = {"rows": [{"id": "o"}], "columns": [{"id": "s"}], "data": "DATA"}
    entries = b"[0,0,1]," * (n_bytes // 8) + b"[0,0,1]"
    content = json.dumps(table).encode().replace(b'"DATA"', b"[" + entries + b"]")
    path.write_bytes(gzip.compress(content))
    return path


def npz(folder, n_bytes):
    n_counts = n_bytes // 12
    matrix = sp.csr_array(
        (np.zeros(n_counts), np.zeros(n_counts, "i4"), [0, n_counts]), shape=(1, 1)
    )
    sp.save_npz(folder / "t.npz", matrix)
    return folder / "t.npz"


def h5ad(folder, X=None):
    table = CountTable(np.eye(3), column_names=list("abc"), row_names=list("uvw"))
    write_counts(table, folder / "t.h5ad")
    return folder / "t.h5ad"


def dense_h5ad(folder, n_bytes):
    import h5py

    path = h5ad(folder)
    with h5py.File(path, "r+") as file:
        del file["X"]
        shape = (n_bytes // 4000, 1000)
        packing = {"chunks": (shape[0] // 50, 1000), "compression": "gzip"}
        file.create_dataset("X", data=np.zeros(shape, "f4"), **packing)
    return path


def sparse_h5ad(folder, n_bytes):
    import h5py

    path = h5ad(folder)
    n_counts = n_bytes // 8
    with h5py.File(path, "r+") as file:
        for name in ("data", "indices"):
            del file[f"X/{name}"]
            packing = {"chunks": (1 << 16,), "compression": "gzip"}
            values = np.zeros(n_counts, "f4" if name == "data" else "i4")
            file.create_dataset(f"X/{name}", data=values, **packing)
        file["X/indptr"][:] = [0, n_counts, n_counts, n_counts]
    return path


def text_h5ad(folder, n_bytes):
    """Names of rows that are all the same long one, which is stored once."""
    import h5py

    path = h5ad(folder)
    with h5py.File(path, "r+") as file:
        attributes = dict(file["obs/_index"].attrs)
        del file["obs/_index"]
        texts = np.array(["x" * (n_bytes // 1000), *["y"] * 1999], dtype=object)
        file.create_dataset("obs/_index", data=texts, dtype=h5py.string_dtype())
        file["obs/_index"].attrs.update(attributes)
        at = file["obs/_index"].id.get_offset()
    content = bytearray(path.read_bytes())
    content[at : at + 16 * 2000] = content[at : at + 16] * 2000
    path.write_bytes(content)
    return path


def chunk_h5ad(folder, n_bytes):
    """A chunk that unpacks to far more than its size."""
    import zlib

    import h5py

    path = h5ad(folder)
    with h5py.File(path, "r+") as file:
        del file["X"]
        X = file.create_dataset(
            "X", (3, 3), "f4", chunks=(3, 3), compression="gzip", fillvalue=1
        )
        X.id.write_direct_chunk((0, 0), zlib.compress(b"\0" * (8 * n_bytes)))
    return path


def parquet_numbers(folder, n_bytes):
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"a": np.zeros(n_bytes // 8, "i8")})
    parquet.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def parquet_text(folder, n_bytes):
    """Names of rows that are all the same long one, which is stored once."""
    import pyarrow as pa
    from pyarrow import parquet

    n_rows = 1000
    names = pa.DictionaryArray.from_arrays(
        np.zeros(n_rows, "i4"), pa.array(["x" * (n_bytes // n_rows)])
    )
    table = pa.table({"id": names, "a": np.ones(n_rows, "i8")})
    # Without the schema of arrow the column is one of text.
    parquet.write_table(table, folder / "t.parquet", store_schema=False)
    return folder / "t.parquet"


def lying_npz(path, name, **changes):
    """Say another shape or type in the header of an array than it has."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    content = members[f"{name}.npy"]
    for old, new in changes.values():
        # The header keeps its length: it ends in spaces.
        assert old in content
        start = content.index(b"\n")
        header, rest = content[:start], content[start:]
        header = header.replace(old, new)
        content = header.rstrip(b" ").ljust(start, b" ") + rest
    members[f"{name}.npy"] = content
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return path


ALL = {
    maker.__name__: maker
    for maker in (
        *(mtx, csv_of_ones, triples, tenx, jsonl, biom_json, npz),
        *(dense_h5ad, sparse_h5ad, text_h5ad, parquet_numbers, parquet_text),
    )
}
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


@pytest.mark.parametrize("name", ALL)
def test_a_bomb_is_refused(name, small_limit, tmp_path):
    path = ALL[name](tmp_path, 4 * SMALL)
    options = {"text_options": {"stem": None}} if name == "jsonl" else {}
    refused(path, TOO_FAR, **options)


def test_a_file_that_is_trusted_may_unpack_further(small_limit, tmp_path):
    path = npz(tmp_path, 8 * SMALL)
    assert min(read_counts(path, max_unpacked="200MB").shape) > 0


def test_a_chunk_larger_than_it_says_is_refused(small_limit, tmp_path):
    refused(chunk_h5ad(tmp_path, 8 * SMALL), r"filter returned failure|unpacks")


@pytest.mark.parametrize("suffix", [".bz2", ".xz"])
def test_every_compression_is_bounded(suffix, small_limit, tmp_path):
    refused(mtx(tmp_path, 2 * SMALL, suffix), TOO_FAR)


def test_the_environment_names_another_limit(tmp_path, monkeypatch):
    path = npz(tmp_path, 8 * SMALL)
    monkeypatch.setenv("THREECPO_MAX_UNPACKED", "1MB")
    refused(path, "more than 1000000 bytes")
    assert read_counts(path, max_unpacked="1GB").shape == (1, 1)
    monkeypatch.setenv("THREECPO_MAX_UNPACKED", "much")
    refused(path, r"\.npz: THREECPO_MAX_UNPACKED='much' must be")
    with pytest.raises(ValueError, match="max_unpacked='x' must be a size such as"):
        read_counts(path, max_unpacked="x")


@pytest.mark.parametrize("kind", ["h5ad", "zarr", "npz", "parquet", "mtx"])
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_blocks_are_bounded(kind, small_limit, tmp_path):
    makers = {"h5ad": sparse_h5ad, "npz": npz, "parquet": parquet_numbers, "mtx": mtx}
    if kind == "zarr":
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
    ("name", "changes"),
    [
        ("data", {"shape": (b"(7,)", b"(4611686018427387904,)")}),
        ("row_names", {"shape": (b"(7,)", b"(9999999999,)")}),
        # Of texts of no letters, which take no room.
        (
            "row_names",
            {"kind": (b"'<U1'", b"'<U0'"), "shape": (b"(7,)", b"(999999999999,)")},
        ),
    ],
)
def test_an_array_that_claims_more_than_it_has_is_refused(name, changes, tmp_path):
    path = tmp_path / "t.npz"
    table = threecpo.CountTable(np.eye(7), row_names=list("abcdefg"))
    threecpo.write_counts(table, path)
    refused(lying_npz(path, name, **changes), f"its array '{name}' claims")


@pytest.mark.parametrize(
    ("sizes", "of"), [("10000000 10000000 1", "rows"), ("3 500000 1", "columns")]
)
def test_a_table_that_is_nearly_all_empty_is_refused(sizes, of, tmp_path):
    path = tmp_path / "t.mtx"
    path.write_bytes(MTX + sizes.encode() + b"\n1 1 1\n")
    refused(path, rf"it claims \d+ {of} for 1 counts")


def test_a_table_with_a_count_in_most_rows_is_read(tmp_path):
    rows = np.arange(0, 1_000_000, 3)
    ones = np.ones(len(rows), "i4")
    matrix = sp.csr_array((ones, (rows, rows % 7)), shape=(1_000_000, 7))
    sp.save_npz(tmp_path / "t.npz", matrix)
    assert read_counts(tmp_path / "t.npz").shape == (1_000_000, 7)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_a_bomb_takes_three_times_its_limit_at_most(tmp_path):
    csv_of_ones(tmp_path, 8 << 20)
    sparse_h5ad(tmp_path, 20 << 20)
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
    done = run_python(
        "-c",
        textwrap.dedent(code),
        str(tmp_path),
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
        refused(path, reason, format=kind)


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
    path = tenx(tmp_path, 4)
    (path / "matrix.mtx.gz").unlink()
    os.mkfifo(path / "matrix.mtx.gz")
    refused(path, "named pipe")
