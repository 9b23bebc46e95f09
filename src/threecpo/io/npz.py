"""npz: what scipy.sparse.save_npz writes, perhaps with names and labels beside.

``numpy.load`` makes room for what the header of an array claims. Here a header is
believed only if the archive has as many bytes for it, and their sum is bounded.
"""

from __future__ import annotations

import math
import threading
import zipfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from .._errors import refuse, shown
from .._labels import LABEL
from .._writing import write_arrays
from .content import FileContent
from .files import open_regular
from .limits import check_unpacked, limit_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from ..table import CountTable
    from .formats import ReadOptions, WriteOptions

_SUFFIX = ".npy"
# Bytes that are read at a time.
_PIECE = 1 << 20
_KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Python 3.11 and 3.12 count the depth of all threads that parse literals together, and
# fail where they differ (python/cpython#106905); numpy parses its headers so.
_PARSING = threading.Lock()


class NpzArrays:
    """Arrays by name; nothing in them is unpickled."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._members = {
            info.filename.removesuffix(_SUFFIX): info for info in archive.infolist()
        }

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    @property
    def compressed(self) -> bool:
        """Whether some array takes time to unpack."""
        kinds = {info.compress_type for info in self._members.values()}
        return kinds != {zipfile.ZIP_STORED}

    def __getitem__(self, name: str) -> NDArray[Any]:
        with self._opened(name) as (file, header):
            shape, dtype, in_columns = header
            array = np.empty(shape, dtype, order="F" if in_columns else "C")
            # A read-only or strange buffer has no place here: this one is ours.
            flat = array.reshape(-1, order="A").view(np.uint8).data
            for start in range(0, len(flat), _PIECE):
                part = flat[start : start + _PIECE]
                if file.readinto(part) < len(part):  # type: ignore[attr-defined]
                    refuse(f"its array {name!r} ends early")
            # Behind the last byte stands the checksum.
            if file.read(1):
                refuse(f"its array {name!r} is longer than its header says")
            return array

    def get(self, name: str) -> NDArray[Any] | None:
        """Return an array, or None where there is none of that name."""
        return self[name] if name in self._members else None

    def check_size(self, name: str, most: int) -> None:
        """Refuse an array of more than so many bytes."""
        if name in self._members:
            check_unpacked(self._members[name].file_size, most)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array without reading it."""
        with self._opened(name) as (_, header):
            return header[0]

    @contextmanager
    def _opened(
        self, name: str
    ) -> Iterator[tuple[IO[bytes], tuple[tuple[int, ...], np.dtype[Any], bool]]]:
        """Open an array behind its header, which tells the truth."""
        if name not in self._members:
            refuse(f"it lacks the array {name!r}")
        info = self._members[name]
        if info.compress_type not in _KNOWN:
            refuse(f"its array {name!r} has an unsupported compression")
        with self._archive.open(info) as file:
            shape, in_columns, dtype = _header(file)
            # Values of no bytes at all could be any number.
            needed = math.prod(shape) * max(1, dtype.itemsize)
            if dtype.hasobject or min(shape, default=1) < 0:
                refuse(
                    f"its array {name!r} does not hold numbers or text; it is damaged"
                )
            if needed > info.file_size:
                refuse(
                    f"its array {name!r} claims {needed} bytes but has "
                    f"{info.file_size}; it is damaged"
                )
            yield file, (shape, dtype, in_columns)


@contextmanager
def open_npz(path: Path, limit: int | None = None) -> Iterator[NpzArrays]:
    """Open a file of arrays that unpack to so many bytes at most."""
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        total = sum(info.file_size for info in archive.infolist())
        check_unpacked(total, limit_of(path, limit))
        yield NpzArrays(archive)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    with _PARSING:
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(file)
        if version == (2, 0):
            return np.lib.format.read_array_header_2_0(file)
    refuse(f"its arrays have version {version}, which is not supported")


def read(path: Path, options: ReadOptions) -> FileContent:
    with open_npz(path, options.max_unpacked) as arrays:
        return FileContent(
            matrix_of(arrays),
            row_names=names_of(arrays, "row_names"),
            column_names=names_of(arrays, "feature_names"),
            labels=arrays.get("labels"),
            label_names=names_of(arrays, "label_names"),
            **_kinds_of(arrays),
        )


def matrix_of(arrays: Any) -> Any:
    """Sparse matrix that the arrays hold; nobody has looked at its indices yet."""
    import scipy.sparse as sp

    compressed: dict[str, Any] = {"csr": sp.csr_array, "csc": sp.csc_array}
    kind = str(arrays["format"].astype(str)) if "format" in arrays else "csr"
    needed = ("data", "row", "col") if kind == "coo" else ("data", "indices", "indptr")
    lacking = [name for name in (*needed, "shape") if name not in arrays]
    if lacking or kind not in (*compressed, "coo"):
        some = ", ".join(shown(name) for name in list(arrays)[:8]) or "no arrays"
        refuse(
            f"it holds {some}, not a sparse matrix; write one with "
            "scipy.sparse.save_npz in format csr, csc or coo"
        )
    data, first, second = (arrays[name] for name in needed)
    shape = tuple(int(size) for size in arrays["shape"])
    if kind == "coo":
        return sp.coo_array((data, (first, second)), shape=shape)
    return compressed[kind]((data, first, second), shape=shape)


def names_of(arrays: Any, field: str) -> list[str] | None:
    """Names that a field holds, or None where there is no such field."""
    if field not in arrays:
        return None
    names = arrays[field]
    if names.dtype.kind not in "US" or names.ndim != 1:
        refuse(f"{field} are of type {names.dtype}, not text")
    return names.astype(str).tolist()


def _kinds_of(arrays: Any) -> dict[str, Any]:
    """What labels are called, and those of other kinds."""
    if "label_kinds" not in arrays:
        return {}
    names = names_of(arrays, "label_kinds") or []
    if len(set(names)) < len(names) or "" in names:
        refuse("label_kinds are not names of kinds of labels")
    first = names[:1] if "labels" in arrays else []
    others = names[len(first) :]
    texts = {name: names_of(arrays, f"labels_{i}") for i, name in enumerate(others, 1)}
    lacking = [name for name, values in texts.items() if values is None]
    if lacking or ("labels" in arrays and not first):
        refuse(f"labels of {', '.join(map(shown, lacking)) or 'some kind'} are missing")
    kind = {"label_kind": first[0]} if first else {}
    return kind | {"other_labels": texts}


def write(table: CountTable, path: Path, options: WriteOptions) -> None:  # noqa: ARG001
    arrays: dict[str, Any] = {
        "format": np.array(b"csr"),
        "_is_array": np.array(True),  # noqa: FBT003
        "shape": np.array(table.shape),
        "data": table.counts.values(),
        "indices": table.counts.indices,
        "indptr": table.X.indptr,
        "row_names": _text(table.row_names),
        "feature_names": _text(table.column_names),
        "labels": table.labels,
        "label_names": _text(table.label_names),
    }
    kinds = table.label_kinds
    if [*kinds] not in ([], [LABEL]):
        arrays["label_kinds"] = _text(np.array([*kinds], dtype=object))
        for i, texts in enumerate(table.other_labels.values(), 1):
            arrays[f"labels_{i}"] = _text(texts)
    given = {name: array for name, array in arrays.items() if array is not None}
    with path.open("xb") as file:
        write_arrays(file, given, packed=True)


def _text(names: Any) -> Any:
    if names is None:
        return None
    text = np.array(names, dtype=str)
    if (text != names).any():
        refuse("a name ends in a null character, which npz does not keep")
    return text
