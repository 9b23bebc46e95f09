"""The formats: how each is recognised, which module reads it, what options it has."""

from __future__ import annotations

import os
import zipfile
from contextlib import suppress
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._errors import parameter, refuse
from .files import is_zarr, open_regular, opened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Format:
    """A kind of file or folder, and the options that it takes."""

    module: str
    suffixes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    writes: bool = True
    # The function of the module that reads it.
    reader: str = "read"

    def load(self) -> Any:
        """Import the module that has ``read`` and perhaps ``write``."""
        return import_module(f".{self.module}", __package__)


_COLUMNS = ("labels", "index", "drop", "triples")
NUMBERS = ("decimal", "thousands", "empty")
_TEXT = ("text", "text_options")
_SHEETS = (*_COLUMNS, *_TEXT, *NUMBERS, "header", "sheet")
FORMATS = {
    "csv": Format(
        "delimited",
        (".csv", ".tsv", ".tab", ".txt"),
        (*_COLUMNS, *_TEXT, *NUMBERS, "header", "delimiter", "encoding"),
    ),
    "xlsx": Format("sheets", (".xlsx", ".xlsm"), _SHEETS, writes=False),
    "ods": Format("sheets", (".ods",), _SHEETS, writes=False),
    "parquet": Format("parquet", (".parquet", ".pq"), (*_COLUMNS, *_TEXT, *NUMBERS)),
    "npz": Format("npz", (".npz",), ("labels", "drop")),
    "mtx": Format("mtx", (".mtx", ".mm"), ("drop",)),
    "10x": Format("tenx", (), ("drop",)),
    "10x-h5": Format(
        "tenx", (".h5",), ("layer", "drop"), writes=False, reader="read_hdf5"
    ),
    "h5ad": Format("h5ad", (".h5ad",), ("layer", "labels", "drop")),
    "zarr": Format("h5ad", (), ("layer", "labels", "drop"), writes=False),
    "biom": Format("biom", (".biom",), ("labels", "drop"), writes=False),
    "texts": Format("texts", (), ("drop", "text_options", "encoding"), writes=False),
    "jsonl": Format(
        "jsonl",
        (".jsonl", ".ndjson"),
        (*_COLUMNS, *_TEXT, *NUMBERS, "encoding"),
        writes=False,
    ),
}
_R = "write it from R with Matrix::writeMM, or as h5ad with zellkonverter::writeH5AD"
_SHEET = "save it as xlsx in the spreadsheet program"
# Files that are not read, and how to get one that is.
_ADVICE = {
    ".xls": _SHEET,
    ".xlsb": _SHEET,
    ".numbers": _SHEET,
    ".loom": "convert it to h5ad with anndata.io.read_loom(path).write_h5ad(new), "
    "which needs loompy",
    ".rds": _R,
    ".rdata": _R,
}
_PACKED = (".gz", ".bz2", ".xz")
_MAGIC = {
    b"\x89HDF\r\n\x1a\n": ("h5ad", "biom", "10x-h5"),
    b"PK\x03\x04": ("npz",),
    b"PAR1": ("parquet",),
    b"%%MatrixMarket": ("mtx",),
}


@dataclass(frozen=True)
class ReadOptions:
    """Options of readers; ``FORMATS`` lists those that each format takes."""

    layer: str | None = None
    labels: Sequence[str] = ()
    index: str | int | bool | None = None
    drop: Sequence[str] = ()
    header: bool | None = None
    delimiter: str | None = None
    triples: bool | Sequence[str] | None = None
    decimal: str | None = None
    thousands: str | None = None
    empty: str | None = None
    text: Sequence[str] = ()
    sheet: str | None = None
    metadata: str | os.PathLike[str] | None = None
    metadata_index: str | None = None
    encoding: str | None = None
    text_options: Mapping[str, Any] | None = None
    # Not of a format: how many bytes a file may unpack to.
    max_unpacked: int | None = None

    def check(self, name: str, *, transpose: bool) -> None:
        """Refuse an option that is given in vain."""
        if transpose and self.labels:
            refuse(
                f"{parameter('labels')} are labels of lines, which "
                f"{parameter('transpose', value=True)} makes columns; pass labels of "
                f"the new rows with {parameter('metadata')}"
            )
        of_any = {"max_unpacked", "metadata", "metadata_index"}
        if self.metadata is not None:
            # It may be that of the table of metadata.
            of_any.add("encoding")
        for field in fields(self):
            if field.name in of_any:
                continue
            given = getattr(self, field.name) not in (field.default, [])
            if given and field.name not in FORMATS[name].options:
                fit = [
                    key for key, kind in FORMATS.items() if field.name in kind.options
                ]
                advice = f"leave it out or pass another {parameter('format')}"
                if field.name == "labels":
                    beside = parameter("metadata")
                    advice = f"pass labels in a separate file with {beside}"
                refuse(
                    f"{parameter(field.name)} does not apply to {name}, only to "
                    f"{', '.join(fit)}; {advice}"
                )


