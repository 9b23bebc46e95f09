"""Damaged files of every kind: a table, or our own error in one line."""

import gzip
import random
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from threecpo import CountTable, read_counts, write_counts
from threecpo.io import DataFormatError

TABLE = CountTable(
    np.random.default_rng(0).poisson(1, (6, 5)),
    row_names=[f"row {i}" for i in range(6)],
    column_names=[f"c{i}" for i in range(5)],
    labels=[0, 1, 1, 0, -1, 1],
    label_names=["u", "v"],
)
INSERTED = (
    *(b'"', b",", b"\n", b"\t", b"-", b"nan", b"1e999", b"9999999999", b"\x00" * 8),
    *(b"\xff" * 4, b"\x7f" * 8, b"\x1f\x8b", b"{", b"%"),
)


def written(tmp_path, kind):
    """A valid file or folder of some kind, and options to read it with."""
    if kind.startswith("biom"):
        biom = pytest.importorskip("biom")
        path = tmp_path / "t.biom"
        table = biom.Table(TABLE.X.toarray().T, list("abcde"), list("uvwxyz"))
        if kind == "biom in json":
            path.write_text(table.to_json("a test"))
        else:
            h5py = pytest.importorskip("h5py")
            with h5py.File(path, "w") as file:
                table.to_hdf5(file, "a test")
        return path, {}
    if kind == "jsonl":
        path = tmp_path / "t.jsonl"
        path.write_text('{"text": "cats and dogs"}\n{"text": "birds"}\n')
        return path, {"text_options": {"stem": None}}
    if kind == "10x":
        write_counts(TABLE, tmp_path / "t", format="10x")
        return tmp_path / "t", {}
    name, _, triples = kind.partition(" ")
    path = tmp_path / f"t.{name}"
    write_counts(TABLE, path, triples=bool(triples))
    labelled = name not in ("npz", "mtx", "mtx.gz") and not triples
    return path, {"labels": "label"} if labelled else {}


KINDS = (
    *("csv", "csv triples", "csv.gz", "tsv", "parquet", "parquet triples", "npz"),
    *("mtx", "mtx.gz", "10x", "h5ad", "biom", "biom in json", "jsonl"),
)


def mutated(rng, content):
    """Flip, cut, insert and overwrite some bytes."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(data) + 1)
        change = rng.randrange(6)
        if change == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif change == 1:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif change == 2:
            del data[at:]
        elif change == 3:
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif change == 4:
            del data[at : at + rng.randrange(1, 9)]
        else:
            data[at:at] = rng.choice(INSERTED)
    return bytes(data)


def outcome(path, options):
    """Whether a table came; anything but our own error fails the test."""
    with warnings.catch_warnings(record=True) as leaked:
        warnings.simplefilter("always")
        try:
            table = read_counts(path, **options)
        except DataFormatError as error:
            message = str(error)
            assert str(path) in message
            assert "\n" not in message
            assert len(message) < 600
            table = None
    # Files that garbage collection closes later are no warning of this file.
    assert [w for w in leaked if not issubclass(w.category, ResourceWarning)] == []
    if table is None:
        return False
    assert table.X.nnz == np.count_nonzero(table.X.data > 0)
    assert np.isfinite(table.X.data).all()
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_gives_a_table_or_our_own_error(kind, seed, tmp_path):
    path, options = written(tmp_path, kind)
    assert outcome(path, options)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    contents = {file: file.read_bytes() for file in files}
    refused = 0
    for trial in range(80):
        rng = random.Random(f"{kind} {seed} {trial}")
        file = rng.choice(files)
        content = contents[file]
        if file.suffix == ".gz" and rng.random() < 0.7:
            inner = mutated(rng, gzip.decompress(content))
            file.write_bytes(gzip.compress(inner, mtime=0))
        else:
            file.write_bytes(mutated(rng, content))
        refused += not outcome(path, options)
        file.write_bytes(content)
    assert refused > 20


@given(st.binary(max_size=200))
@example(b"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1\x8a")
@example(b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 " + b"1" * 99)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_a_table_or_our_own_error(tmp_path, content):
    for name in ("t", "t.csv", "t.mtx", "t.npz", "t.jsonl", "t.biom"):
        path = tmp_path / name
        path.write_bytes(content)
        outcome(path, {})


@given(
    st.text(st.sampled_from('01.9-e,\t;|"\n\r ax#%{}[]:\ufeff\0é'), max_size=60),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, True, False]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_any_text_gives_a_table_or_our_own_error(tmp_path, text, header, triples):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    outcome(path, {"header": header, "triples": triples})
