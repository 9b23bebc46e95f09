"""Objects of an HDF5 file, as far as they lie in the file itself.

A path is followed part by part over hard links, and soft links inside the file.
External links, external storage and virtual data sets would read other files of this
machine, and are refused.
"""

from __future__ import annotations

import sys
from typing import Any

import h5py
import numpy as np

from .fences import RefusedError
from .pieces import Values

# Bytes of chunks that are kept: enough for names, which are read some at a time. More,
# as newer versions of HDF5 have it, would be new memory for numbers that come once.
CHUNK_CACHE = 1 << 20
MOST_SOFT_LINKS = 16
MOST_IN_ATTRIBUTE = 16
ATTRIBUTES = (
    *("encoding-type", "_index", "shape"),
    *("h5sparse_format", "h5sparse_shape"),
)


def load_filters(folder: str | None) -> None:
    """Load the filters of hdf5plugin, which lies in this folder."""
    if folder is not None and "hdf5plugin" not in sys.modules:
        sys.path.append(folder)
        __import__("hdf5plugin")


def open_file(path: str) -> Any:
    return h5py.File(path, "r", rdcc_nbytes=CHUNK_CACHE)


def found(file: Any, path: str) -> Any:
    """Object at a path, or None; links that leave the file are refused."""
    parts, at, followed = path.split("/")[::-1], file, 0
    while parts:
        name = parts.pop()
        if name in ("", "."):
            continue
        link = at.get(name, getlink=True) if isinstance(at, h5py.Group) else None
        if link is None:
            return None
        if isinstance(link, h5py.SoftLink):
            followed += 1
            if followed > MOST_SOFT_LINKS:
                message = f"{path} leads over more than {MOST_SOFT_LINKS} links"
                raise RefusedError(message)
            at = file if link.path.startswith("/") else at
            parts += link.path.split("/")[::-1]
        elif isinstance(link, h5py.HardLink):
            at = at[name]
        else:
            message = f"{path} is a link to another file, which is not followed"
            raise RefusedError(message)
    return at


def described(item: Any, path: str) -> dict[str, Any]:
    """What an object is, without its values."""
    attributes = {name: _attribute(item, name) for name in ATTRIBUTES}
    given = {name: value for name, value in attributes.items() if value is not None}
    if isinstance(item, h5py.Group):
        return {"names": list(item), "attributes": given}
    if not isinstance(item, h5py.Dataset):
        message = f"{path} is neither a group nor a data set"
        raise RefusedError(message)
    if item.is_virtual or item.external is not None:
        message = f"{path} holds its values in other files, which are not read"
        raise RefusedError(message)
    return {
        "shape": item.shape,
        "kind": _kind(item.dtype),
        "fields": item.dtype.names,
        "itemsize": item.dtype.itemsize,
        "chunk": int(np.prod(item.chunks or (), dtype=float)) * item.dtype.itemsize,
        "stored": item.id.get_storage_size(),
        "attributes": given,
    }


def values_of(item: Any, field: str | None) -> Values:
    """Values of a data set, or of one field of its records."""
    dtype = item.dtype if field is None else item.dtype[field]
    return Values(
        item if field is None else item.fields(field),
        _kind(dtype),
        item.shape,
        dtype.itemsize,
        item.chunks or (1, *item.shape[1:]),
    )


def _kind(dtype: Any) -> str:
    """Type of values as text: of numbers and bytes as numpy has it, else a word."""
    if dtype.kind == "O":
        return "text" if h5py.check_string_dtype(dtype) is not None else "object"
    return str(dtype.str if dtype.kind in "biufS" else dtype)


def _attribute(item: Any, name: str) -> Any:
    """Text, number or a few numbers of an attribute; None for anything else."""
    if name not in item.attrs:
        return None
    stored = item.attrs.get_id(name)
    if _kind(stored.dtype) != "text" and stored.dtype.kind not in "biufS":
        return None
    if stored.shape is None or np.prod(stored.shape, dtype=float) > MOST_IN_ATTRIBUTE:
        return None
    value = item.attrs[name]
    plain = value.tolist() if hasattr(value, "tolist") else value
    return plain.decode("utf-8", "replace") if isinstance(plain, bytes) else plain
