"""Numbers as people write them, in English, German and French files."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from threecpo import read_counts
from threecpo.io import DataFormatError


@pytest.fixture
def read(tmp_path):
    def reading(text, **options):
        (tmp_path / "t.csv").write_text(text, encoding="utf-8-sig")
        return read_counts(tmp_path / "t.csv", **options)

    return reading


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
    with pytest.raises(DataFormatError, match=f"{place} 1, column 'a' holds '1.234,50"):
        read_counts(path)
    with pytest.raises(DataFormatError, match=f"{place} 2, column 'a' .* empty='zero'"):
        read_counts(path, thousands=".")
    table = read_counts(path, thousands=".", empty="zero")
    assert table.X.toarray().tolist() == [[1234.5, 2], [0, 0], [0, 7.5]]
    assert list(table.row_names) == ["x", "y", "z"]
    write([["who", "what", "n"], ["x", "u", "1.234"], ["x", "v", ""]], path)
    options = {"thousands": ".", "empty": "zero"}
    assert read_counts(path, **options).X.toarray().tolist() == [[1234, 0]]
    with pytest.raises(DataFormatError, match=f"{place} 2, column .* is empty. Fill"):
        read_counts(path, triples=True, thousands=".")
    write([["k", "a", "kind"], ["x", "3 €", "wood"], ["y", "4", "field"]], path)
    with pytest.raises(DataFormatError, match=r"1, column 'kind' .* drop=\['kind'\]"):
        read_counts(path)
    table = read_counts(path, labels="kind")
    assert table.X.toarray().tolist() == [[3], [4]]
    assert list(table.label_names) == ["field", "wood"]


@pytest.mark.parametrize("write", [_as_jsonl, _as_parquet])
def test_numbers_that_are_missing_or_no_counts(write, tmp_path):
    path = tmp_path / f"t.{write.__name__.removeprefix('_as_')}"
    write([["k", "a", "b"], ["x", 1.5, True], ["y", None, False]], path)
    with pytest.raises(DataFormatError, match=r"2, column 'a' is empty\. Fill in 0"):
        read_counts(path)
    # Numbers that are stored as such have a point, whatever texts have.
    table = read_counts(path, empty="zero", decimal=",")
    assert table.X.toarray().tolist() == [[1.5, 1], [0, 0]]
    write([["k", "a"], ["x", 1.5], ["y", float("nan")]], path)
    with pytest.raises(DataFormatError, match=r"2, column 'a' holds NaN.*empty='zero'"):
        read_counts(path)
    assert read_counts(path, empty="zero").X.toarray().tolist() == [[1.5], [0]]
    write([["k", "a"], ["x", 1.5], ["y", -2.0]], path)
    with pytest.raises(DataFormatError, match="2, column 'a' holds -2; counts are 0"):
        read_counts(path, empty="zero")


def test_objects_stand_in_lines_of_their_file(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('\n{"# 1": 3, "b\\nc": 1}\n\n\n{"# 1": "x", "b\\nc": 0}\n')
    with pytest.raises(DataFormatError, match="line 5, column '# 1' holds 'x'"):
        read_counts(path)
    path.write_text('{"2019": 3, "2020": 1}\n{"2019": 3}\n')
    with pytest.raises(DataFormatError, match="line 2, column '2020' is empty"):
        read_counts(path)
    assert list(read_counts(path, empty="zero").column_names) == ["2019", "2020"]
    path.write_text('{"a": 3}\n7\n')
    with pytest.raises(DataFormatError, match="line 2 holds '7', which is nei"):
        read_counts(path)


def test_thousands_that_may_be_fractions_are_asked_about(read):
    asked = r"'1\.234' may be .* Pass thousands='\.' or decimal='\.'\.$"
    with pytest.raises(DataFormatError, match=asked):
        read(GERMAN)
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
def test_what_does_not_fit_is_told(text, options, reason, read):
    with pytest.raises(DataFormatError, match=reason):
        read(text, **options)
