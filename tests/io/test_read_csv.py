"""Tables as text: what is found by itself, what can be told, what is refused."""

import gzip
import io
import lzma

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from threecpo import read_counts
from threecpo.io import DataFormatError
from threecpo.io import lines as lines_module
from threecpo.io.lines import Cut

WIDE = "plot,ants,bees\np1,3,0\np2,0,5\n"


@pytest.fixture
def read(tmp_path):
    """Read a text as a file of some name."""

    def reading(text, name="t.csv", **options):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_counts(path, **options)

    return reading


@pytest.fixture
def refused(read, tmp_path):
    """Reading fails with one line that names the file."""

    def refusing(text, reason, name="t.csv", **options):
        with pytest.raises(DataFormatError, match=reason) as caught:
            read(text, name, **options)
        message = str(caught.value)
        assert message.startswith(f"{tmp_path / name}: ")
        assert "\n" not in message
        assert not message.endswith("..")

    return refusing


def is_wide(table):
    assert list(table.row_names) == ["p1", "p2"]
    assert list(table.column_names) == ["ants", "bees"]
    assert table.X.toarray().tolist() == [[3, 0], [0, 5]]


@pytest.mark.parametrize(
    "text",
    [
        WIDE.replace("\n", "\n\n"),
        WIDE.replace("plot", ""),
        WIDE.replace("plot,", ""),
        WIDE.replace("3", "3.0").replace("0", "0").replace("5", "5e0"),
        WIDE.replace("3", " 3 ").replace("5", "+5"),
    ],
)
def test_files_as_programs_write_them(text, read):
    is_wide(read(text))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_compressed_files_need_no_suffix(pack, read):
    is_wide(read(pack(WIDE.encode()), "t.csv"))
    is_wide(read(pack(WIDE.encode()), "t.csv.gz"))


def test_a_column_of_numbers_is_counts_unless_it_is_named_like_an_index(read):
    text = "{},b\n1,2\n3,4\n"
    assert read(text.format("a")).shape == (2, 2)
    for name in ("", "id", "ID", "index", "customer_id", "Sample ID"):
        table = read(text.format(name))
        assert list(table.row_names) == ["1", "3"]
        assert table.X.toarray().tolist() == [[2], [4]]
        assert read(text.format(name), index=False).shape == (2, 2)


@pytest.mark.parametrize("index", ["site", 1])
def test_the_column_of_names_may_be_told(index, read):
    table = read("ants,site,bees\n3,p1,0\n0,p2,5\n", index=index)
    is_wide(table)
    assert read("a,b\n1,2\n", index=True).row_names.tolist() == ["1"]


def test_labels_are_taken_out(read):
    text = "plot,ants,habitat,bees\np1,3,wood,0\np2,0,field,5\np3,0,,1\n"
    table = read(text, labels="habitat")
    assert table.labels.tolist() == [1, 0, -1]
    assert table.label_names.tolist() == ["field", "wood"]
    assert table.column_names.tolist() == ["ants", "bees"]
    first = read("kind,ants\nwood,3\nfield,0\n", labels="kind")
    assert first.row_names is None
    assert first.labels.tolist() == [1, 0]


def test_labels_that_are_numbers_go_by_size(read):
    table = read("plot,k,n\na,10,1\nb,9,1\nc,x,1\nd,-1,0\n", labels="k")
    assert table.label_names.tolist() == ["-1", "9", "10", "x"]


def test_columns_may_be_left_out(read):
    text = "#OTU ID\tp1\tp2\ttaxonomy\nants\t3\t0\tA; b\nbees\t0\t5\tB; c\n"
    for drop in ("taxonomy", ["taxonomy"]):
        is_wide(read(text, "t.tsv", drop=drop, transpose=True))
    assert read(text, "t.tsv", drop=["taxonomy", "p1"]).shape == (2, 1)


def test_a_file_without_header(read):
    table = read("\ufeff1,2\n3,4\n", header=False)
    assert table.column_names is None
    assert table.X.toarray().tolist() == [[1, 2], [3, 4]]
    table = read("a,1,2\nb,3,4\n", header=False)
    assert table.row_names.tolist() == ["a", "b"]
    named = read("1,2\n3,4\n", header=True)
    assert named.column_names.tolist() == ["1", "2"]


def test_names_with_everything_in_quotes(read):
    text = 'plot,"a ""b"", c","d\ne"\n"p\n1",3,0\n"p,2",0,5\n'
    table = read(text)
    assert table.column_names.tolist() == ['a "b", c', "d\ne"]
    assert table.row_names.tolist() == ["p\n1", "p,2"]
    assert table.X.toarray().tolist() == [[3, 0], [0, 5]]


