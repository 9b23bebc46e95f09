"""Sheets of xlsx and ods files."""

import datetime as dt
import subprocess
import sys
from xml.sax.saxutils import escape

import pytest
from tables import refused

from fuzz.seeds_sheets import ods_parts, packed, xlsx_parts
from threecpo import read_counts
from threecpo.io import DataFormatError
from threecpo.io import sheets as _sheets


def xlsx(path, **sheets):
    """Sheets by name, each a list of rows."""
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl writes the workbooks")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def ods(path, **sheets):
    """The same for OpenDocument."""
    tables = "".join(
        f'<table:table table:name="{escape(name)}">{_ods_rows(rows)}</table:table>'
        for name, rows in sheets.items()
    )
    return ods_of(path, tables)


def ods_of(path, tables):
    path.write_bytes(packed(ods_parts([tables])))
    return path


def _ods_rows(rows):
    return "".join(
        f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>"
        for row in rows
    )


def _ods_cell(value):
    if value is None:
        return "<table:table-cell/>"
    kind, attribute = "string", ""
    if isinstance(value, bool):
        kind, attribute = "boolean", f' office:boolean-value="{str(value).lower()}"'
    elif isinstance(value, int | float):
        kind, attribute = "float", f' office:value="{value}"'
    text = f"<text:p>{escape(str(value))}</text:p>"
    return (
        f'<table:table-cell office:value-type="{kind}"{attribute}>{text}'
        "</table:table-cell>"
    )


def xlsx_of(path, rows, **more):
    """A workbook of one sheet, whose rows are given as XML."""
    path.write_bytes(packed(xlsx_parts([rows]) | more))
    return path


WRITERS = {".xlsx": xlsx, ".ods": ods}
PLOTS = [["plot", "ants", "bees"], ["p1", 3, 0], ["p2", 0, 5]]


def writer(suffix, folder):
    def written(rows=None, **sheets):
        return WRITERS[suffix](folder / f"t{suffix}", **(sheets or {"t": rows}))

    return written


@pytest.fixture(params=WRITERS)
def write_both(request, tmp_path):
    """Write rows of one sheet, or several sheets by name, in either format."""
    return writer(request.param, tmp_path)


@pytest.fixture
def write(tmp_path):
    """The same by hand, without another library."""
    return writer(".ods", tmp_path)


def shown(table):
    rows = None if table.row_names is None else list(table.row_names)
    return rows, list(table.column_names), table.X.toarray().tolist()


def test_a_table_is_read_with_its_names(write_both):
    table = read_counts(write_both(PLOTS))
    assert shown(table) == (["p1", "p2"], ["ants", "bees"], [[3, 0], [0, 5]])
    assert (table.name, table.description) == ("t", "")


def test_without_a_suffix_the_content_tells(write_both):
    path = write_both(PLOTS)
    bare = path.rename(path.with_suffix(""))
    assert read_counts(bare).shape == (2, 2)


def test_a_workbook_named_like_another_format_is_told(write_both):
    path = write_both(PLOTS)
    kind = path.suffix[1:]
    refused(path.rename(path.with_suffix(".npz")), f"holds {kind}; rename it or pass")


CELLS = [
    ([["a", "b"], [1, 0.5], [2, 3e9]], {}, [[1, 0.5], [2, 3e9]]),
    ([["a", "b"], [True, 2], [False, "7"]], {}, [[1, 2], [0, 7]]),
    (
        [["a", "b"], ["1.234,5", 2], [0.5, 3]],
        {"thousands": "."},
        [[1234.5, 2], [0.5, 3]],
    ),
    ([["a", "b"], ["1,5", 2], [2.25, 3]], {"decimal": ","}, [[1.5, 2], [2.25, 3]]),
    ([["a", "b"], [None, 2], [1, "NA"]], {"empty": "zero"}, [[0, 2], [1, 0]]),
    ([[1, 2], [3, 4]], {"header": False}, [[1, 2], [3, 4]]),
    ([["k", "a"], ["x", 1], ["y", 2]], {"labels": "k"}, [[1], [2]]),
    ([["a", "day"], [1, "Mon"], [2, "Tue"]], {"drop": "day"}, [[1], [2]]),
]


def test_cells_are_taken_as_a_sheet_stores_them(write_both):
    for rows, options, expected in CELLS:
        table = read_counts(write_both(rows), **options)
        assert table.X.toarray().tolist() == expected


