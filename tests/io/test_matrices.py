"""npz, MatrixMarket and 10x folders, and the rows that are made of their entries."""

import gzip
import pickle
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tables import refused

from containers import scattered
from model_files import Planted
from threecpo import read_counts
from threecpo.io import DataFormatError
from threecpo.io import mtx as _mtx
from threecpo.io import npz as npz_arrays
from threecpo.io.content import csr_rows
from threecpo.io.mtx import to_rows

Y = np.array([[3, 0, 1], [0, 5, 0]])


@pytest.mark.parametrize(
    ("kind", "make", "dtype"),
    [
        ("csr", sp.csr_matrix, np.uint8),
        ("csc", sp.csr_array, np.float32),
        ("coo", sp.csr_matrix, np.int64),
        ("csr", sp.csr_array, bool),
    ],
)
def test_what_scipy_saves_is_read(kind, make, dtype, tmp_path):
    matrix = make(Y.astype(dtype)).asformat(kind)
    sp.save_npz(tmp_path / "m.npz", matrix)
    table = read_counts(tmp_path / "m.npz")
    np.testing.assert_array_equal(table.X.toarray(), matrix.toarray().astype(int))
    assert table.row_names is None


def test_a_data_set_is_read_with_labels_and_names(data_dir, load_data):
    X, labels = load_data("bbcsports")
    table = read_counts(data_dir / "bbcsports.npz")
    assert (table.X != X).nnz == 0
    np.testing.assert_array_equal(table.labels, labels)
    assert len(table.column_names) == X.shape[1]
    assert table.n_clusters == len(table.label_names)


def test_npz_is_turned_round_only_without_labels(tmp_path):
    sp.save_npz(tmp_path / "m.npz", sp.csr_array(Y))
    turned = read_counts(tmp_path / "m.npz", transpose=True)
    np.testing.assert_array_equal(turned.X.toarray(), Y.T)
    parts = sp.csr_array(Y)
    np.savez(
        tmp_path / "l.npz",
        data=parts.data,
        indices=parts.indices,
        indptr=parts.indptr,
        shape=Y.shape,
        labels=[0, 1],
    )
    refused(tmp_path / "l.npz", "cannot be combined with labels", transpose=True)


def saved(path, **changes):
    matrix = sp.csr_array(Y)
    arrays = {
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "shape": np.array(Y.shape),
    }
    arrays |= changes
    given = {name: value for name, value in arrays.items() if value is not None}
    np.savez(path, **given)
    return path


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"indices": None}, "not a sparse matrix; write one with scipy"),
        ({"format": np.array("bsr")}, "in format csr, csc or coo"),
        ({"indices": np.array([0, 2, 99])}, "damaged or in another format"),
        ({"shape": np.array([2, 2**40])}, "it claims 1099511627776 columns"),
        ({"shape": np.array([2])}, "damaged|dimensions"),
        ({"data": np.array([1.0, np.nan, 2])}, "row 1, column 3 holds NaN"),
        ({"data": np.array([1, 2, -3])}, "row 2, column 2 holds -3"),
        ({"data": np.array([1, 2, 2**60])}, "counts must be below"),
        ({"data": np.array([1, 2, 3j])}, "values are of type complex128"),
        ({"feature_names": np.array(["a", "b"])}, "2 names for 3 columns"),
        ({"feature_names": np.arange(3)}, "feature_names are of type int64"),
        ({"row_names": np.array(["a", "a"])}, "rows 1 and 2 are both called 'a'"),
        ({"labels": np.array([0])}, "labels"),
        ({"labels": np.array([0, 7]), "label_names": np.array(["a"])}, "labels go up"),
        ({"labels": np.array([0.5, 1])}, "labels must be integers"),
    ],
)
def test_arrays_that_do_not_go_together_are_refused(changes, reason, tmp_path):
    refused(saved(tmp_path / "m.npz", **changes), reason)


