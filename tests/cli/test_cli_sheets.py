"""Commands on workbooks."""

from importlib.util import find_spec

import pytest
from running import runner

pytestmark = pytest.mark.skipif(
    find_spec("python_calamine") is None, reason="python-calamine is not installed"
)


def test_the_sheet_that_an_error_names_leads_to_a_fit(capsys, tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl writes the workbook")
    monkeypatch.chdir(tmp_path)
    run = runner(capsys)
    book = openpyxl.Workbook()
    for row in (["made by", "Ann"], ["on", "Monday"]):
        book.active.append(row)
    counts = book.create_sheet("counts")
    for row in (["plot", "ants", "bees"], ["p1", 3, 0], ["p2", 0, 5]):
        counts.append(row)
    book.save("t.xlsx")
    asked = run("info", "t.xlsx")
    assert asked.code == 2
    assert "--sheet takes another: 'counts'" in asked.err
    assert "sheet 'counts'" in run("info", "t.xlsx", "--sheet", "counts").out
    done = run("fit", "t.xlsx", "-k", 1, "--sheet", "counts", "--no-report")
    assert done.code == 0, done.err
