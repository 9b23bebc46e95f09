"""Every loader on a small file laid out as the published one."""

import re

import made_up
import numpy as np
import pytest

from paper.datasets import SOURCES, load
from threecpo import CountTable

# Rows, columns, labels and counts that the made-up files hold.
EXPECTED = {
    "wholesales": (
        None,
        ["Fresh", "Milk", "Grocery", "Frozen", "Detergents_Paper", "Delicassen"],
        ["Retail", "Horeca"],
        [[12669, 9656, 7561, 214, 2674, 1338], [7057, 0, 9568, 1762, 3293, 1776]],
    ),
    "sport_articles": (
        ["Text0001", "Text0002"],
        ["CC", "a&b"],
        ["subjective", "objective"],
        [[4, 0], [0, 7]],
    ),
    "optdigits": (
        None,
        [f"px_{row}_{column}" for row in range(8) for column in range(8)],
        ["7", "0", "3"],
        [[0] * 63 + [16]] * 3,
    ),
    "bbcsports": (
        ["bbcsport/sport/001.txt", "bbcsport/tech/001.txt", "bbcsport/tech/002.txt"],
        ["café", "goal", "phones", "the"],
        ["sport", "tech", "tech"],
        [[0, 1, 0, 1], [0, 0, 2, 0], [1, 0, 1, 0]],
    ),
    "bbcnews": (
        ["bbc/sport/001.txt", "bbc/tech/001.txt", "bbc/tech/002.txt"],
        ["café", "goal", "phones", "the"],
        ["sport", "tech", "tech"],
        [[0, 1, 0, 1], [0, 0, 2, 0], [1, 0, 1, 0]],
    ),
    "webkb": (
        ["webkb/course/misc/http:^^c", "webkb/student/texas/http:^^b"],
        ["abc", "book", "cern", "exam", "mime", "server", "version"],
        ["course", "student"],
        [[0, 0, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0, 0]],
    ),
    "reuters": (
        ["1", "4", "5"],
        [
            "at",
            "corn",
            "correction",
            "in",
            "much",
            "profit",
            "reuter",
            "text",
            "type",
            "unproc",
            "up",
        ],
        ["earn", "grain", "acq"],
        [
            [1, 0, 0, 0, 1, 2, 1, 0, 0, 0, 1],
            [0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0],
            [0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0],
        ],
    ),
    "20newsgroups": (
        [
            "20news-bydate-train/rec.autos/7",
            "20news-bydate-train/sci.med/9",
            "20news-bydate-test/sci.med/10",
        ],
        ["car", "pills"],
        ["rec.autos", "sci.med", "sci.med"],
        [[2, 0], [0, 2], [0, 1]],
    ),
    "gene_expression": (
        ["sample_0", "sample_1"],
        ["gene_0", "gene_1"],
        ["PRAD", "BRCA"],
        [[0, 3], [1, 0]],
    ),
    "human_dendritic": (
        ["c-1", "c_2"],
        ["A1BG", "A2M", "ZZ"],
        ["CD1C", "pDC"],
        [[0, 100, 0], [4, 0, 0]],
    ),
    "mouse_atlas": (
        ["T.cell_1.GC", "NK.AA"],
        ["Gnai3", "Cdc45"],
        ["T-cell", "NK"],
        [[1, 0], [0, 7]],
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_published_layout_is_read(name, tmp_path):
    made_up.WRITERS[name](tmp_path)
    table = load(name, data_home=tmp_path)
    rows, columns, labels, counts = EXPECTED[name]
    assert isinstance(table, CountTable)
    np.testing.assert_array_equal(table.X.toarray(), counts)
    assert table.counts.whole
    assert table.row_names is None if rows is None else list(table.row_names) == rows
    assert list(table.column_names) == columns
    assert [table.label_names[label] for label in table.labels] == labels
    assert list(table.label_names) == sorted(table.label_names)
    assert table.name == SOURCES[name].paper_name
    assert all((table.description, table.citation, table.licence, table.source))


def test_every_data_set_has_a_layout_here():
    assert set(EXPECTED) == set(made_up.WRITERS) == set(SOURCES)


@pytest.mark.parametrize("name", ["bbcnews", "20newsgroups"])
def test_texts_take_the_options_of_count_terms(name, tmp_path):
    made_up.WRITERS[name](tmp_path)
    assert load(name, data_home=tmp_path, max_features=2).shape[1] == 2
    words = load(name, data_home=tmp_path, stem=None).column_names
    assert set(words) & {"phones", "book", "pills"}


def test_bad_options_fail_before_anything_is_looked_for(tmp_path):
    with pytest.raises(ValueError, match="max_features=0 must be"):
        load("bbcnews", data_home=tmp_path, max_features=0)
    with pytest.raises(ValueError, match="stem='klingon' is not"):
        load("bbcnews", data_home=tmp_path, stem="klingon")


def test_the_folder_of_the_environment_is_used(tmp_path, monkeypatch):
    made_up.wholesales(tmp_path)
    monkeypatch.setenv("THREECPO_DATA", str(tmp_path))
    assert load("wholesales").shape == (2, 6)


def test_data_home_goes_before_the_environment(tmp_path, monkeypatch):
    given, named = tmp_path / "given", tmp_path / "named"
    given.mkdir()
    named.mkdir()
    made_up.wholesales(named)
    (given / "Wholesale customers data.csv").write_bytes(
        made_up.WHOLESALES.splitlines(keepends=True)[0] + b"1,1,1,2,3,4,5,6\n"
    )
    monkeypatch.setenv("THREECPO_DATA", str(named))
    assert load("wholesales", data_home=given).X.sum() == 21


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path):
    path = tmp_path / "Wholesale customers data.csv"
    path.write_bytes(b"\xef\xbb\xbf" + made_up.WHOLESALES)
    assert load("wholesales", data_home=tmp_path).shape == (2, 6)


def test_the_data_sets_are_those_of_the_papers_table():
    assert [source.paper_name for source in SOURCES.values()] == [
        *("Wholesales", "SportA", "Optdigits", "BBCSports", "BBCNews", "WebKB"),
        *("Reuters", "20NewsG", "MouseAtlas", "GeneExp", "HDendritic"),
    ]


def test_files_are_registered_well():
    names = [file.name for source in SOURCES.values() for file in source.files]
    assert len(set(names)) == len(names)
    for source in SOURCES.values():
        assert all((source.description, source.licence, source.home, source.citation))
        for file in source.files:
            assert file.url.startswith(("https://", "http://mlg.ucd.ie/"))
            assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert "/" not in file.name


def test_an_unknown_data_set_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="no data set 'iris'; there are wholesales, "):
        load("iris")