def test_npz_is_never_unpickled(tmp_path):
    mark = tmp_path / "mark"
    planted = np.array([Planted(mark)], dtype=object)
    for field in ("data", "format", "labels", "row_names"):
        refused(saved(tmp_path / "m.npz", **{field: planted}), "damaged")
    (tmp_path / "p.npz").write_bytes(pickle.dumps(Planted(mark)))
    refused(tmp_path / "p.npz", "damaged")
    np.save(tmp_path / "q", planted)
    refused(tmp_path / "q.npy", "not recognised")
    refused(tmp_path / "q.npy", "it holds no arrays|damaged", format="npz")
    assert not mark.exists()
    # The plant is alive.
    pickle.loads((tmp_path / "p.npz").read_bytes()).close()
    assert mark.exists()


MTX = (
    b"%%MatrixMarket matrix coordinate integer general\n% remark\n"
    b"2 3 3\n1 1 3\n1 3 1\n2 2 5\n"
)


@pytest.mark.parametrize("name", ["m.mtx.gz", "m.mm", "matrix"])
def test_a_matrix_market_file_is_read(name, tmp_path):
    content = gzip.compress(MTX) if name.endswith(".gz") else MTX
    (tmp_path / name).write_bytes(content)
    np.testing.assert_array_equal(read_counts(tmp_path / name).X.toarray(), Y)


@pytest.mark.parametrize(
    "content",
    [
        MTX.rstrip(),
        MTX.replace(b"\n", b"\r\n"),
        MTX.replace(b" ", b"  "),
        MTX.replace(b"1 3 1", b" 1\t3\t1 "),
        MTX.replace(b"1 3 1", b"\n% remark\n1 3 1\n"),
        MTX.replace(b"integer", b"real").replace(b"1 3 1", b"1 3 1.0"),
        MTX.replace(b"%%MatrixMarket matrix", b"%%matrixmarket MATRIX"),
    ],
)
def test_spaces_and_remarks_of_any_kind(content, tmp_path):
    (tmp_path / "m.mtx").write_bytes(content)
    np.testing.assert_array_equal(read_counts(tmp_path / "m.mtx").X.toarray(), Y)


@pytest.mark.parametrize(("block", "dtype"), [(7, int), (7, float), (1 << 20, float)])
def test_scipy_reads_the_same(block, dtype, tmp_path, monkeypatch):
    from threecpo.io import lines

    monkeypatch.setattr(lines, "BLOCK", block)
    matrix = scattered((30, 20), 120) * (1000 / 7)
    path = tmp_path / "m.mtx"
    scipy.io.mmwrite(path, matrix.astype(dtype))
    expected = scipy.io.mmread(path).toarray()
    np.testing.assert_array_equal(read_counts(path).X.toarray(), expected)


