"""10x folders: a matrix of genes x cells, and the names of both beside it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .._errors import DataFormatError
from .._writing import open_new
from ._file_content import FileContent, shown, written_names
from ._mtx import WRITTEN_BY, read_matrix, write_matrix
from .archives import DAMAGE, opened
from .delimited.lines import Lines
from .limits import limit_of

if TYPE_CHECKING:
    from pathlib import Path

    from ..table import CountTable
    from .format_options import ReadOptions, WriteOptions

_MATRIX = "matrix.mtx"
_FEATURES = ("features.tsv", "genes.tsv")
_BARCODES = ("barcodes.tsv",)
_TEXT_TO_MEMORY = 4
_WRITTEN = {"matrix.mtx.gz", "features.tsv.gz", "barcodes.tsv.gz"}


def is_part(path: Path) -> bool:
    """Whether the names of genes and cells lie beside a matrix."""
    prefix = _prefix(path)
    return prefix is not None and all(
        _beside(path, prefix, names) is not None for names in (_FEATURES, _BARCODES)
    )


def read(path: Path, options: ReadOptions) -> FileContent:
    """Read a folder, or the files that go with a matrix of it."""
    matrix, limit = matrix_file(path), options.max_unpacked
    genes = read_gene_names(matrix, limit)
    cells = read_cell_names(matrix, limit)
    X = read_matrix(matrix, limit, turned=(len(genes), len(cells)))
    if X.shape != (len(cells), len(genes)):
        message = (
            f"{matrix.name} has {X.shape[0]} rows and {X.shape[1]} columns for "
            f"{len(genes)} genes and {len(cells)} cells; the files do not go together"
        )
        raise DataFormatError(message)
    return FileContent(X, cells, genes)


def matrix_file(path: Path) -> Path:
    """Return the matrix that a folder holds, or the file itself."""
    return _only_matrix(path) if path.is_dir() else path


def read_cell_names(matrix: Path, limit: int | None = None) -> list[str]:
    """Read the names of cells beside a matrix."""
    return [fields[0] for fields in _fields(_needed(matrix, _BARCODES), limit)]


def read_gene_names(matrix: Path, limit: int | None = None) -> list[str]:
    """Read the names of genes beside a matrix."""
    genes = _fields(_needed(matrix, _FEATURES), limit)
    ids = [fields[0] for fields in genes]
    return gene_names(ids, [fields[1] if len(fields) > 1 else "" for fields in genes])


def gene_names(ids: list[str], symbols: list[str]) -> list[str]:
    """Symbols, or ids where there are none; a symbol of several genes with its id."""
    names = [symbol or gene for gene, symbol in zip(ids, symbols, strict=True)]
    if len(set(names)) == len(names):
        return names
    often = Counter(names)
    return [
        name if often[name] == 1 else f"{name} ({gene})"
        for gene, name in zip(ids, names, strict=True)
    ]


def _only_matrix(folder: Path) -> Path:
    found = sorted(path for path in folder.iterdir() if _prefix(path) is not None)
    if not found:
        message = f"it does not contain {_MATRIX}, plain or as .gz"
        raise DataFormatError(message)
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        message = f"it holds several matrices; name one of them: {names}"
        raise DataFormatError(message)
    return found[0]


def _prefix(path: Path) -> str | None:
    """What stands before matrix.mtx in the name of a file."""
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith(_MATRIX):
        return None
    return path.name[: len(name) - len(_MATRIX)]


def _beside(matrix: Path, prefix: str, names: tuple[str, ...]) -> Path | None:
    for name in names:
        for ending in ("", ".gz"):
            path = matrix.with_name(f"{prefix}{name}{ending}")
            if path.is_file():
                return path
    return None


def _needed(matrix: Path, names: tuple[str, ...]) -> Path:
    prefix = _prefix(matrix) or ""
    path = _beside(matrix, prefix, names)
    if path is None:
        wanted = " or ".join(f"{prefix}{name}" for name in names)
        message = f"beside {matrix.name} there is no {wanted}, plain or as .gz"
        raise DataFormatError(message)
    return path


def _fields(path: Path, limit: int | None) -> list[list[str]]:
    # Short lines take many times their size in memory.
    most = limit_of(path, limit) // _TEXT_TO_MEMORY
    with opened(path, most) as file:
        lines = (line.rstrip("\r\n") for line in Lines(file).text())
        return [line.split("\t") for line in lines if line]


def write(table: CountTable, path: Path, options: WriteOptions) -> None:  # noqa: ARG001
    """Write the three files of a folder as Cell Ranger 3 does."""
    genes = written_names(table.column_names, table.shape[1])
    cells = written_names(table.row_names, table.shape[0])
    path.mkdir()
    lines = [f"{gene}\t{gene}\tGene Expression" for gene in _of_one_line(genes)]
    for name, names in (("features", lines), ("barcodes", _of_one_line(cells))):
        with open_new(path / f"{name}.tsv.gz") as file:
            file.write("".join(f"{line}\n" for line in names).encode())
    write_matrix(table.counts.whole_matrix().T, path / "matrix.mtx.gz")


def is_ours(folder: Path) -> bool:
    """Whether a folder is one that ``write`` has made: the matrix says so."""
    entries = list(folder.iterdir())
    if {entry.name for entry in entries} != _WRITTEN:
        return False
    if not all(entry.is_file() for entry in entries):
        return False
    try:
        with opened(folder / "matrix.mtx.gz") as file:
            return WRITTEN_BY.encode() in file.read(200)
    except DAMAGE:
        return False


def _of_one_line(names: list[str]) -> list[str]:
    for name in names:
        if not name or any(letter in name for letter in "\t\r\n"):
            message = f"the name {shown(name)} is empty or has a tab or a line end"
            raise DataFormatError(message)
    return names
