"""Names of strangers do not run in a spreadsheet, and come back as they were."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from threecpo import CountTable, read_counts, write_counts
from threecpo._spreadsheets import guarded, unguarded
from threecpo.results import read_table, write_table

FORMULAS = [
    "=1+1",
    "+1",
    "-1+2",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1",
    "'=1",
    "''@",
]
HARMLESS = ["a", "x=1", "x;=1+1", "3", "'a", "", " =1"]


def test_formulas_get_an_apostrophe():
    assert [guarded(name) for name in FORMULAS] == [f"'{name}" for name in FORMULAS]


@given(st.text())
def test_every_name_comes_back(name):
    assert unguarded(guarded(name)) == name


def fields_of(path, delimiter):
    """Cells as a spreadsheet cuts them that takes another delimiter for its own."""
    with path.open(encoding="utf-8", newline="") as file:
        return [cell for line in csv.reader(file, delimiter=delimiter) for cell in line]


@pytest.mark.parametrize("triples", [False, True])
def test_tables_of_counts(triples, tmp_path):
    names = [name for name in (*FORMULAS, *HARMLESS) if name]
    X = np.arange(1, len(names) ** 2 + 1).reshape(len(names), -1)
    table = CountTable(X, row_names=names, column_names=[f"{name}!" for name in names])
    path = tmp_path / "counts.csv"
    write_counts(table, path, triples=triples)
    for cell in fields_of(path, ","):
        assert cell[:1] not in tuple("=+-@\t\r\n＝＋－＠") or cell == ""
    again = read_counts(path)
    assert list(again.row_names) == list(table.row_names)
    assert list(again.column_names) == list(table.column_names)


def test_tables_of_results_are_not_cut_at_other_characters(tmp_path):
    path = tmp_path / "rows.csv"
    names = np.array([*FORMULAS, *HARMLESS], dtype=object)
    write_table({"row": names, "cluster": np.arange(len(names))}, path)
    text = path.read_text(encoding="utf-8")
    assert '"x;=1+1"' in text
    assert read_table(path)["row"].tolist() == names.tolist()
