"""10x: folders of a matrix of genes x cells and the names of both, and HDF5 files.

Files in HDF5 are those of Cell Ranger 2 and 3, and as CellBender writes them. Genes x
cells are stored by columns, which are rows of cells x genes.
"""

from __future__ import annotations

import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from .._errors import parameter, refuse, shown
from .._writing import open_new
from .content import FileContent, written_names
from .files import opened as open_text
from .hierarchies import (
    asked,
    counts_of,
    group_of,
    is_array,
    matrix_of,
    names_of,
    numbers_of,
    opened,
    texts,
)
from .limits import limit_of
from .lines import Lines

if TYPE_CHECKING:
    from pathlib import Path

    from ..table import CountTable
    from .formats import ReadOptions, WriteOptions
    from .isolated import Items

_MATRIX = "matrix.mtx"
_FEATURES = ("features.tsv", "genes.tsv")
_BARCODES = ("barcodes.tsv",)
_TEXT_TO_MEMORY = 4
_WRITTEN = {"matrix.mtx.gz", "features.tsv.gz", "barcodes.tsv.gz"}
_PARTS = ("barcodes", "data", "indices", "indptr", "shape")


def is_part(path: Path) -> bool:
    """Whether the names of genes and cells lie beside a matrix."""
    is_matrix = path.is_file() and _prefix(path) is not None
    return is_matrix and all(_beside(path, names) for names in (_FEATURES, _BARCODES))


def read(path: Path, options: ReadOptions) -> FileContent:
    """Read a folder, or the files that go with a matrix of it."""
    from .mtx import open_matrix, to_rows

    matrix, limit = matrix_file(path), options.max_unpacked
    with open_matrix(matrix, limit) as (header, blocks):
        cells, genes, turned = names_beside(matrix, header.shape, limit)
        swapped = ((columns, rows, counts) for rows, columns, counts in blocks)
        shape, most = (len(cells), len(genes)), limit_of(matrix, limit)
        X = to_rows(swapped if turned else blocks, shape, most)
    return FileContent(X, cells, genes)


def names_beside(
    matrix: Path, shape: tuple[int, int], limit: int | None = None
) -> tuple[list[str], list[str], bool]:
    """Names of cells and of genes beside a matrix, and whether its rows are genes."""
    genes = read_gene_names(matrix, limit)
    cells = read_cell_names(matrix, limit)
    if shape not in ((len(genes), len(cells)), (len(cells), len(genes))):
        refuse(
            f"{matrix.name} has {shape[0]} rows and {shape[1]} columns for "
            f"{len(genes)} genes and {len(cells)} cells; the files do not match"
        )
    return cells, genes, shape == (len(genes), len(cells))


def holds_matrix(folder: Path) -> bool:
    """Whether a folder has a matrix in it."""
    return any(_prefix(path) is not None for path in folder.iterdir())


def matrix_file(path: Path) -> Path:
    """Return the matrix that a folder holds, or the file itself."""
    if not path.is_dir():
        return path
    found = sorted(entry for entry in path.iterdir() if _prefix(entry) is not None)
    if not found:
        refuse(f"it does not contain {_MATRIX}, plain or as .gz")
    if len(found) > 1:
        names = ", ".join(entry.name for entry in found)
        refuse(f"it holds several matrices; name one of them: {names}")
    return found[0]


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
    often = Counter(names)
    return [
        name if often[name] == 1 else f"{name} ({gene})"
        for gene, name in zip(ids, names, strict=True)
    ]


def _prefix(path: Path) -> str | None:
    """What stands before matrix.mtx in the name of a file."""
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith(_MATRIX):
        return None
    return path.name[: len(name) - len(_MATRIX)]


def _beside(matrix: Path, names: tuple[str, ...]) -> Path | None:
    prefix = _prefix(matrix) or ""
    endings = [f"{name}{packed}" for name in names for packed in ("", ".gz")]
    paths = (matrix.with_name(f"{prefix}{ending}") for ending in endings)
    return next((path for path in paths if path.is_file()), None)


def _needed(matrix: Path, names: tuple[str, ...]) -> Path:
    path = _beside(matrix, names)
    if path is None:
        wanted = " or ".join(f"{_prefix(matrix) or ''}{name}" for name in names)
        refuse(f"beside {matrix.name} there is no {wanted}, plain or as .gz")
    return path


def _fields(path: Path, limit: int | None) -> list[list[str]]:
    # Short lines take many times their size in memory.
    most = limit_of(path, limit) // _TEXT_TO_MEMORY
    with open_text(path, most) as file:
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
    from .mtx import write_matrix

    write_matrix(table.counts.whole_matrix().T, path / "matrix.mtx.gz")


