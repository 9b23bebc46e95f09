"""Objects of a zarr folder; the caller has looked for links that leave it.

zarr is Python, but what unpacks its chunks is not, and bounds nothing.
"""

from __future__ import annotations

import math
import os
import warnings
from typing import Any

import numpy as np
import zarr
from numcodecs import registry  # type: ignore[import-untyped]

from .fences import RefusedError
from .pieces import Values

ATTRIBUTES = ("encoding-type", "_index", "shape")
MOST_IN_ATTRIBUTE = 16
# Chunks that may lack, as those of zeros do: so many, and for each one that is there.
MOST_EMPTY = 1 << 13
EMPTY_FOR_EACH = 1 << 10


def open_file(path: str) -> Any:
    """Open a folder; no codec of it may run what is stored there."""
    warnings.simplefilter("ignore")
    registry.codec_registry.pop("pickle", None)
    zarr.config.set({"threading.max_workers": 2, "async.concurrency": 4})
    return zarr.open_group(path, mode="r")


def found(file: Any, path: str) -> Any:
    """Object at a path, or None."""
    names = [name for name in path.split("/") if name]
    if any(name in (".", "..") or "\\" in name for name in names):
        message = f"{path} is a name that leads out of the folder"
        raise RefusedError(message)
    at = file
    for name in names:
        if not hasattr(at, "members") or name not in at:
            return None
        at = at[name]
    return at


def described(item: Any, path: str) -> dict[str, Any]:
    """What an object is, without its values."""
    attributes = {
        name: value
        for name, value in item.attrs.asdict().items()
        if name in ATTRIBUTES and _is_plain(value)
    }
    if hasattr(item, "members"):
        return {"names": list(item), "attributes": attributes}
    if not all(isinstance(size, int) and size >= 0 for size in item.shape):
        message = f"{path} has shape {item.shape}"
        raise RefusedError(message)
    _check_chunks(item, path)
    return {
        "shape": item.shape,
        "kind": _kind(item.dtype),
        "fields": None,
        "itemsize": item.dtype.itemsize,
        "chunk": _chunk_bytes(item),
        "stored": None,
        "attributes": attributes,
    }


def values_of(item: Any, field: str | None) -> Values:  # noqa: ARG001
    """Values of an array."""
    chunks = item.shards or item.chunks
    kind, dtype = _kind(item.dtype), item.dtype
    return Values(item, kind, item.shape, dtype.itemsize, tuple(chunks))


def _chunk_bytes(item: Any) -> int:
    """Bytes of a chunk in memory, the least that is unpacked at a time."""
    size = int(item.dtype.itemsize)
    for length in item.shards or item.chunks:
        size *= max(1, int(length))
    return size


def _check_chunks(item: Any, path: str) -> None:
    """Refuse an array most of whose many chunks lack: each takes time to look for."""
    chunks = item.shards or item.chunks
    sizes = zip(item.shape, chunks, strict=True)
    claimed = math.prod(-(-length // max(1, chunk)) for length, chunk in sizes)
    if claimed <= MOST_EMPTY:
        return
    enough = -(-claimed // EMPTY_FOR_EACH)
    folder = os.path.join(item.store.root, item.path)  # noqa: PTH118
    there = 0
    for _, _, files in os.walk(folder):
        there += len(files)
        if there >= enough:
            return
    message = f"{path} claims {claimed} chunks but has {there}; it is damaged"
    raise RefusedError(message)


def _kind(dtype: Any) -> str:
    """Type of values as text: of numbers and bytes as numpy has it, else a word."""
    dtype = np.dtype(dtype)
    if dtype.kind in "OTU":
        return "text"
    return str(dtype.str if dtype.kind in "biufS" else dtype)


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) <= MOST_IN_ATTRIBUTE and all(map(_is_plain, value))
    return isinstance(value, str | int | float)
