"""Data sets that take seconds to parse are kept beside their files, as one .npz."""

from __future__ import annotations

import json
import zipfile
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._array_files import write_arrays
from .._core.counts import Counts
from .._core.matrices import from_sparse
from .._writing import replaced

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ._load import Parsed

# Counted up whenever a rule of a data set changes.
VERSION = 2
_NAMES = ("row_names", "column_names", "label_names", "row_titles")


def remembered(
    name: str, paths: list[Path], options: dict[str, Any], parse: Callable[[], Parsed]
) -> Parsed:
    """Return what ``parse`` returned before for these files, options and version."""
    kept = paths[0].with_name(f"{name}.parsed.npz")
    stamps = [[path.name, *_size_and_time(path)] for path in paths]
    key = json.dumps([VERSION, stamps, options])
    parsed = _read(kept, key)
    if parsed is None:
        parsed = parse()
        if not isinstance(parsed["X"], Counts):
            parsed["X"] = from_sparse(parsed["X"])
        _write(kept, key, parsed)
    return parsed


def _size_and_time(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _read(path: Path, key: str) -> Parsed | None:
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes())
            if header["key"] != key:
                return None
            parts = (file["data"], file["indices"], file["indptr"])
            X = from_sparse(sp.csr_array(parts, shape=tuple(header["shape"])))
            names = {field: header["names"].get(field) for field in _NAMES}
            return {"X": X, "labels": file["labels"], **names}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        # Whatever is wrong with it, the data set itself is still there.
        return None


def _write(path: Path, key: str, parsed: Parsed) -> None:
    """Write beside, then rename; a folder that is not for writing stays as it is."""
    # Root may write everywhere, so the folder's own mode decides.
    if not path.parent.stat().st_mode & 0o222:
        return
    X: Counts = parsed["X"]
    names = {field: list(parsed[field]) for field in _NAMES if field in parsed}
    header = json.dumps({"key": key, "shape": X.shape, "names": names}).encode()
    arrays = {
        "header": np.frombuffer(header, dtype=np.uint8),
        "data": X.values(),
        "indices": X.indices,
        "indptr": X.indptr,
        "labels": parsed["labels"],
    }
    # What cannot be kept is parsed all the same.
    with suppress(OSError), replaced(path) as beside, beside.open("xb") as file:
        write_arrays(file, arrays)
