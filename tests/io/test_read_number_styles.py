"""Numbers as people write them, in English, German and French files."""

import pytest

from threecpo import ThreeCPO, read_counts
from threecpo.io import DataFormatError


@pytest.fixture
def read(tmp_path):
    def reading(text, **options):
        (tmp_path / "t.csv").write_text(text, encoding="utf-8-sig")
        return read_counts(tmp_path / "t.csv", **options)

    return reading


GERMAN = "Kunde;Brot;Milch\nAnna;1.234;2\nBert;3;12.345\n"


@pytest.mark.parametrize(
    ("text", "options", "counts"),
    [
        (GERMAN, {"thousands": "."}, [[1234, 2], [3, 12345]]),
        (GERMAN, {"decimal": "."}, [[1.234, 2], [3, 12.345]]),
        ("k;a;b\nx;1,5;2\ny;0;3,25\n", {"decimal": ","}, [[1.5, 2], [0, 3.25]]),
        ("k;a\nx;1.234,50 €\ny;7\n", {"thousands": "."}, [[1234.5], [7]]),
        ('k,a\nx,"$1,234.50"\ny,7\n', {"thousands": ","}, [[1234.5], [7]]),
        ("k;a\nx;1\u202f234,5\ny;7\n", {"decimal": ",", "thousands": " "}, None),
        ("k;a\nx;1'234\ny;7\n", {"thousands": "'"}, [[1234], [7]]),
        ("k,a,b\nx,,2\ny,NA,n/a\n", {"empty": "zero"}, [[0, 2], [0, 0]]),
        ("r;c;count\nx;u;1.234\nx;v;2\n", {"thousands": "."}, [[1234, 2]]),
    ],
)
def test_numbers_of_many_styles(text, options, counts, read):
    expected = counts or [[1234.5], [7]]
    assert read(text, **options).X.toarray().tolist() == expected


def test_thousands_that_may_be_fractions_are_asked_about(read):
    asked = r"'1\.234' may be .*; pass thousands='\.' or decimal='\.'\.$"
    with pytest.raises(DataFormatError, match=asked):
        read(GERMAN)
    ThreeCPO(1).fit(read(GERMAN, thousands="."))
    assert read(GERMAN.replace("12.345", "12.5")).X.toarray()[1, 1] == 12.5


def test_the_advice_about_empty_cells_leads_to_a_fit(read):
    text = "k,a,b\nx,,2\ny,1,3\n"
    with pytest.raises(DataFormatError, match=r"or pass empty='zero'\.$"):
        read(text)
    ThreeCPO(1).fit(read(text, empty="zero"))


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("k;a\nx;1.23\n", {"thousands": "."}, "holds .1.23 with decimal"),
        ("k;a\nx;1.5\n", {"decimal": ","}, "holds .1.5 with decimal ','"),
        ("k;a\nx;1\n", {"decimal": "x"}, "decimal='x' must be"),
        ("k;a\nx;1\n", {"thousands": "x"}, "thousands='x' must be one of"),
        ("k;a\nx;1\n", {"empty": "nan"}, "empty='nan' must be 'zero'"),
        ("k;a\nx;1\n", {"decimal": ",", "thousands": ","}, "are both ','"),
    ],
)
def test_what_does_not_fit_is_told(text, options, reason, read):
    with pytest.raises(DataFormatError, match=reason):
        read(text, **options)