def test_symmetric_pattern_and_repeated_entries(tmp_path):
    path = tmp_path / "m.mtx"
    path.write_bytes(
        b"%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n1 1 3\n2 1 4\n"
    )
    assert read_counts(path).X.toarray().tolist() == [[3, 4], [4, 0]]
    path.write_bytes(
        b"%%MatrixMarket matrix coordinate pattern general\n1 2 2\n1 1\n1 2\n"
    )
    assert read_counts(path).X.toarray().tolist() == [[1, 1]]
    path.write_bytes(MTX.replace(b"1 3 1", b"1 1 4"))
    assert read_counts(path).X.toarray()[0].tolist() == [7, 0, 0]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"2 3 3", b"2 3 9", "it holds 3 or more counts, not the 9 it says"),
        (b"2 3 3", b"2 3 2", "it holds 3 or more counts, not the 2 it says"),
        (b"2 3 3", b"2 99999999999 3", "it claims 99999999999 columns"),
        (b"2 3 3", b"999999999 3 3", "it claims 999999999 rows"),
        (b"2 3 3", b"0 3 0", "no rows"),
        (b"2 3 3", b"2 3", "line 3 holds .* not the size"),
        (b"1 3 1", b"1 4 1", "line 5 has a count at row 1, column 4 of a matrix of 2"),
        (b"1 3 1", b"0 3 1", "line 5 has a count at row 0, column 3"),
        (b"1 3 1", b"1 3 -1", "line 5 holds -1; counts are 0 or more"),
        (b"1 3 1", b"1 3 nan", "line 5 holds NaN"),
        (b"1 3 1", b"1 3 one", "line 5 holds '1 3 one', not 3 numbers"),
        (b"1 3 1", b"1 3", "line 5 holds '1 3', not 3 numbers"),
        (b"1 3 1", b"1 3 99999999999999999999", "line 5 holds 1e.20; counts must be"),
        (b"2 2 5", b"2 2 5\xff", "line 6 is not in UTF-8"),
        (b"integer", b"complex", "line 1 is not a supported MatrixMarket header"),
        (b"general", b"hermitian", "line 1 is not a supported .* general"),
        (b"coordinate", b"array", "line 1 is not a supported .* .coordinate;"),
    ],
)
def test_damaged_matrices_are_refused(old, new, reason, tmp_path):
    (tmp_path / "m.mtx").write_bytes(MTX.replace(old, new))
    refused(tmp_path / "m.mtx", reason)


def test_a_matrix_that_ends_early_is_refused(tmp_path):
    (tmp_path / "m.mtx").write_bytes(MTX[:-6])
    refused(tmp_path / "m.mtx", "it holds 2 or more counts, not the 3 it says")
    (tmp_path / "m.mtx.gz").write_bytes(gzip.compress(MTX)[:-9])
    refused(tmp_path / "m.mtx.gz", "damaged")


CELLS = [b"AAAC-1", b"AAAG-1"]
GENES = [b"ENSG1\tACTB\tGene Expression", b"ENSG2\tTBCE\tx", b"ENSG3\tTBCE\tx"]
TURNED = (
    b"%%MatrixMarket matrix coordinate integer general\n3 2 3\n1 1 3\n3 1 1\n2 2 5\n"
)


def folder(path, *, prefix="", genes="features.tsv", pack="", matrix=TURNED, **parts):
    path.mkdir(exist_ok=True)
    contents = {
        "matrix.mtx": matrix,
        genes: b"\n".join(parts.get("gene_lines", GENES)) + b"\n",
        "barcodes.tsv": b"\n".join(parts.get("cell_lines", CELLS)) + b"\n",
    }
    for name, content in contents.items():
        packed = gzip.compress(content) if pack else content
        (path / f"{prefix}{name}{pack}").write_bytes(packed)
    return path


@pytest.mark.parametrize(
    ("prefix", "genes", "pack"),
    [
        ("", "genes.tsv", ""),
        ("GSM1_", "features.tsv", ".gz"),
        ("sample.1.", "genes.tsv", ".gz"),
    ],
)
def test_10x_folders_are_turned_round(prefix, genes, pack, tmp_path):
    path = folder(tmp_path / "raw", prefix=prefix, genes=genes, pack=pack)
    for place in (path, path / f"{prefix}matrix.mtx{pack}"):
        table = read_counts(place)
        np.testing.assert_array_equal(table.X.toarray(), Y)
        assert table.row_names.tolist() == ["AAAC-1", "AAAG-1"]
        assert table.column_names.tolist() == ["ACTB", "TBCE (ENSG2)", "TBCE (ENSG3)"]
    assert read_counts(path).name == "raw"


def test_a_folder_of_cells_x_genes_is_not_turned(tmp_path):
    table = read_counts(folder(tmp_path / "raw", matrix=MTX))
    np.testing.assert_array_equal(table.X.toarray(), Y)


def test_a_lone_matrix_of_a_10x_name_is_a_plain_matrix(tmp_path):
    (tmp_path / "matrix.mtx").write_bytes(MTX)
    table = read_counts(tmp_path / "matrix.mtx")
    assert table.row_names is None
    np.testing.assert_array_equal(table.X.toarray(), Y)


