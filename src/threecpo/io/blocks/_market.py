"""MatrixMarket, plain or 10x: read once, line by line, into blocks of rows."""

from __future__ import annotations

import warnings
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..._errors import DataFormatError
from .. import _mtx, _tenx
from .._archives import opened
from ._folder import of_files
from ._source import Source, problems_of
from ._write import save_block

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_CHUNK = 1 << 24
_ENTRY = np.dtype([("row", "<i8"), ("column", "<i8"), ("count", "<f8")])


def of_market(path: Path, folder: Path, block_counts: int) -> Source:
    """Sort the lines of a file into blocks in this folder, and open those.

    The names and the orientation of 10x folders are those of ``read_counts``.
    """
    names = None
    with problems_of(path):
        matrix, turned = path, False
        if path.is_dir() or _tenx.is_part(path):
            matrix = _tenx._only_matrix(path) if path.is_dir() else path
            prefix = _tenx._prefix(matrix) or ""
            genes = _tenx._fields(_tenx._needed(matrix, prefix, _tenx._FEATURES))
            names, turned = _tenx._gene_names(genes), True
        _mtx._check_header(matrix)
        with opened(matrix) as file:
            shape, n_entries, valued = _header(file)
            if turned and shape[0] != len(names or ()):
                message = (
                    f"{matrix.name} has {shape[0]} rows for {len(names or ())} genes"
                )
                raise DataFormatError(message)
            entries = _entries(file, shape, n_entries, valued=valued)
            shape = shape[::-1] if turned else shape
            n_blocks = max(1, min(shape[0], -(-n_entries // block_counts)))
            step = -(-shape[0] // n_blocks)
            _sort_out(entries, folder, step, turned=turned)
        paths = []
        for i, start in enumerate(range(0, shape[0], step)):
            part = folder / f"{i:06d}.entries"
            size = (min(step, shape[0] - start), shape[1])
            block = _block(part, start, size)
            paths.append(folder / f"{i:06d}.npz")
            save_block(block, paths[-1], names)
            part.unlink(missing_ok=True)
    return of_files(paths, str(path))


def _header(file: IO[bytes]) -> tuple[tuple[int, int], int, bool]:
    """Read up to the line of sizes."""
    kind = file.readline().decode("ascii", "replace").lower().split()
    if len(kind) != 5 or kind[2] != "coordinate" or kind[4] != "general":
        message = (
            f"it starts with {' '.join(kind)!r}; blocks are made of 'coordinate' files "
            "that are 'general'"
        )
        raise DataFormatError(message)
    line = file.readline()
    while line.startswith(b"%") or (line and not line.strip()):
        line = file.readline()
    rows, columns, entries = (int(number) for number in line.split())
    return (rows, columns), entries, kind[3] != "pattern"


def _entries(
    file: IO[bytes], shape: tuple[int, int], n_entries: int, *, valued: bool
) -> Iterator[NDArray[Any]]:
    """Entries of a file, a few million at a time, numbered from 0."""
    width, found, rest = 3 if valued else 2, 0, b""
    while True:
        chunk = file.read(_CHUNK)
        text, cut, rest = (
            (rest + chunk).rpartition(b"\n") if chunk else (rest, b"", b"")
        )
        if not chunk and not text.strip():
            break
        if not cut and chunk:
            continue
        numbers = _numbers(text)
        if len(numbers) % width:
            message = f"a line after entry {found} lacks a number"
            raise DataFormatError(message)
        table = numbers.reshape(-1, width)
        part = np.empty(len(table), dtype=_ENTRY)
        for field, size, values in zip(
            ("row", "column"), shape, table.T[:2], strict=True
        ):
            part[field] = values - 1
            if len(values) and not (values.min() >= 1 and values.max() <= size):
                message = f"an entry after {found} has no {field} from 1 to {size}"
                raise DataFormatError(message)
        part["count"] = table[:, 2] if valued else 1.0
        found += len(part)
        yield part
    if found != n_entries:
        message = f"it claims {n_entries} entries and has {found}; it is damaged"
        raise DataFormatError(message)


def _numbers(text: bytes) -> NDArray[np.float64]:
    # numpy warns where text holds more than numbers.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text, dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError) as error:
            message = "a line holds something else than numbers"
            raise DataFormatError(message) from error


def _sort_out(
    entries: Iterator[NDArray[Any]], folder: Path, step: int, *, turned: bool
) -> None:
    """Append every entry to the file of its block."""
    for part in entries:
        if turned:
            part["row"], part["column"] = part["column"].copy(), part["row"].copy()
        blocks = part["row"] // step
        order = np.argsort(blocks, kind="stable")
        numbers, starts = np.unique(blocks[order], return_index=True)
        for number, chosen in zip(numbers, np.split(order, starts[1:]), strict=True):
            with (folder / f"{number:06d}.entries").open("ab") as file:
                part[chosen].tofile(file)


def _block(path: Path, start: int, shape: tuple[int, int]) -> sp.csr_array:
    entries = np.fromfile(path, dtype=_ENTRY) if path.exists() else np.empty(0, _ENTRY)
    places = (entries["row"] - start, entries["column"])
    return sp.coo_array((entries["count"], places), shape=shape).tocsr()
