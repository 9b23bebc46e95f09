"""Small files that unpack, or claim to unpack, to very much."""

import bz2
import gzip
import json
import lzma
import zipfile

import numpy as np
import scipy.sparse as sp

from threecpo import CountTable, write_counts

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
