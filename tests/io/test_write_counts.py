"""What is written is read back, and nothing half-written ever has the name."""

import contextlib
import gzip

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from tables import ONE_LINE, PLAIN, WORDS, assert_same, label_of_rows, tables

from threecpo import CountTable, read_counts, write_counts
from threecpo.io import DataFormatError
from threecpo.io import npz as _npz

FILES = ("t.tsv", "t.csv.gz", "t.npz", "t.parquet", "t.h5ad")
here = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


def with_labels(name, table):
    has_column = not name.endswith(".npz") and table.labels is not None
    return {"labels": "label"} if has_column else {}


@pytest.mark.parametrize("name", FILES)
def test_names_counts_and_labels_come_back(name, tmp_path):
    write_counts(WORDS, tmp_path / name)
    read = read_counts(tmp_path / name, **with_labels(name, WORDS))
    assert_same(read, WORDS)
    assert read.counts.whole
    assert read.name == "t"
    assert read.source == str(tmp_path / name)
    assert left_in(tmp_path) == [name]


@pytest.mark.parametrize("triples", [False, True])
def test_whole_counts_are_written_as_whole_numbers(triples, tmp_path):
    table = CountTable([[3, 0], [0, 12]], column_names=["a", "b"])
    write_counts(table, tmp_path / "t.csv", triples=triples)
    assert "." not in (tmp_path / "t.csv").read_text()
    write_counts(table, tmp_path / "t.parquet", triples=triples)
    kinds = pd.read_parquet(tmp_path / "t.parquet").dtypes
    assert np.int64 in kinds.to_list()
    assert np.float64 not in kinds.to_list()


def test_whole_matrices_are_written_as_whole_numbers(tmp_path):
    table = CountTable([[3, 0], [0, 12]])
    readers = {"t.npz": sp.load_npz, "t.mtx": scipy.io.mmread}
    readers["t.h5ad"] = lambda path: anndata.read_h5ad(path).X
    for name, read in readers.items():
        write_counts(table, tmp_path / name)
        assert read(tmp_path / name).dtype == np.int64


@pytest.mark.parametrize("name", ["t.csv", "t.npz", "t.parquet"])
@given(table=tables())
@here
def test_any_table_comes_back(name, table, tmp_path):
    path = tmp_path / name
    options = {} if name.endswith(".npz") else {"labels": "the label"}
    write_counts(table, path, labels="the label", force=True)
    read = read_counts(path, **(options if table.labels is not None else {}))
    assert_same(read, table)


@given(table=tables(fractional=False))
@settings(here, max_examples=15)
def test_any_table_comes_back_from_h5ad(table, tmp_path):
    write_counts(table, tmp_path / "t.h5ad", labels="kind", force=True)
    options = {} if table.labels is None else {"labels": "kind"}
    assert_same(read_counts(tmp_path / "t.h5ad", **options), table)


@given(table=tables(ONE_LINE))
@here
def test_any_table_with_names_of_one_line_comes_back_from_10x(table, tmp_path):
    write_counts(table, tmp_path / "t", format="10x", force=True)
    assert_same(read_counts(tmp_path / "t"), table, labels=False)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@given(table=tables())
@here
def test_triples_come_back_with_columns_in_any_order(name, table, tmp_path):
    write_counts(table, tmp_path / name, triples=True, force=True)
    read = read_counts(tmp_path / name, triples=True)
    assert_same(read, table, labels=False, order=False)


@given(table=tables())
@here
def test_a_matrix_comes_back_without_names(table, tmp_path):
    write_counts(table, tmp_path / "t.mtx.gz", force=True)
    read = read_counts(tmp_path / "t.mtx.gz")
    np.testing.assert_array_equal(read.X.toarray(), table.X.toarray())
    assert read.row_names is read.column_names is read.labels is None


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.h5ad", "t"])
def test_what_has_no_name_is_numbered(name, tmp_path):
    kind = "10x" if name == "t" else None
    write_counts(CountTable([[3, 0], [0, 5]]), tmp_path / name, format=kind)
    read = read_counts(tmp_path / name)
    assert list(read.row_names) == list(read.column_names) == ["0", "1"]