def test_empty_rows_titles_and_line_ends_in_cells(write):
    rows = [[], ["Trap counts 2024", None, None], [], ["plot", "ants\nred", "bees"]]
    rows += [["p1", 1, 2], [], ["p2", 3, 4]]
    table = read_counts(write(rows))
    assert shown(table) == (["p1", "p2"], ["ants red", "bees"], [[1, 2], [3, 4]])


def test_errors_count_rows_as_the_sheet_does(write):
    rows = [[], ["plot\nname", "ants", "bees"], ["p1", 1, 2], ["p2", "many", 3]]
    refused(write(rows), "line 4, column 'ants' holds 'many'")


def test_quotes_and_tabs_in_cells(write):
    table = read_counts(write([["plot", 'a "b"', "c\td"], ['p"1', 1, 2]]))
    assert shown(table) == (['p"1'], ['a "b"', "c\td"], [[1, 2]])


def test_one_count_a_row(write):
    rows = [["who", "what", "n"], ["ann", "milk", 2], ["bob", "tea", 1]]
    expected = (["ann", "bob"], ["milk", "tea"], [[2, 0], [0, 1]])
    assert shown(read_counts(write(rows))) == expected
    table = read_counts(write(rows), triples=("what", "who", "n"))
    assert list(table.row_names) == ["milk", "tea"]


def test_a_column_of_text(write):
    rows = [["id", "review", "stars"], ["1", "cold soup", 2], ["2", "warm soup", 5]]
    table = read_counts(write(rows), text="review", text_options={"stem": None})
    assert list(table.column_names) == ["cold", "soup", "warm"]
    assert table.description == "words of column 'review'"


def test_the_first_that_holds_something_is_taken_and_named(write_both):
    table = read_counts(write_both(empty=[], counts=PLOTS, other=PLOTS[:2]))
    assert (table.shape, table.description) == ((2, 2), "sheet 'counts'")


def test_another_is_taken_if_asked_for(write):
    path = write(counts=PLOTS, other=PLOTS[:2])
    assert read_counts(path, sheet="other").shape == (1, 2)


def test_one_that_is_not_there_is_told_with_those_that_are(write):
    message = "no sheet 'x'; pass sheet= as one of 'counts', 'other'"
    refused(write(counts=PLOTS, other=PLOTS), message, sheet="x")


def test_an_error_in_the_first_names_the_others(write):
    path = write(notes=[["made by", "Ann"], ["on", "Monday"]], counts=PLOTS)
    refused(path, "sheet= takes another: 'counts'")


def test_none_at_all(write):
    refused(write(empty=[]), "no visible sheet with anything")


def test_hidden_ones_are_read_only_if_asked_for(tmp_path):
    path = xlsx(tmp_path / "t.xlsx", first=PLOTS[:2], second=PLOTS)
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(path)
    book["first"].sheet_state = "hidden"
    book.active = 1
    book.save(path)
    assert read_counts(path).description == "sheet 'second'"
    assert read_counts(path, sheet="first").shape == (1, 2)


