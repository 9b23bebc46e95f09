"""Tables as text, wide or one count a line: what is found, told and refused."""

import gzip
import io
import json
import lzma

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from tables import refused

from threecpo import read_counts
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
def told(tmp_path):
    """Reading a text fails with one line that names the file."""

    def telling(text, reason, name="t.csv", **options):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        refused(path, reason, **options)

    return telling


def is_wide(table):
    assert list(table.row_names) == ["p1", "p2"]
    assert list(table.column_names) == ["ants", "bees"]
    assert table.X.toarray().tolist() == [[3, 0], [0, 5]]


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
def test_what_is_wrong_is_told_with_its_line_and_column(text, reason, told):
    told(text, reason)


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
def test_options_that_do_not_fit_are_told(options, reason, told):
    told(WIDE, reason, **options)


def test_the_line_is_right_far_down_and_after_quotes(told, monkeypatch):
    monkeypatch.setattr(lines_module, "BLOCK", 50)
    lines = ["a,b", *('"1",2' if i % 7 == 0 else "1,2" for i in range(200))]
    lines.insert(100, '"0\n",1')
    content = "\n".join(lines) + "\n"
    for text in ("3,x\n", "x\n", "4,-1\n"):
        told(content + text, "line 20[34]")


def test_a_line_without_end_is_refused(told, monkeypatch):
    monkeypatch.setattr(lines_module, "LONGEST", 1000)
    told("a,b\n" + "1" * 2000, "line 2 is longer than 1000 bytes")


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


TRIPLES = "customer,product,quantity\nann,milk,2\nbob,bread,1\nann,milk,3\n"


def is_basket(table):
    assert table.row_names.tolist() == ["ann", "bob"]
    assert table.column_names.tolist() == ["milk", "bread"]
    assert table.X.toarray().tolist() == [[5, 0], [0, 1]]


@pytest.mark.parametrize(
    "text",
    [
        TRIPLES,
        TRIPLES.replace(",", "\t"),
        TRIPLES.replace("customer,product,quantity\n", ""),
        TRIPLES.replace("ann", '"ann"').replace("2", "2.0"),
        TRIPLES + "\n",
    ],
)
def test_triples_are_found_by_their_shape(text, read):
    is_basket(read(text))


def test_names_of_numbers_are_triples_if_the_third_column_is_called_count(read):
    text = "row,column,{}\n1,7,2\n1,8,3\n"
    table = read(text.format("count"))
    assert table.column_names.tolist() == ["7", "8"]
    assert table.X.toarray().tolist() == [[2, 3]]
    assert read(text.format("sum")).shape == (2, 3)
    assert read(text.format("sum"), triples=True).shape == (1, 2)
    assert read(text.format("count"), triples=False).shape == (2, 3)


def test_a_wide_table_of_three_columns_stays_wide(read):
    assert read("plot,ants,2019\na,1,2\nb,3,4\n").shape == (2, 2)
    assert read("plot,kind,n\na,x,2\nb,y,4\n", labels="kind").shape == (2, 1)
    assert read("plot,kind,n\na,x,2\nb,y,4\n", drop="kind").shape == (2, 1)