def test_folders_that_lack_something_are_told(tmp_path):
    path = folder(tmp_path / "a")
    (path / "barcodes.tsv").unlink()
    refused(path, "beside matrix.mtx there is no barcodes.tsv, plain or as .gz")
    path = folder(tmp_path / "b", prefix="x_")
    (path / "x_features.tsv").unlink()
    refused(path, "there is no x_features.tsv or x_genes.tsv")
    path = folder(tmp_path / "c", prefix="x_")
    folder(path, prefix="y_")
    refused(path, "several matrices; name one of them: x_matrix.mtx, y_matrix.mtx")
    refused(folder(tmp_path / "d", cell_lines=[b"1"]), "3 genes and 1 cells; the files")
    refused(folder(tmp_path / "e", cell_lines=[b"1", b"1"]), "rows 1 and 2 are both")
    refused(
        folder(tmp_path / "f", cell_lines=[b"1", b"\xff"]), "line 2 is not in UTF-8"
    )
    (tmp_path / "g").mkdir()
    refused(tmp_path / "g", "a folder with neither a matrix.mtx")
    refused(tmp_path / "g", "it does not contain matrix.mtx", format="10x")


def test_a_matrix_without_counts(tmp_path):
    path = tmp_path / "m.mtx"
    path.write_bytes(b"%%MatrixMarket matrix coordinate real general\n2 3 0\n")
    assert read_counts(path).X.toarray().tolist() == [[0, 0, 0], [0, 0, 0]]


def test_genes_of_one_column_and_files_of_mixed_packing(tmp_path):
    path = folder(tmp_path / "raw", gene_lines=[b"a", b"b", b"c"])
    (path / "barcodes.tsv").unlink()
    (path / "barcodes.tsv.gz").write_bytes(gzip.compress(b"c1\r\nc2\r\n"))
    table = read_counts(path)
    assert table.column_names.tolist() == ["a", "b", "c"]
    assert table.row_names.tolist() == ["c1", "c2"]


HEADERS = {width: _mtx.Header((70_000, 2_000_000_000), 9, width) for width in (2, 3)}
LETTERS = st.sampled_from([*"0123456789.eE+- \t\n\r%", "1 2 3\n", "7 1 0.5\n"])
NUMBERS = st.one_of(
    st.integers(0, 2**53 - 1).map(str),
    st.floats(0, 2.0**52).map(repr),
    st.floats(0, 1e15).map(lambda value: f"{value:.3e}"),
    st.floats(0, 1e15).map(lambda value: f"{value:.{int(value) % 19}f}"),
    st.sampled_from(["0.", ".5", "007", "1e5", "1e+05", "3E-2", "1e15", "1e-23"]),
    st.sampled_from(["123456789012345678e-4", "0.1000000000000000055511151231257"]),
)


def by_line(content, header):
    return _mtx._by_line(content, 0, header)


