"""Files that people and programs can read."""

import csv
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import tables

from paper.experiments.files import (
    environment,
    markdown_table,
    write_csv,
    write_figure,
    write_json,
)

cells = st.text("ab|\n<*_é", max_size=9)


@given(st.lists(st.lists(cells, min_size=3, max_size=3), max_size=4))
def test_a_table_has_as_many_cells_as_its_header(rows):
    (table,) = tables(markdown_table(["a", "b", "c"], rows))
    assert [len(line) for line in table] == [3] * (len(rows) + 2)
    assert table[1] == [" --- ", " ---: ", " ---: "]


def test_lines_inside_a_cell_become_spaces():
    assert "one two" in markdown_table(["a"], [["one\ntwo"]])


def test_numbers_have_six_digits_and_missing_ones_are_empty(tmp_path):
    path = tmp_path / "new" / "values.csv"
    row = {"a": np.pi * 1e6, "b": None, "c": float("nan"), "d": 3, "e": 'x, "y"'}
    write_csv(path, list(row), [row])
    with path.open(newline="", encoding="utf-8") as lines:
        (read,) = csv.DictReader(lines)
    assert read == {"a": "3.14159e+06", "b": "", "c": "", "d": "3", "e": 'x, "y"'}


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "values.json"
    write_json(path, {"a": 1})
    with pytest.raises(UnicodeEncodeError):
        write_json(path, {"a": "\ud800"})
    assert json.loads(path.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_figures_are_the_same_bytes_again(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    open_before = pyplot.get_fignums()
    for name in ("one.svg", "two.svg"):
        figure, ax = pyplot.subplots()
        ax.plot([1, 2], label="a")
        ax.legend()
        write_figure(tmp_path / name, figure)
    for suffix in (".svg", ".png"):
        one, two = ((tmp_path / n).with_suffix(suffix) for n in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
    assert pyplot.get_fignums() == open_before


def test_the_environment_names_versions_and_no_paths():
    told = environment()
    assert {"threecpo", "python", "numpy", "scikit-learn"} <= set(told["versions"])
    assert "/" not in json.dumps(told)
