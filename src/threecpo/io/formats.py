"""The formats: how each is recognised, which module reads it, what options it has."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._errors import DataFormatError
from .archives import opened
from .regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Format:
    """A kind of file or folder, and the options that it takes."""

    module: str
    suffixes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    writes: bool = True

    def load(self) -> Any:
        """Import the module that has ``read`` and perhaps ``write``."""
        return import_module(f".{self.module}", __package__)


_COLUMNS = ("labels", "index", "drop", "triples")
_NUMBERS = ("decimal", "thousands", "empty")
_TEXT = ("text", "text_options")
FORMATS = {
    "csv": Format(
        "delimited",
        (".csv", ".tsv", ".tab", ".txt"),
        (*_COLUMNS, *_TEXT, *_NUMBERS, "header", "delimiter", "encoding"),
    ),
    "parquet": Format("_parquet", (".parquet", ".pq"), (*_COLUMNS, *_TEXT)),
    "npz": Format("_npz", (".npz",)),
    "mtx": Format("_mtx", (".mtx", ".mm")),
    "10x": Format("_tenx"),
    "10x-h5": Format("_tenx_hdf5", (".h5",), ("layer",), writes=False),
    "h5ad": Format("_h5ad", (".h5ad",), ("layer", "labels")),
    "biom": Format("_biom", (".biom",), writes=False),
    "texts": Format("_texts", (), ("text_options", "encoding"), writes=False),
    "jsonl": Format(
        "_jsonl",
        (".jsonl", ".ndjson"),
        ("labels", "index", "drop", *_TEXT, "encoding"),
        writes=False,
    ),
}
_PACKED = (".gz", ".bz2", ".xz")
_MAGIC = {
    b"\x89HDF\r\n\x1a\n": ("h5ad", "biom", "10x-h5"),
    b"PK\x03\x04": ("npz",),
    b"PAR1": ("parquet",),
    b"%%MatrixMarket": ("mtx",),
}


def find_format(path: Path, given: str | None) -> str:
    """Name of the format: the one given, or that of the suffix and the content."""
    if given is not None:
        if given not in FORMATS:
            message = f"format={given!r} is none of {', '.join(FORMATS)}"
            raise DataFormatError(message)
        return given
    if path.is_dir():
        return _of_folder(path)
    named, start = of_suffix(path), _start(path)
    held = _of_content(start)
    if held and held != ("mtx",) and not _is_plain(path, start):
        message = f"it is {held[0]} in compressed form; decompress it first"
        raise DataFormatError(message)
    if named is None:
        return held[0] if held else _of_text(start)
    if held and named not in held:
        message = (
            f"it is named like {named} but holds {held[0]}; "
            f"rename it or pass format={held[0]!r}"
        )
        raise DataFormatError(message)
    if named == "mtx" and import_module("._tenx", __package__).is_part(path):
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


def _start(path: Path) -> bytes:
    with opened(path) as file:
        return file.read(64)


def _is_plain(path: Path, start: bytes) -> bool:
    with open_regular(path) as file:
        return file.read(len(start)) == start


def _of_content(start: bytes) -> tuple[str, ...]:
    fits = (names for magic, names in _MAGIC.items() if start.startswith(magic))
    return next(fits, ())


def _of_text(start: bytes) -> str:
    if start.lstrip().startswith(b"{"):
        return "jsonl"
    if b"\x00" in start:
        message = f"it is of no known kind; pass format= (one of {', '.join(FORMATS)})"
        raise DataFormatError(message)
    return "csv"


def _of_folder(path: Path) -> str:
    names = [entry.name.lower() for entry in path.iterdir()]
    if any(name.endswith(("matrix.mtx", "matrix.mtx.gz")) for name in names):
        return "10x"
    suffixes = Counter(file.suffix for file in _files_in(path, depth=2))
    n_files, n_texts = suffixes.total(), suffixes[".txt"]
    # A home folder holds some texts too.
    if n_texts and 2 * n_texts >= n_files:
        return "texts"
    message = (
        "it is a folder with neither a matrix.mtx (10x) nor mostly .txt files (texts): "
        f"{n_texts} of {n_files} files are; name a file in it, or pass format='texts' "
        "to read all .txt files below it"
    )
    raise DataFormatError(message)


def _files_in(folder: Path, depth: int) -> Iterator[Path]:
    """Files of a folder and, down to some depth, of its folders; no hidden ones."""
    with suppress(PermissionError):
        for entry in folder.iterdir():
            if entry.name.startswith("."):
                continue
            if entry.is_file():
                yield entry
            elif depth > 1 and not entry.is_symlink() and entry.is_dir():
                yield from _files_in(entry, depth - 1)