def same(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(st.lists(NUMBERS, min_size=1, max_size=6), st.booleans())
def test_numbers_are_those_of_python(numbers, ended):
    content = "\n".join(f"{i + 1} 2 {text}" for i, text in enumerate(numbers)).encode()
    content += b"\n" * ended
    n_lines, found = _mtx._tidy(content, HEADERS[3])
    assert n_lines == len(numbers)
    assert found is not None
    same(found, by_line(content, HEADERS[3]))
    assert found[2].tolist() == [float(text) for text in numbers]


@given(
    content=st.lists(LETTERS, max_size=30).map("".join).map(str.encode),
    width=st.sampled_from(list(HEADERS)),
)
def test_lines_of_any_letters_are_read_alike_or_left_to_python(width, content):
    _, found = _mtx._tidy(content, HEADERS[width])
    if found is not None:
        same(found, by_line(content, HEADERS[width]))


@given(content=st.binary(max_size=40), width=st.sampled_from([2, 3]))
def test_bytes_of_any_kind_never_crash(content, width):
    _, found = _mtx._tidy(content, HEADERS[width])
    if found is not None:
        by_line(content, HEADERS[width])


def test_places_outside_are_left_to_python():
    lines = ("0 1 1", "1 0 1", "70001 1 1", "1 2000000001 1", "99999999999 1 1")
    for line in lines:
        content = f"1 1 1\n{line}\n".encode()
        assert _mtx._tidy(content, HEADERS[3]) == (2, None)
        with pytest.raises(DataFormatError, match="line 2 has a count at row"):
            by_line(content, HEADERS[3])


LIMIT = 1 << 30


def entries(rng, shape, n_entries, largest):
    places = [rng.integers(size, size=n_entries).astype(np.int32) for size in shape]
    return *places, rng.integers(1, largest, size=n_entries, endpoint=True).astype(
        float
    )


@pytest.mark.parametrize(
    ("shape", "largest", "n_parts"),
    [
        ((1, 1), 1, 2),
        ((5, 300), 255, 7),
        ((300, 5), 256, 1),
        ((70_000, 2), 2**53 - 1, 2),
        ((2, 70_000), 70_000, 7),
    ],
)
def test_rows_are_those_of_scipy(shape, largest, n_parts):
    rng = np.random.default_rng(0)
    parts = [entries(rng, shape, 50, largest) for _ in range(n_parts)]
    parts[0][2][0] += 0.5 if largest < 1000 else 0
    found = to_rows(iter(parts), shape, LIMIT)
    rows, columns, counts = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    np.testing.assert_array_equal(found.indices, columns[order])
    np.testing.assert_array_equal(found.data, counts[order])
    expected = np.bincount(rows, minlength=shape[0])
    np.testing.assert_array_equal(np.diff(found.indptr), expected)
    whole = sp.coo_array((counts, (rows, columns)), shape=shape).tocsr()
    found.sum_duplicates()
    np.testing.assert_array_equal(found.data, whole.data)


def test_parts_may_be_used_again_by_whoever_made_them():
    rows, columns, counts = entries(np.random.default_rng(0), (3, 4), 9, 5)
    counts += 0.5

    def parts():
        yield rows, columns, counts
        counts[:] = -1

    assert to_rows(parts(), (3, 4), LIMIT).data.min() > 0


def test_pointers_that_take_more_than_is_allowed_are_refused():
    with pytest.raises(DataFormatError, match="unpacks to more than 100 bytes"):
        to_rows(iter([]), (3000, 4), 100)


def test_rows_are_made_in_the_memory_of_their_arrays():
    data, indices = np.ones(3), np.array([0, 1, 0], dtype=np.int32)
    rows = csr_rows(data, indices, np.array([0, 2, 3]), (2, 2))
    assert np.shares_memory(rows.data, data)
    assert np.shares_memory(rows.indices, indices)


def test_pointers_beyond_32_bits_are_not_wrapped():
    given = np.array([0, 2**32, 2**32 + 3])
    arrays = (np.ones(3), np.zeros(3, dtype=np.int32), given)
    with pytest.raises(ValueError, match=r"."):
        csr_rows(*arrays, (2, 2))


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_headers_are_parsed_by_one_thread_at_a_time(version, tmp_path, monkeypatch):
    """Python 3.11 can fail where two threads parse literals."""
    path, locked = tmp_path / "arrays.npz", []
    name = f"read_array_header_{version[0]}_{version[1]}"
    parse = getattr(np.lib.format, name)

    def seen(file):
        locked.append(npz_arrays._PARSING.locked())
        return parse(file)

    monkeypatch.setattr(np.lib.format, name, seen)
    with zipfile.ZipFile(path, "w") as archive, archive.open("a.npy", "w") as file:
        np.lib.format.write_array(file, np.arange(3), version=version)
    with npz_arrays.open_npz(path) as arrays:
        np.testing.assert_array_equal(arrays["a"], np.arange(3))
    assert locked == [True]