def is_ours(folder: Path) -> bool:
    """Whether a folder is one that ``write`` has made: the matrix says so."""
    entries = list(folder.iterdir())
    names = {entry.name for entry in entries}
    if names != _WRITTEN or not all(entry.is_file() for entry in entries):
        return False
    try:
        from .mtx import WRITTEN_BY

        with open_text(folder / "matrix.mtx.gz") as file:
            return WRITTEN_BY.encode() in file.read(200)
    except (OSError, EOFError, ValueError, zlib.error):
        return False


def _of_one_line(names: list[str]) -> list[str]:
    for name in names:
        if not name or any(letter in name for letter in "\t\r\n"):
            refuse(f"the name {shown(name)} is empty or has a tab or a line end")
    return names


def read_hdf5(path: Path, options: ReadOptions) -> FileContent:
    """Read a file in HDF5."""
    from .._core.matrices import from_sparse

    wanted = {"layer": options.layer, "whole": True}
    found = asked(describe, path, options.max_unpacked, **wanted)
    X, taken = matrix_of(found), found["taken"]
    genes = gene_names(found["ids"], found["symbols"])
    if taken is not None:
        # Selecting columns trusts indices, which are checked on the way.
        X, genes = from_sparse(X).matrix()[:, taken], [genes[j] for j in taken]
    return FileContent(X, found["rows"], genes, description=found["called"])


def describe(path: str, limit: int, layer: str | None, *, whole: bool = False) -> Items:
    """Names and counts, or where these are; ``taken`` are features, if not all."""
    group, kind = _chosen(opened(path), layer)
    ids, symbols, kinds = _genes(group, limit)
    sizes = texts(numbers_of(group, "shape", "iu"), limit)
    if len(sizes) != 2 or sizes[0] != len(ids):
        refuse(f"its matrix of shape {sizes} has names of {len(ids)} genes")
    called = f"counts of {group.name.lstrip('/')}"
    often = Counter(kinds)
    taken = None
    if kind is not None:
        if kind not in often:
            known = ", ".join(map(repr, often)) or "none: leave it out"
            one = f"{parameter('layer')} as one of {known}"
            refuse(f"it has no layer {kind!r}; pass {one}")
        taken = [j for j, each in enumerate(kinds) if each == kind]
        called += f", {kind}"
    elif len(often) > 1:
        called += ": " + ", ".join(f"{n} of {each}" for each, n in often.items())
    yield "called", called
    yield "ids", ids
    yield "symbols", symbols
    yield "taken", taken
    yield "rows", names_of(group, "barcodes", limit)
    yield from counts_of(group, sizes[::-1], limit, whole=whole)


def _chosen(file: Any, layer: str | None) -> tuple[Any, str | None]:
    """Return the group of counts, and the kind of features to take of it."""
    groups = {name: group_of(file, name) for name in file}
    groups = {n: g for n, g in groups.items() if all(part in g for part in _PARTS)}
    if not groups:
        others = {
            "h5ad": "obs" in file and "var" in file,
            "biom": "observation" in file,
        }
        kinds = [parameter("format", kind) for kind, fits in others.items() if fits]
        advice = f"; pass {kinds[0]}" if kinds else ""
        refuse(f"it is not a 10x file: no group in it has {', '.join(_PARTS)}{advice}")
    if layer is not None and layer in groups:
        return groups[layer], None
    if len(groups) > 1:
        listed = ", ".join(map(repr, groups))
        one = f"{parameter('layer')} as one of {listed}"
        refuse(f"it holds counts of several genomes; pass {one}")
    return next(iter(groups.values())), layer


def _genes(group: Any, limit: int) -> tuple[list[str], list[str], list[str]]:
    """Ids and symbols of the genes and, as far as known, their kinds of features."""
    if "genes" in group:
        ids = names_of(group, "genes", limit)
        return ids, _parallel(group, "gene_names", ids, limit), []
    features = group_of(group, "features")
    if "id" not in features or not is_array(features["id"]):
        refuse("its matrix has neither genes nor features/id")
    ids = names_of(features, "id", limit)
    kinds = []
    if "feature_type" in features:
        kinds = _parallel(features, "feature_type", ids, limit)
    return ids, _parallel(features, "name", ids, limit), kinds


def _parallel(group: Any, name: str, ids: list[str], limit: int) -> list[str]:
    """Texts that go with the ids; the ids where there are none."""
    if name not in group:
        return ids
    found = names_of(group, name, limit)
    if len(found) != len(ids):
        refuse(f"{group.name}/{name} has {len(found)} entries for {len(ids)} genes")
    return found
