"""Which format a file has, and files that are none."""

import gzip
import os
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from tables import PLAIN

from threecpo import CountTable, ThreeCPO, read_counts, write_counts
from threecpo.io import DataFormatError
from threecpo.io import read as read_module
from threecpo.io.formats import FORMATS
from threecpo.results import check_input

HERE = ("csv", "npz", "mtx", "h5ad", "parquet")


@pytest.mark.parametrize("kind", HERE)
def test_files_are_known_by_their_content(kind, tmp_path):
    write_counts(PLAIN, tmp_path / "counts", format=kind)
    table = read_counts(tmp_path / "counts")
    np.testing.assert_array_equal(table.X.toarray(), PLAIN.X.toarray())
    assert table.name == "counts"


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [("npz", ".csv"), ("mtx", ".npz"), ("h5ad", ".parquet"), ("parquet", ".h5ad")],
)
def test_a_suffix_that_is_wrong_is_told(kind, suffix, tmp_path):
    path = tmp_path / f"counts{suffix}"
    write_counts(PLAIN, path, format=kind)
    named = suffix.removeprefix(".")
    reason = f"named like {named} but holds {kind}; rename it or pass format='{kind}'"
    with pytest.raises(DataFormatError, match=reason):
        read_counts(path)
    assert read_counts(path, format=kind).shape == PLAIN.shape


def test_text_of_another_suffix_is_refused(tmp_path):
    for suffix in (".npz", ".h5ad", ".parquet", ".mtx", ".biom"):
        path = tmp_path / f"counts{suffix}"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(
            DataFormatError, match=r"another format|line 1 is not a supported"
        ):
            read_counts(path)


def test_binary_files_that_are_packed_once_more_are_told(tmp_path):
    for kind in ("npz", "h5ad", "parquet"):
        write_counts(PLAIN, tmp_path / kind, format=kind)
        path = tmp_path / f"t.{kind}.gz"
        path.write_bytes(gzip.compress((tmp_path / kind).read_bytes()))
        with pytest.raises(DataFormatError, match=f"it is {kind} in compressed form"):
            read_counts(path)


def test_an_empty_file_is_empty(tmp_path):
    for suffix in ("", *(s for f in FORMATS.values() for s in f.suffixes)):
        path = tmp_path / f"t{suffix}"
        path.touch()
        with pytest.raises(DataFormatError, match="it is empty"):
            read_counts(path)


def test_a_missing_file_is_told(tmp_path):
    path = tmp_path / "t.csv"
    for kind in (None, *FORMATS):
        with pytest.raises(DataFormatError) as caught:
            read_counts(path, format=kind)
        assert str(path) in str(caught.value)
    with pytest.raises(DataFormatError, match="does not exist; check the name"):
        read_counts(path)
    with pytest.raises(DataFormatError, match="does not exist"):
        read_counts(tmp_path / "none" / "t.csv")