def test_labels_without_names_come_back_as_their_numbers(tmp_path):
    table = CountTable([[1], [2], [3]], labels=[10, 2, -1])
    for name in ("t.csv", "t.parquet", "t.h5ad"):
        write_counts(table, tmp_path / name)
        read = read_counts(tmp_path / name, labels="label")
        assert label_of_rows(read) == ["10", "2", None]


def test_scanpy_and_pandas_read_what_is_written(tmp_path):
    import pandas as pd

    write_counts(WORDS, tmp_path / "t.h5ad")
    adata = anndata.read_h5ad(tmp_path / "t.h5ad")
    assert list(adata.var_names) == list(WORDS.column_names)
    assert adata.obs["label"].tolist()[:2] == ["v", "u"]
    write_counts(WORDS, tmp_path / "t.csv")
    frame = pd.read_csv(tmp_path / "t.csv", index_col=0)
    assert frame["x"].tolist() == [3, 0, 0]
    write_counts(WORDS, tmp_path / "t.parquet")
    assert pd.read_parquet(tmp_path / "t.parquet")["x"].tolist() == [3, 0, 0]


def test_the_same_table_is_the_same_bytes(tmp_path):
    for name in ("t.csv.gz", "t.mtx.gz"):
        contents = []
        for _ in range(2):
            write_counts(PLAIN, tmp_path / name, force=True)
            contents.append((tmp_path / name).read_bytes())
        assert contents[0] == contents[1]


@pytest.mark.parametrize("name", ["t.csv", "t.h5ad", "folder"])
def test_what_exists_is_kept_unless_forced(name, tmp_path):
    kind = "10x" if name == "folder" else None
    write_counts(PLAIN, tmp_path / name, format=kind)
    other = CountTable([[7]], row_names=["a"], column_names=["x"])
    with pytest.raises(FileExistsError, match=f"{name} exists; pass force=True"):
        write_counts(other, tmp_path / name, format=kind)
    assert read_counts(tmp_path / name).shape == PLAIN.shape
    write_counts(other, tmp_path / name, format=kind, force=True)
    assert read_counts(tmp_path / name).shape == (1, 1)
    assert left_in(tmp_path) == [name]


def test_force_never_removes_something_else(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis.doc").write_text("years of work")
    (folder / "matrix.mtx").write_text("x")
    with pytest.raises(FileExistsError, match="not a threecpo result and is kept"):
        write_counts(PLAIN, folder, format="10x", force=True)
    with pytest.raises(FileExistsError, match="not a threecpo result and is kept"):
        write_counts(PLAIN, folder, format="csv", force=True)
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileExistsError, match="not a threecpo result and is kept"):
        write_counts(PLAIN, tmp_path / "file", format="10x", force=True)
    assert left_in(folder) == ["matrix.mtx", "thesis.doc"]
    assert left_in(tmp_path) == ["file", "home"]


@pytest.mark.parametrize(
    ("kind", "error"), [("csv", OSError(28, "No space")), ("10x", KeyboardInterrupt())]
)
def test_a_write_that_fails_leaves_all_as_it_was(kind, error, tmp_path, monkeypatch):
    from threecpo.io.formats import FORMATS

    path = tmp_path / "t"
    write_counts(PLAIN, path, format=kind)
    module = FORMATS[kind].load()
    write = module.write

    def failing(table, beside, options):
        write(table, beside, options)
        raise error

    monkeypatch.setattr(module, "write", failing)
    other = CountTable([[7]], row_names=["a"], column_names=["x"])
    with pytest.raises(type(error)):
        write_counts(other, path, format=kind, force=True)
    with pytest.raises(type(error)):
        write_counts(other, tmp_path / "new", format=kind)
    assert left_in(tmp_path) == ["t"]
    assert read_counts(path, format=kind).shape == PLAIN.shape


def test_a_folder_that_cannot_be_renamed_gets_its_old_content_back(
    tmp_path, monkeypatch
):
    from pathlib import Path

    path = tmp_path / "t"
    write_counts(PLAIN, path, format="10x")
    rename = Path.rename

    def failing(self, target):
        if self.name.startswith(".part-"):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="Input/output"):
        write_counts(CountTable([[7]]), path, format="10x", force=True)
    assert left_in(tmp_path) == ["t"]
    assert read_counts(path).shape == PLAIN.shape


