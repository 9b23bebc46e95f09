"""Workbooks to read: xlsx by openpyxl, ods and odd ones by hand."""

from xml.sax.saxutils import escape

import pytest

from fuzz.seeds_sheets import ods_parts, packed, xlsx_parts


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
