"""Small workbooks, xlsx and ods, to be mutated."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .target import Tree

_SHEETML = "http://schemas.openxmlformats.org"
_OPEN = "urn:oasis:names:tc:opendocument:xmlns"
_STRINGS = ("plot", "ants", "bees", "label", "p1", "p2", "u")
_XLSX_ROWS = (
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c>'
    '<c r="C1" t="inlineStr"><is><t>bees</t></is></c><c r="D1" t="s"><v>3</v></c></row>'
    '<row r="2"><c r="A2" t="s"><v>4</v></c><c r="B2"><v>3</v></c>'
    '<c r="C2" t="b"><v>1</v></c><c r="D2" t="s"><v>6</v></c></row>'
    '<row r="4"><c r="A4" t="s"><v>5</v></c><c r="B4" s="0"><v>0.5</v></c>'
    '<c r="C4" t="str"><f>1+1</f><v>2</v></c></row>'
)
_ODS_ROWS = (
    '<table:table-row><table:table-cell office:value-type="string"><text:p>plot'
    '</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>'
    "ants</text:p></table:table-cell></table:table-row><table:table-row "
    'table:number-rows-repeated="2"><table:table-cell/></table:table-row>'
    '<table:table-row><table:table-cell office:value-type="string"><text:p>p1</text:p>'
    '</table:table-cell><table:table-cell office:value-type="float" office:value="3" '
    'table:number-columns-repeated="1"/></table:table-row>'
)


def xlsx() -> list[Tree]:
    """Workbooks of Excel with shared strings, and with two sheets."""
    return [{"t.xlsx": _xlsx(n_sheets)} for n_sheets in (1, 2)]


def ods() -> list[Tree]:
    """Workbooks of OpenDocument of one and two sheets."""
    return [{"t.ods": _ods(n_sheets)} for n_sheets in (1, 2)]


def _xlsx(n_sheets: int) -> bytes:
    strings = "".join(f"<si><t>{text}</t></si>" for text in _STRINGS)
    main = f'xmlns="{_SHEETML}/spreadsheetml/2006/main"'
    shared = f'<sst {main} count="7" uniqueCount="7">{strings}</sst>'
    styles = (
        f'<styleSheet {main}><cellXfs count="2"><xf numFmtId="0"/>'
        '<xf numFmtId="14"/></cellXfs></styleSheet>'
    )
    more = {"xl/sharedStrings.xml": shared, "xl/styles.xml": styles}
    return packed(xlsx_parts([_XLSX_ROWS] * n_sheets) | more)


def xlsx_parts(sheets: list[str]) -> dict[str, str]:
    """Parts of a workbook of Excel, whose rows are given as XML."""
    office = f"{_SHEETML}/officeDocument/2006/relationships"
    package = f"{_SHEETML}/package/2006"
    main = f'xmlns="{_SHEETML}/spreadsheetml/2006/main"'
    numbers = range(1, len(sheets) + 1)
    listed = "".join(f'<sheet name="s{i}" sheetId="{i}" r:id="r{i}"/>' for i in numbers)
    links = "".join(
        f'<Relationship Id="r{i}" Type="{office}/worksheet" '
        f'Target="worksheets/sheet{i}.xml"/>'
        for i in numbers
    )
    relations = f'<Relationships xmlns="{package}/relationships">'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'{relations}<Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {main} xmlns:r="{office}"><sheets>{listed}'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f"{relations}{links}</Relationships>",
    }
    for i, rows in zip(numbers, sheets, strict=True):
        sheet = f"<worksheet {main}><sheetData>{rows}</sheetData></worksheet>"
        parts[f"xl/worksheets/sheet{i}.xml"] = sheet
    return parts


def _ods(n_sheets: int) -> bytes:
    return packed(
        ods_parts(
            f'<table:table table:name="s{i}">{_ODS_ROWS}</table:table>'
            for i in range(n_sheets)
        )
    )


def ods_parts(tables: Iterable[str]) -> dict[str, str]:
    """Parts of a workbook of OpenDocument, whose tables are given as XML."""
    spaces = " ".join(
        f'xmlns:{name}="{_OPEN}:{name}:1.0"' for name in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0"?><office:document-content {spaces}><office:body>'
        f"<office:spreadsheet>{''.join(tables)}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    manifest = f'<manifest:manifest xmlns:manifest="{_OPEN}:manifest:1.0"/>'
    return {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": manifest,
        "content.xml": content,
    }


def packed(parts: dict[str, str]) -> bytes:
    """Parts as a zip file of one date."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return content.getvalue()