@pytest.mark.parametrize("last", [".old-", "t", "nothing"])
def test_an_interrupt_between_renames_leaves_one_folder_and_no_other(
    last, tmp_path, monkeypatch
):
    """Ctrl-C is heard when a renaming returns."""
    from pathlib import Path

    path = tmp_path / "t"
    write_counts(PLAIN, path, format="10x")
    rename = Path.rename

    def interrupted(self, target):
        done = rename(self, target)
        if Path(target).name.startswith(last):
            monkeypatch.undo()
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(Path, "rename", interrupted)
    other = CountTable([[7]])
    with contextlib.suppress(KeyboardInterrupt):
        write_counts(other, path, format="10x", force=True)
    monkeypatch.undo()
    assert left_in(tmp_path) == ["t"]
    whole = PLAIN if last == ".old-" else other
    assert read_counts(path).shape == whole.shape


@pytest.mark.parametrize("kind", ["csv", "10x"])
def test_a_link_stays_a_link(kind, tmp_path):
    write_counts(PLAIN, tmp_path / "real", format=kind)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    other = CountTable([[7]])
    write_counts(other, tmp_path / "link", format=kind, force=True)
    assert (tmp_path / "link").is_symlink()
    assert read_counts(tmp_path / "real", format=kind).shape == other.shape
    assert left_in(tmp_path) == ["link", "real"]


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_counts(PLAIN, tmp_path / "no" / "t.csv")
    assert caught.value.filename == str(tmp_path / "no")
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("t.xlsx", {}, "the format is not one of csv, parquet, npz, mtx, 10x, h5ad"),
        ("t.csv", {"format": "word"}, "the format is not one of"),
        (
            "t.npz",
            {"triples": True},
            "npz does not hold lines of row, column, count, only csv and",
        ),
        ("t.csv", {"labels": "x"}, "a column is called 'x'; pass another labels="),
        ("t", {"format": "10x"}, r"the name 'line\\nend' is empty or has a tab"),
    ],
)
def test_what_cannot_be_written_is_told(name, options, reason, tmp_path):
    with pytest.raises(DataFormatError, match=reason) as caught:
        write_counts(WORDS, tmp_path / name, **options)
    assert str(tmp_path / name) in str(caught.value)
    assert left_in(tmp_path) == []


def test_npz_cannot_keep_a_last_null(tmp_path):
    table = CountTable([[1]], column_names=["a\0"])
    with pytest.raises(DataFormatError, match="ends in a null character"):
        write_counts(table, tmp_path / "t.npz")
    assert _npz._text(None) is None


def test_a_10x_folder_of_another_hand_is_not_replaced(tmp_path):
    table = CountTable([[3, 0], [0, 5]])
    ours, other = tmp_path / "ours", tmp_path / "other"
    for folder in (ours, other):
        write_counts(table, folder, format="10x")
    write_counts(table, ours, format="10x", force=True)
    with gzip.open(other / "matrix.mtx.gz", "rt") as file:
        lines = [line for line in file if "threecpo" not in line]
    with gzip.open(other / "matrix.mtx.gz", "wt") as file:
        file.writelines(lines)
    with pytest.raises(FileExistsError, match="not a threecpo result and is kept"):
        write_counts(table, other, format="10x", force=True)
    (ours / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="not a threecpo result and is kept"):
        write_counts(table, ours, format="10x", force=True)


def test_npz_keeps_what_has_no_name_and_scipy_reads_it(tmp_path):
    write_counts(CountTable([[3, 0], [0, 5]], labels=[0, 1]), tmp_path / "t.npz")
    read = read_counts(tmp_path / "t.npz")
    assert read.row_names is read.column_names is read.label_names is None
    assert read.labels.tolist() == [0, 1]
    matrix = sp.load_npz(tmp_path / "t.npz")
    assert isinstance(matrix, sp.csr_array)
    assert matrix.toarray().tolist() == [[3, 0], [0, 5]]


def test_only_tables_are_written(tmp_path):
    with pytest.raises(TypeError, match="table must be a CountTable, not ndarray"):
        write_counts(np.eye(2), tmp_path / "t.csv")