def test_exact_numbers(read):
    largest = 2**53 - 1
    table = read(f"a,b\n{largest},0.1\n1234567890123456,1e-300\n")
    assert table.X.toarray().tolist() == [[largest, 0.1], [1234567890123456, 1e-300]]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("a,b\n", "no lines below the names"),
        ("a,b\n1,2\n3\n", "line 3 has 1 fields, not 2"),
        ("n,a\nb,1\nx\ry,1\r\n", "line 3 is not a line of a csv file"),
        ("a,b\n1,2\n3,x\n", "line 3, column 'b' holds 'x', which is not a number"),
        ("a,b\n1,2\n3,\n", "line 3, column 'b' is empty. Fill in 0"),
        ("a,b\n1,2\n3,nan\n", "line 3, column 'b' holds NaN; fill in 0"),
        ("a,b\n1,2\n3,-4\n", "line 3, column 'b' holds -4; counts are 0 or more"),
        ("a,b\n1,2\n3,inf\n", "line 3, column 'b' holds an infinite number"),
        ("a,b\n1,2\n3,1e300\n", r"line 3, column 'b' holds 1e\+300; counts must be"),
        ("a,b\n1,2\n3,1_000\n", "holds '1_000', which is not a number"),
        ("a,b\n1,2\n3,4\x00\n", "which is not a number"),
        ("a,a\n1,2\n", "columns 1 and 2 are both called 'a'"),
        ("n,a\nx,1\ny,1\nx,2\n", "rows 1 and 3 are both called 'x'"),
        ("1,2\n3,4\n", "line 1 holds numbers only; pass header=False"),
        ('a,b\n1,2\n"x,4\n5,6\n', "line 3 is not a line of a csv file"),
        ("site\np1\np2\n", "it has no columns of counts"),
        (b"a,b\n1,2\n\xe9,4\n", "line 3 is not in UTF-8 .byte 0xe9."),
        ("<!DOCTYPE html><html>", "it is a web page"),
        ("version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_column(text, reason, refused):
    refused(text, reason)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"labels": "kind"},
            "it has no column 'kind' for labels=. Available: 'plot', 'ants'",
        ),
        ({"drop": "x"}, "it has no column 'x' for drop="),
        ({"index": "x"}, "it has no column 'x' for index="),
        ({"index": 7}, "index=7 is not the place of a column"),
        ({"labels": "ants", "header": False}, "but the first line is not a header"),
        ({"delimiter": "::"}, "delimiter='::' must be one character"),
        ({"triples": ("a", "b", "c", "d")}, "must be three column names"),
        ({"triples": ("plot", "ants", "x")}, "it has no column 'x' for triples="),
        ({"triples": True, "index": "ants"}, "cannot be combined with"),
        ({"labels": "ants", "transpose": True}, "the new rows with metadata="),
        ({"layer": "counts"}, "layer= does not apply to csv, only to 10x-h5, h5ad"),
        ({"text_options": {"stem": None}}, "stem= applies to texts, but"),
        ({"format": "word"}, "format='word' is not one of csv, "),
    ],
)
def test_options_that_do_not_fit_are_told(options, reason, read, tmp_path):
    with pytest.raises(DataFormatError, match=reason):
        read(WIDE, **options)


def test_the_line_is_right_far_down_and_after_quotes(refused, monkeypatch):
    monkeypatch.setattr(lines_module, "BLOCK", 50)
    lines = ["a,b", *('"1",2' if i % 7 == 0 else "1,2" for i in range(200))]
    lines.insert(100, '"0\n",1')
    content = "\n".join(lines) + "\n"
    for text in ("3,x\n", "x\n", "4,-1\n"):
        refused(content + text, "line 20[34]")


def test_a_line_without_end_is_refused(refused, monkeypatch):
    monkeypatch.setattr(lines_module, "LONGEST", 1000)
    refused("a,b\n" + "1" * 2000, "line 2 is longer than 1000 bytes")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b b", '"q"', '"x,y"', "é"]),
            st.lists(
                st.sampled_from(
                    ["0", "1", "23", "0.0", "4.0", "0.5", '"6"', " 7", "8e1"]
                ),
                min_size=3,
                max_size=3,
            ),
        ),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([20, 64, 1 << 20]),
    st.sampled_from(["\n", "\r\n"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_of_any_size_give_what_pandas_gives(tmp_path, rows, size, end):
    lines = [f"{name},{','.join(counts)}" for name, counts in rows]
    lines = [
        f"{i}{line}" if line[0] != '"' else f'"{i}{line[1:]}'
        for i, line in enumerate(lines)
    ]
    text = end.join(["name,x,y,z", *lines]) + end
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "BLOCK", size)
        table = read_counts(path)
    frame = pd.read_csv(io.StringIO(text), index_col=0, keep_default_na=False)
    np.testing.assert_array_equal(table.X.toarray(), frame.to_numpy(dtype=float))
    assert table.row_names.tolist() == frame.index.tolist()


def test_tidy_blocks_take_the_quick_way(read, monkeypatch):
    """Else the tests above would not tell the two ways apart."""
    cuts, of = [], Cut.of

    def counted(*args):
        cuts.append(of(*args))
        return cuts[-1]

    monkeypatch.setattr(Cut, "of", counted)
    read("plot,a,b\np0,1,2\n" + '"p1",3,0.0\r\n' * 1 + "p2,0,5")
    assert len(cuts) == 1
    assert cuts[0] is not None
    assert cuts[0].counts(np.array([-1, 0, 1], dtype=np.int32)).nnz == 2


def test_the_matrix_is_never_dense(read):
    tracemalloc = pytest.importorskip("tracemalloc")
    n_rows, n_columns = 3000, 1500
    line = ",".join(["0"] * (n_columns - 1)) + ",1\n"
    text = ",".join(f"c{j}" for j in range(n_columns)) + "\n" + line * n_rows
    content = gzip.compress(text.encode(), 1)
    del text
    tracemalloc.start()
    try:
        # Blocks are megabytes, and cutting one takes some times as much.
        table = read(content, "t.csv.gz")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(table.X, sp.csr_array)
    assert table.X.nnz == n_rows
    assert peak < n_rows * n_columns * 8
