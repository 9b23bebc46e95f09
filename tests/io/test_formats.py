"""Which format a file has, and files that are none."""

import gzip
import os
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tables import PLAIN, refused

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
    refused(path, reason)
    assert read_counts(path, format=kind).shape == PLAIN.shape


def test_text_of_another_suffix_is_refused(tmp_path):
    for suffix in (".npz", ".h5ad", ".parquet", ".mtx", ".biom"):
        path = tmp_path / f"counts{suffix}"
        path.write_text("a,b\n1,2\n")
        refused(path, r"another format|line 1 is not a supported")


def test_binary_files_that_are_packed_once_more_are_told(tmp_path):
    for kind in ("npz", "h5ad", "parquet"):
        write_counts(PLAIN, tmp_path / kind, format=kind)
        path = tmp_path / f"t.{kind}.gz"
        path.write_bytes(gzip.compress((tmp_path / kind).read_bytes()))
        refused(path, f"it is {kind} in compressed form")


def test_an_empty_file_is_empty(tmp_path):
    for suffix in ("", *(s for f in FORMATS.values() for s in f.suffixes)):
        path = tmp_path / f"t{suffix}"
        path.touch()
        refused(path, "it is empty")


def test_a_missing_file_is_told(tmp_path):
    path = tmp_path / "t.csv"
    for kind in (None, *FORMATS):
        with pytest.raises(DataFormatError) as caught:
            read_counts(path, format=kind)
        assert str(path) in str(caught.value)
    refused(path, "does not exist; check the name")
    refused(tmp_path / "none" / "t.csv", "does not exist")


def test_a_file_that_may_not_be_read_is_told(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    path.chmod(0)
    if os.access(path, os.R_OK):

        def forbidden(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(read_module, "find_format", forbidden)
    refused(path, "may not be read by this user")


def test_a_folder_or_a_file_where_the_other_should_be(tmp_path):
    (tmp_path / "t.csv").mkdir()
    refused(tmp_path / "t.csv", "a folder with neither")
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
    refused(tmp_path / "t.npz", "asks for more memory than there is")


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
    advices |= dict.fromkeys(
        (".rds", ".RData"), "write it from R with Matrix::writeMM, or"
    )
    advices[".loom"] = r"convert it to h5ad with anndata\.io\.read_loom\(path\)"
    for suffix, advice in advices.items():
        path = tmp_path / f"t{suffix}"
        path.write_bytes(b"PK\x03\x04")
        refused(path, f"files are not read; {advice}")


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
    refused(path, "no column 'x' for drop=", drop=["x"])


def test_a_matrix_keeps_a_column(tmp_path):
    write_counts(CountTable([[1, 2]], column_names=["a", "b"]), tmp_path / "t.npz")
    refused(tmp_path / "t.npz", "drop= leaves no column", drop=["a", "b"])


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
    refused(path, "no column 'zebra' for drop=", drop=["bb", "zebra"], **options)


def test_words_of_a_folder_of_texts_are_left_out(tmp_path):
    for name, text in (("r1", "aa bb bb"), ("r2", "aa aa aa")):
        (tmp_path / f"{name}.txt").write_text(text)
    table = read_counts(tmp_path, drop="bb", **WORDS)
    assert table.X.toarray().tolist() == [[1], [3]]


def read(path, options):
    """Read a file; anything but a table or our own error fails the test."""
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
    if table is not None:
        assert table.X.nnz == np.count_nonzero(table.X.data > 0)
        assert np.isfinite(table.X.data).all()


@given(st.binary(max_size=200))
@example(b"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1\x8a")
@example(b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 " + b"1" * 99)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_a_table_or_our_own_error(tmp_path, content):
    for name in ("t", "t.csv", "t.mtx", "t.npz", "t.jsonl", "t.biom"):
        path = tmp_path / name
        path.write_bytes(content)
        read(path, {})


@given(
    st.text(st.sampled_from('01.9-e,\t;|"\n\r ax#%{}[]:\ufeff\0é'), max_size=60),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, True, False]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_any_text_gives_a_table_or_our_own_error(tmp_path, text, header, triples):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    read(path, {"header": header, "triples": triples})