@dataclass(frozen=True)
class WriteOptions:
    """Options of writers: the column of the first labels, and the kind of table."""

    labels: str | None = None
    triples: bool = False


def find_format(path: Path, given: str | None) -> str:
    """Name of the format: the one given, or that of the suffix and the content."""
    if given is not None:
        if given not in FORMATS:
            refuse(f"{parameter('format', given)} is not one of {', '.join(FORMATS)}")
        return given
    if path.is_dir():
        return _of_folder(path)
    advice = _ADVICE.get(path.suffix.lower())
    if advice is not None and path.exists():
        refuse(f"{path.suffix} files are not read; {advice}")
    named = of_suffix(path)
    with opened(path) as file:
        start = file.read(64)
    with open_regular(path) as file:
        is_plain = file.read(64) == start
    fits = (names for magic, names in _MAGIC.items() if start.startswith(magic))
    held = next(fits, ())
    if held == ("npz",):
        held = _of_archive(path)
    if held and held != ("mtx",) and not is_plain:
        refuse(f"it is {held[0]} in compressed form; decompress it first")
    if named is None:
        return held[0] if held else _of_text(start)
    if held and named not in held:
        refuse(
            f"it is named like {named} but holds {held[0]}; "
            f"rename it or pass {parameter('format', held[0])}"
        )
    if named == "mtx" and FORMATS["10x"].load().is_part(path):
        return "10x"
    return named


def of_suffix(path: Path) -> str | None:
    """Name of the format of this suffix, whether or not the file is compressed."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    if not suffixes:
        return None
    fits = (name for name, kind in FORMATS.items() if suffixes[-1] in kind.suffixes)
    return next(fits, None)


def _of_archive(path: Path) -> tuple[str, ...]:
    """Names of formats that a zip file may be, by the names in it."""
    with suppress(zipfile.BadZipFile), open_regular(path) as file:
        names = set(zipfile.ZipFile(file).namelist())
        if "[Content_Types].xml" in names:
            return ("xlsx",)
        if "content.xml" in names:
            return ("ods",)
        return ("npz",)
    return ("npz", "xlsx", "ods")


def _of_text(start: bytes) -> str:
    if start.lstrip().startswith(b"{"):
        return "jsonl"
    if b"\x00" in start:
        one = f"{parameter('format')} (one of {', '.join(FORMATS)})"
        refuse(f"its format was not recognised; pass {one}")
    return "csv"


def _of_folder(path: Path) -> str:
    if is_zarr(path):
        return "zarr"
    if FORMATS["10x"].load().holds_matrix(path):
        return "10x"
    files: list[str] = []
    for folder, folders, names in os.walk(path):
        files += [name for name in names if not name.startswith(".")]
        # Down to the folders in it, but not to hidden ones.
        inside = [name for name in folders if not name.startswith(".")]
        folders[:] = inside if folder == str(path) else []
    n_files, n_texts = len(files), sum(name.endswith(".txt") for name in files)
    # A home folder holds some texts too.
    if n_texts and 2 * n_texts >= n_files:
        return "texts"
    refuse(
        "it is a folder with neither a matrix.mtx (10x) nor mostly .txt files (texts): "
        f"{n_texts} of {n_files} files are; name a file in it, or pass "
        f"{parameter('format', 'texts')} to read all .txt files below it"
    )