def test_a_file_that_may_not_be_read_is_told(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    path.chmod(0)
    if os.access(path, os.R_OK):

        def forbidden(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(read_module, "find_format", forbidden)
    with pytest.raises(DataFormatError, match="may not be read by this user"):
        read_counts(path)


def test_a_folder_or_a_file_where_the_other_should_be(tmp_path):
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(DataFormatError, match="a folder with neither"):
        read_counts(tmp_path / "t.csv")
    for kind in FORMATS:
        with pytest.raises(DataFormatError):
            read_counts(tmp_path / "t.csv", format=kind)
    (tmp_path / "file.txt").write_text("words")
    for kind in ("10x", "texts"):
        with pytest.raises(DataFormatError):
            read_counts(tmp_path / "file.txt", format=kind)


def test_more_memory_than_there_is_is_told(tmp_path, monkeypatch):
    sp.save_npz(tmp_path / "t.npz", sp.csr_array(np.eye(2)))

    def hungry(*_, **__):
        raise MemoryError

    monkeypatch.setattr(read_module, "to_table", hungry)
    with pytest.raises(DataFormatError, match="asks for more memory than there is"):
        read_counts(tmp_path / "t.npz")


def test_warnings_of_libraries_do_not_leak(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    to_table = read_module.to_table

    def noisy(*args, **options):
        warnings.warn("a library of the future", FutureWarning, stacklevel=1)
        return to_table(*args, **options)

    monkeypatch.setattr(read_module, "to_table", noisy)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_counts(tmp_path / "t.csv")
    assert caught == []


@pytest.mark.parametrize("kind", ["parquet", "h5ad"])
def test_a_missing_library_is_told_with_its_extra(kind, tmp_path, monkeypatch):
    path = tmp_path / f"t.{kind}"
    write_counts(PLAIN, path)
    monkeypatch.setattr("threecpo.io.isolated.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "threecpo\[io\]"'):
        read_counts(path)


def test_every_option_is_of_some_format():
    from dataclasses import fields

    from threecpo.io.formats import ReadOptions

    used = {option for kind in FORMATS.values() for option in kind.options}
    # Any file may unpack, and have a table of metadata beside it.
    used |= {"max_unpacked", "metadata", "metadata_index"}
    assert used == {field.name for field in fields(ReadOptions)}


def test_files_that_are_not_read_say_what_to_do(tmp_path):
    advices = {".xls": "save it as xlsx", ".XLSB": "save it as xlsx"}
    advices |= {".loom": "convert it to h5ad", ".rds": "write it from R"}
    for suffix, advice in advices.items():
        path = tmp_path / f"t{suffix}"
        path.write_bytes(b"PK\x03\x04")
        with pytest.raises(DataFormatError, match=f"files are not read; {advice}"):
            read_counts(path)


@pytest.mark.parametrize("name", ["t.npz", "t.mtx", "t.csv"])
def test_the_advice_about_a_column_of_totals_leads_to_a_fit(name, tmp_path):
    X = np.random.default_rng(0).poisson(5, (20, 3))
    named = {"column_names": ["a", "b", "c", "Total"]}
    full = CountTable(np.c_[X, X.sum(axis=1)], **named)
    path = tmp_path / name
    write_counts(full, path)
    table = read_counts(path)
    total = "4" if table.column_names is None else "Total"
    assert check_input(table)[0].endswith(f"Exclude it with drop=[{total!r}].")
    left = read_counts(path, drop=[total])
    np.testing.assert_array_equal(left.X.toarray(), X)
    assert total == "4" or list(left.column_names) == ["a", "b", "c"]
    ThreeCPO(1).fit(left)
    with pytest.raises(DataFormatError, match="no column 'x' for drop="):
        read_counts(path, drop=["x"])


def test_a_matrix_keeps_a_column(tmp_path):
    write_counts(CountTable([[1, 2]], column_names=["a", "b"]), tmp_path / "t.npz")
    with pytest.raises(DataFormatError, match="drop= leaves no column"):
        read_counts(tmp_path / "t.npz", drop=["a", "b"])


WORDS = {"text_options": {"stem": None}}
# Files whose columns of counts no line names, and options that they are read by.
MADE_COLUMNS = {
    "triples": ("t.csv", "row,column,count\nr1,aa,1\nr1,bb,2\nr2,aa,3\n", {}),
    "named triples": (
        "t.csv",
        "day,who,what,n\n1,r1,aa,1\n2,r1,bb,2\n3,r2,aa,3\n",
        {"triples": ["who", "what", "n"]},
    ),
    "turned round": ("t.csv", "x,r1,r2\naa,1,3\nbb,2,0\n", {"transpose": True}),
    "words": (
        "t.csv",
        "id,what\nr1,aa bb bb\nr2,aa aa aa\n",
        {"text": "what", **WORDS},
    ),
    "words of jsonl": (
        "t.jsonl",
        '{"id": "r1", "text": "aa bb bb"}\n{"id": "r2", "text": "aa aa aa"}\n',
        {"index": "id", **WORDS},
    ),
}


@pytest.mark.parametrize("kind", MADE_COLUMNS)
def test_columns_that_are_made_of_a_file_are_left_out(kind, tmp_path):
    name, content, options = MADE_COLUMNS[kind]
    path = tmp_path / name
    path.write_text(content)
    table = read_counts(path, drop="bb", **options)
    assert list(table.column_names) == ["aa"]
    assert table.X.toarray().tolist() == [[1], [3]]
    with pytest.raises(DataFormatError, match="no column 'zebra' for drop="):
        read_counts(path, drop=["bb", "zebra"], **options)


def test_words_of_a_folder_of_texts_are_left_out(tmp_path):
    for name, text in (("r1", "aa bb bb"), ("r2", "aa aa aa")):
        (tmp_path / f"{name}.txt").write_text(text)
    table = read_counts(tmp_path, drop="bb", **WORDS)
    assert table.X.toarray().tolist() == [[1], [3]]
