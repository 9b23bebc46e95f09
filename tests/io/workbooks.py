"""Workbooks to read: xlsx by openpyxl, ods and odd ones by hand."""

import zipfile
from xml.sax.saxutils import escape

import pytest

_OFFICE = "urn:oasis:names:tc:opendocument:xmlns"
_SHEETML = "http://schemas.openxmlformats.org"


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
    spaces = "".join(
        f' xmlns:{name}="{_OFFICE}:{name}:1.0"' for name in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0"?><office:document-content{spaces}><office:body>'
        f"<office:spreadsheet>{tables}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = f'<manifest:manifest xmlns:manifest="{_OFFICE}:manifest:1.0"/>'
    parts = {"mimetype": kind, "META-INF/manifest.xml": manifest}
    return packed(path, parts | {"content.xml": content})


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
    office = f"{_SHEETML}/officeDocument/2006/relationships"
    package = f"{_SHEETML}/package/2006"
    main = f"{_SHEETML}/spreadsheetml/2006/main"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="t" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{rows}'
        "</sheetData></worksheet>",
    }
    return packed(path, parts | more)


def packed(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path