def test_triples_may_be_turned_round(read):
    table = read(TRIPLES, transpose=True)
    assert table.row_names.tolist() == ["milk", "bread"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ann,milk", "line 5 has 2 fields, not 3"),
        ("ann,milk,", "line 5, column 3 is empty. Fill in 0"),
        ("ann,milk,one", "line 5, column 3 holds 'one', which is not a number"),
        ("ann,milk,-2", "line 5, column 3 holds -2; counts are 0 or more"),
        ("ann,milk,nan", "line 5, column 3 holds NaN"),
        ("ann,milk,1e99", r"line 5, column 3 holds 1e\+99; counts must be"),
        ("\xffnn,milk", "line 5"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(line, reason, told, monkeypatch):
    for block in (8, 1 << 20):
        monkeypatch.setattr(lines_module, "BLOCK", block)
        told(f"{TRIPLES}{line}\nann,milk,3\n", reason)


def test_sums_beyond_exact_counts_are_refused(told):
    half = 2**52
    reason = "row 'a', column 'x' holds 9.0072e.15; counts must be"
    told(f"row,column,count\na,x,{half}\na,x,{half}\n", reason)


def test_the_advice_about_more_columns_leads_to_a_table(read, told):
    text = "day,who,what,n\n1,ann,milk,2\n1,bob,bread,1\n2,ann,milk,3\n"
    told(text, "triples= needs three columns, but there are 4", triples=True)
    is_basket(read(text, triples=("who", "what", "n")))
    is_basket(read(text, triples=True, drop="day"))


def test_pairs_count_one_a_line(read, told, monkeypatch):
    monkeypatch.setattr(lines_module, "BLOCK", 8)
    text = "day,who,what\n" + "1,ann,milk\n" * 5 + '2,bob,"bread"\n'
    is_basket(read(text, triples=("who", "what")))
    is_basket(
        read(text.replace("1,", "").replace("2,", "").replace("day,", ""), triples=True)
    )
    told(text + "x,y\n", "line 8 has 2 fields, not 3", triples=("who", "what"))


def test_long_names_of_products_are_no_texts(read):
    names = [f"white hanging heart of glass number {i}" for i in range(4)]
    lines = [f"{who},{name},1" for who in ("ann", "bob") for name in names]
    table = read("\n".join(["who,what,sold", *lines]) + "\n")
    assert table.column_names.tolist() == names
    lines = [f"c{i},{name},1" for i, name in enumerate(names)]
    table = read("\n".join(["who,what,quantity", *lines]) + "\n")
    assert table.column_names.tolist() == names


def test_many_names_are_numbered_in_order_of_appearance():
    from threecpo.io.lines import Cut, Names

    rng = np.random.default_rng(0)
    words = [f"n{'ä' * (i % 3)}{i % 9000}" for i in rng.integers(0, 10**6, 30_000)]
    names, found = Names(), []
    for start in range(0, len(words), 7000):
        block = "".join(f"x,{word}\n" for word in words[start : start + 7000])
        found += names.numbers(Cut.of(block.encode(), ",", 2), 1).tolist()
    order = {word: i for i, word in enumerate(dict.fromkeys(words))}
    assert found == [order[word] for word in words]
    assert names.texts() == list(order)
    assert names.number(words[5]) == found[5]
    assert names.number("") == len(order)


GERMAN = "Kunde;Brot;Milch\nAnna;1.234;2\nBert;3;12.345\n"


def _as_jsonl(lines, path):
    names, *rows = lines
    objects = (json.dumps(dict(zip(names, row, strict=True))) for row in rows)
    path.write_text("\n".join(objects))


def _as_parquet(lines, path):
    names, *rows = lines
    columns = zip(names, zip(*rows, strict=True), strict=True)
    parquet.write_table(pa.table({name: list(each) for name, each in columns}), path)


TEXTS = [["k", "a", "b"], ["x", "1.234,50 €", "2"], ["y", "NA", ""], ["z", None, "7,5"]]


@pytest.mark.parametrize("write", [_as_jsonl, _as_parquet])
def test_text_of_other_formats_is_read_by_the_same_rules(write, tmp_path):
    path = tmp_path / f"t.{write.__name__.removeprefix('_as_')}"
    write(TEXTS, path)
    place = r"(?:line|row)"
    refused(path, f"{place} 1, column 'a' holds '1.234,50")
    refused(path, f"{place} 2, column 'a' .* empty='zero'", thousands=".")
    table = read_counts(path, thousands=".", empty="zero")
    assert table.X.toarray().tolist() == [[1234.5, 2], [0, 0], [0, 7.5]]
    assert list(table.row_names) == ["x", "y", "z"]
    write([["who", "what", "n"], ["x", "u", "1.234"], ["x", "v", ""]], path)
    options = {"thousands": ".", "empty": "zero"}
    assert read_counts(path, **options).X.toarray().tolist() == [[1234, 0]]
    refused(path, f"{place} 2, column .* is empty. Fill", triples=True, thousands=".")
    write([["k", "a", "kind"], ["x", "3 €", "wood"], ["y", "4", "field"]], path)
    refused(path, r"1, column 'kind' .* drop=\['kind'\]")
    table = read_counts(path, labels="kind")
    assert table.X.toarray().tolist() == [[3], [4]]
    assert list(table.label_names) == ["field", "wood"]


@pytest.mark.parametrize("write", [_as_jsonl, _as_parquet])
def test_numbers_that_are_missing_or_no_counts(write, tmp_path):
    path = tmp_path / f"t.{write.__name__.removeprefix('_as_')}"
    write([["k", "a", "b"], ["x", 1.5, True], ["y", None, False]], path)
    refused(path, r"2, column 'a' is empty\. Fill in 0")
    # Numbers that are stored as such have a point, whatever texts have.
    table = read_counts(path, empty="zero", decimal=",")
    assert table.X.toarray().tolist() == [[1.5, 1], [0, 0]]
    write([["k", "a"], ["x", 1.5], ["y", float("nan")]], path)
    refused(path, r"2, column 'a' holds NaN.*empty='zero'")
    assert read_counts(path, empty="zero").X.toarray().tolist() == [[1.5], [0]]
    write([["k", "a"], ["x", 1.5], ["y", -2.0]], path)
    refused(path, "2, column 'a' holds -2; counts are 0", empty="zero")


def test_objects_stand_in_lines_of_their_file(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('\n{"# 1": 3, "b\\nc": 1}\n\n\n{"# 1": "x", "b\\nc": 0}\n')
    refused(path, "line 5, column '# 1' holds 'x'")
    path.write_text('{"2019": 3, "2020": 1}\n{"2019": 3}\n')
    refused(path, "line 2, column '2020' is empty")
    assert list(read_counts(path, empty="zero").column_names) == ["2019", "2020"]
    path.write_text('{"a": 3}\n7\n')
    refused(path, "line 2 holds '7', which is nei")


def test_thousands_that_may_be_fractions_are_asked_about(read, told):
    asked = r"'1\.234' may be .* Pass thousands='\.' or decimal='\.'\.$"
    told(GERMAN, asked)
    assert read(GERMAN, thousands=".").X.toarray().tolist() == [[1234, 2], [3, 12345]]
    assert read(GERMAN, decimal=".").X.toarray().tolist() == [[1.234, 2], [3, 12.345]]
    long = "r;c;count\nx;u;1.234\nx;v;2\n"
    assert read(long, thousands=".").X.toarray().tolist() == [[1234, 2]]
    assert read(GERMAN.replace("12.345", "12.5")).X.toarray()[1, 1] == 12.5


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("k;a\nx;1.23\n", {"thousands": "."}, "holds .1.23 with decimal"),
        ("k;a\nx;1.5\n", {"decimal": ","}, "holds .1.5 with decimal ','"),
        ("k;a\nx;1\n", {"decimal": "x"}, "decimal='x' must be"),
        ("k;a\nx;1\n", {"thousands": "x"}, "thousands='x' must be one of"),
        ("k;a\nx;1\n", {"empty": "nan"}, "empty='nan' must be 'zero'"),
        ("k;a\nx;1\n", {"decimal": ",", "thousands": ","}, "both are ','"),
    ],
)
def test_what_does_not_fit_is_told(text, options, reason, told):
    told(text, reason, **options)
