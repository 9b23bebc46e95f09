"""Files that other programs open: a workbook and an AnnData."""

import json
import zipfile

import numpy as np
import pytest
from running import COLUMNS, ROWS, X, written_csv

import threecpo
from threecpo import results
from threecpo.results import table_files


def test_a_workbook_of_what_was_found(run, tmp_path):
    pytest.importorskip("xlsxwriter")
    openpyxl = pytest.importorskip("openpyxl")
    names = ["=1+1", "+cmd|' /C calc'!A0", "http://a.b", *COLUMNS[3:]]
    written_csv(tmp_path / "t.csv", X, ["=HYPERLINK(1)", *ROWS[1:]], names)
    assert run("fit", "t.csv", "-k", 3, "-o", "out", "--write", "xlsx").code == 0
    book = openpyxl.load_workbook(tmp_path / "out" / "segments.xlsx")
    sheets = ["rows", "clusters", "profile", "markers", "columns", "table"]
    assert book.sheetnames == sheets
    header, *lines = book["table"].values
    assert header == ("row", "cluster", "name", *names)
    assert [list(line[3:]) for line in lines] == X.tolist()
    rows = list(book["rows"].values)
    labels = results.read_table(tmp_path / "out" / "labels.csv", results.ROWS)
    assert list(rows[0]) == list(labels)
    assert [row[0] for row in rows[1:]] == labels["row"].tolist()
    assert [row[1] for row in rows[1:]] == labels["cluster"].tolist()
    model = threecpo.load(tmp_path / "out" / "model.npz")
    profile = list(book["profile"].values)
    assert [line[0] for line in profile[1:]] == names
    found = np.array([line[1:] for line in profile[1:]], dtype=float)
    expected = model.record_.markers.expected
    np.testing.assert_allclose(found[:, :-1].T, expected.clusters)
    cells = [cell for sheet in book for line in sheet.iter_rows() for cell in line]
    assert {cell.data_type for cell in cells} <= {"s", "n"}
    assert not any(cell.hyperlink for cell in cells)
    with zipfile.ZipFile(tmp_path / "out" / "segments.xlsx") as file:
        assert not any(b"<f>" in file.read(name) for name in file.namelist())
    run_file = json.loads((tmp_path / "out" / "run.json").read_text())
    assert "segments.xlsx" in run_file["files"]
    again = run("fit", "t.csv", "-k", 3, "-o", "out", "--write", "xlsx", "--force")
    assert again.code == 0


def test_more_rows_than_a_sheet_holds(run, monkeypatch, tmp_path):
    pytest.importorskip("xlsxwriter")
    monkeypatch.setattr(table_files, "MOST_ROWS", 100)
    done = run("fit", "cells.npz", "-k", 3, "-o", "out", "--write", "xlsx")
    assert done.code == 2
    assert "leave out --write xlsx" in done.err
    assert not (tmp_path / "out").exists()


def test_an_anndata_of_what_was_found(run, tmp_path):
    anndata = pytest.importorskip("anndata")
    assert run("fit", "cells.npz", "-k", 3, "-o", "out", "--write", "h5ad").code == 0
    adata = anndata.read_h5ad(tmp_path / "out" / "segments.h5ad")
    model = threecpo.load(tmp_path / "out" / "model.npz")
    assert adata.obs_names.tolist() == ROWS
    assert adata.var_names.tolist() == COLUMNS
    np.testing.assert_array_equal(adata.X.toarray(), X)
    assert adata.obs["threecpo"].tolist() == model.labels_.astype(str).tolist()
    assert adata.obs["label"].notna().all()
    groups = {"relevant": 1, "shared": 0, "noise": -1}
    found = adata.var["threecpo_group"].map(groups).tolist()
    assert found == model.column_groups_.tolist()
    assert run(
        "fit", "cells.npz", "-k", 3, "--write", "h5ad", "--max-memory", "1GB"
    ).code


def test_a_missing_library_is_said_before_the_fit(run, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "xlsxwriter", None)
    done = run("fit", "cells.npz", "-k", 3, "-o", "out", "--write", "xlsx")
    assert done.code == 2
    assert 'pip install "threecpo[io]"' in done.err
    assert not (tmp_path / "out").exists()