def test_the_option_is_one_of_sheets_alone(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    refused(tmp_path / "t.csv", "sheet= does not apply to csv, only", sheet="x")


def test_dates_are_no_counts(tmp_path):
    day = dt.date(2024, 5, 17)
    path = xlsx(tmp_path / "t.xlsx", t=[["day", "ants"], [day, 3]])
    assert list(read_counts(path).row_names) == ["2024-05-17"]
    path = xlsx(tmp_path / "t.xlsx", t=[["ants", "day"], [3, day]])
    refused(path, "holds '2024-05-17', which is not a nu")


def test_errors_of_formulas_are_empty_cells(tmp_path):
    cells = '<c r="A2"><v>2</v></c><c r="B2" t="e"><v>#N/A</v></c>'
    path = xlsx_of(tmp_path / "t.xlsx", f"{_TEXTS}<row r='2'>{cells}</row>")
    refused(path, "line 2, column 'b' is empty")
    assert read_counts(path, empty="zero").X.toarray().tolist() == [[2, 0]]


def test_merged_cells_are_filled_at_their_first_place(tmp_path):
    path = xlsx(tmp_path / "t.xlsx", t=[["a", "b"], [1, 2], [3, 4]])
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(path)
    book.active.merge_cells("A2:A3")
    book.save(path)
    refused(path, "line 3, column 'a' is empty")


def test_formatted_cells_far_out_are_not_counted(tmp_path):
    far = '<row r="9"><c r="XFD9" s="0"/></row>'
    row = '<row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>2</v></c></row>'
    path = xlsx_of(tmp_path / "t.xlsx", _TEXTS + row + far)
    assert read_counts(path).X.toarray().tolist() == [[1, 2]]


_TEXTS = (
    '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c>'
    '<c r="B1" t="inlineStr"><is><t>b</t></is></c></row>'
)


def test_more_parts_than_any_workbook_has(tmp_path, monkeypatch):
    monkeypatch.setattr(_sheets, "_MOST_PARTS", 4)
    refused(xlsx_of(tmp_path / "t.xlsx", _TEXTS), "archive of 5 files")


def test_parts_that_lead_out_of_the_archive(tmp_path):
    path = xlsx_of(tmp_path / "t.xlsx", _TEXTS, **{"../up.xml": "x"})
    refused(path, "leads out of the archive")


def test_parts_that_unpack_to_too_much(tmp_path):
    path = xlsx_of(tmp_path / "t.xlsx", _TEXTS, extra=" " * 40_000_000)
    refused(path, "unpacks to more than 30000000", max_unpacked="30MB")


def test_two_cells_far_apart(tmp_path):
    cell = '<c r="{0}"><v>1</v></c>'
    far = f'<row r="1048576">{cell.format("XFD1048576")}</row>'
    path = xlsx_of(tmp_path / "t.xlsx", f"{_TEXTS}{far}")
    refused(path, "takes more memory than max_unpa")


def test_cells_that_are_repeated_without_end(tmp_path):
    cell = (
        '<table:table-cell table:number-columns-repeated="16000" '
        'office:value-type="float" office:value="1"/>'
    )
    row = '<table:table-row table:number-rows-repeated="1000000">'
    table = f'<table:table table:name="t">{row}{cell}</table:table-row>'
    path = ods_of(tmp_path / "t.ods", f"{table}</table:table>")
    # Older calamine panics where a newer one counts the cells first.
    reason = r"t\.ods: (it cannot be read|the library that reads it has given up)"
    refused(path, reason)


@pytest.mark.parametrize("kind", ["laughs", "outside"])
def test_entities_are_not_resolved(tmp_path, kind):
    secret = tmp_path / "secret.txt"
    secret.write_text("777")
    steps = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
    entities = {
        "laughs": f'<!ENTITY e0 "9999999999">{steps}<!ENTITY x "&e11;">',
        "outside": f'<!ENTITY x SYSTEM "{secret.as_uri()}">',
    }
    sheet = (
        f"<!DOCTYPE worksheet [{entities[kind]}]><worksheet><sheetData>{_TEXTS}"
        '<row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>&x;</v></c></row>'
        "</sheetData></worksheet>"
    )
    part = {"xl/worksheets/sheet1.xml": sheet}
    path = xlsx_of(tmp_path / "t.xlsx", "", **part)
    with pytest.raises(DataFormatError) as caught:
        read_counts(path)
    assert "777" not in str(caught.value)


@pytest.mark.parametrize("suffix", WRITERS)
def test_archives_without_a_workbook(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(packed({"a.txt": "hello"}))
    refused(path, r"named like|cannot be read")
    refused(path, "cannot be read, it is damaged", format=suffix[1:])


def test_old_and_protected_workbooks(tmp_path):
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    refused(path, "protected by a password; save it")


def test_every_file_that_is_cut_short_is_an_error(write_both):
    path = write_both(PLOTS)
    content = path.read_bytes()
    for length in range(1, len(content), len(content) // 6):
        path.write_bytes(content[:length])
        refused(path, r"t\.(xlsx|ods)")


def test_the_library_is_asked_for_when_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("threecpo.io.isolated.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"python_calamine.*threecpo\[io\]"):
        read_counts(xlsx_of(tmp_path / "t.xlsx", _TEXTS))


def test_the_library_is_loaded_in_the_reading_process_alone(tmp_path):
    path = ods(tmp_path / "t.ods", t=PLOTS)
    code = (
        "import sys, threecpo\n"
        f"assert threecpo.read_counts({str(path)!r}).shape == (2, 2)\n"
        "assert 'python_calamine' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
