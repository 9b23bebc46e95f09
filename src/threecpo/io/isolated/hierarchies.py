"""Groups and arrays of an HDF5 file or a zarr folder, and their values piece by piece.

Nothing leads out of the file: of HDF5 all links, virtual data sets and external storage
are looked at before anything is followed; the caller has done so with zarr folders.
"""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._errors import DataFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# Bytes and texts that are read at a time.
PIECE = 1 << 22
MOST_OF_A_PIECE = 1 << 26
TEXTS = 1 << 13
# A text takes this many bytes in memory, besides its letters.
OF_TEXT = 64
# More chunks than this would be new memory for numbers that come once.
CHUNK_CACHE = 1 << 20


def opened(path: str) -> Any:
    """Open a file or folder; what it holds lies in it."""
    if os.path.isdir(path):  # noqa: PTH112
        import zarr
        from numcodecs import registry  # type: ignore[import-untyped]

        warnings.simplefilter("ignore")
        # It runs what is stored.
        registry.codec_registry.pop("pickle", None)
        zarr.config.set({"threading.max_workers": 2, "async.concurrency": 4})
        return zarr.open_group(path, mode="r")
    import h5py

    file = h5py.File(path, "r", rdcc_nbytes=CHUNK_CACHE)
    _check_inside(file)
    return file


def _check_inside(file: Any) -> None:
    """Refuse an HDF5 file that would read others, before any link is followed."""
    import h5py

    left, seen = [file], {h5py.h5o.get_info(file.id).addr}
    while left:
        group = left.pop()
        for name in group:
            link = group.get(name, getlink=True)
            path = f"{group.name.rstrip('/')}/{name}"
            if isinstance(link, h5py.SoftLink):
                # It leads to a link of this file, which is looked at itself.
                continue
            if not isinstance(link, h5py.HardLink):
                message = f"{path} is a link to another file, which is not followed"
                raise DataFormatError(message)
            item = group[name]
            if isinstance(item, h5py.Dataset):
                if item.is_virtual or item.external is not None:
                    message = f"{path} holds its values in other files"
                    raise DataFormatError(message)
            elif isinstance(item, h5py.Group):
                address = h5py.h5o.get_info(item.id).addr
                if address not in seen:
                    seen.add(address)
                    left.append(item)


def is_array(item: Any) -> bool:
    """Whether this is an array, not a group."""
    return hasattr(item, "shape")


def item_of(group: Any, name: str) -> Any:
    """Return the group or array of a name."""
    with suppress(KeyError):
        if not is_array(group):
            return group[name]
    message = f"it lacks {_path(group)}/{name}"
    raise DataFormatError(message)


def group_of(group: Any, name: str) -> Any:
    """Return the group of a name; an empty one where there is none."""
    if name not in group or is_array(group[name]):
        return {}
    return group[name]


def _path(item: Any) -> str:
    return str(item.name).rstrip("/")


def attribute(item: Any, *names: str) -> Any:
    """Text, number or list of the first attribute that is there; None if none is."""
    for name in names:
        if name in item.attrs:
            value = item.attrs[name]
            plain = value.tolist() if hasattr(value, "tolist") else value
            return (
                plain.decode("utf-8", "replace") if isinstance(plain, bytes) else plain
            )
    return None


def numbers_of(group: Any, name: str, kinds: str) -> Any:
    """One list of numbers of a group, of which no value is read yet."""
    array = item_of(group, name)
    if not is_array(array) or len(array.shape) != 1 or array.dtype.kind not in kinds:
        message = f"{name} of its matrix is not a list of numbers"
        raise DataFormatError(message)
    return array


def pieces(
    array: Any, start: int = 0, stop: int | None = None
) -> Iterator[NDArray[Any]]:
    """Values of an array from row to row, some megabytes and whole chunks at a time."""
    stop = array.shape[0] if stop is None else stop
    row = max(1, array.dtype.itemsize * int(np.prod(array.shape[1:])))
    chunks = getattr(array, "shards", None) or array.chunks or (1,)
    deep = max(1, chunks[0])
    step = max(1, PIECE // row)
    if deep * row <= MOST_OF_A_PIECE:
        step = -(-step // deep) * deep
    while start < stop:
        # Later pieces begin where a chunk does, so that none is unpacked twice.
        end = min(stop, (start // step + 1) * step)
        yield np.asarray(array[start:end])
        start = end


def texts(array: Any, limit: int) -> list[Any]:
    """Values of a list as text or numbers, which take so many bytes at most."""
    if not is_array(array) or len(array.shape) != 1:
        message = f"{_path(array)} is not a list of values"
        raise DataFormatError(message)
    return some_at_a_time(array, array.shape[0], limit)


def some_at_a_time(values: Any, length: int, limit: int) -> list[Any]:
    """So many values of an array, or of a field of records."""
    check(OF_TEXT * length, limit)
    found: list[Any] = []
    taken = 0
    for start in range(0, length, TEXTS):
        listed = _listed(np.asarray(values[start : start + TEXTS]))
        taken += sum(OF_TEXT + len(t) for t in listed if isinstance(t, str))
        check(taken, limit)
        found += listed
    return found


def _listed(values: NDArray[Any]) -> list[Any]:
    """Plain values; text that comes as bytes is decoded."""
    return [v.decode() if isinstance(v, bytes) else v for v in values.tolist()]


def names_of(group: Any, name: str, limit: int) -> list[str]:
    """Names that a group holds as one list."""
    return [str(name) for name in texts(item_of(group, name), limit)]


def check(n_bytes: int, limit: int) -> None:
    """Refuse what takes more than so many bytes."""
    if n_bytes > limit:
        raise MemoryError
