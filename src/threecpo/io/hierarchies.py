"""Groups, arrays and matrices of an HDF5 file or a zarr folder, piece by piece.

Nothing leads out of the file: of HDF5 all links, virtual data sets and external storage
are looked at before anything is followed; the caller has done so with zarr folders. All
of this runs in a process of its own, but for ``matrix_of`` and ``labels_found``.
"""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import DataFormatError, refuse
from .._labels import encoded, label_text
from .content import csr_rows
from .limits import check_unpacked
from .roles import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .isolated import Items

# Bytes and texts that are read at a time.
PIECE = 1 << 22
MOST_OF_A_PIECE = 1 << 26
TEXTS = 1 << 13
# A text takes this many bytes in memory, besides its letters.
OF_TEXT = 64
# More chunks than this would be new memory for numbers that come once.
CHUNK_CACHE = 1 << 20
_BY_ROWS = {"csr_matrix": True, "csr": True, "csc_matrix": False, "csc": False}


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
                refuse(f"{path} is a link to another file, which is not followed")
            item = group[name]
            if isinstance(item, h5py.Dataset):
                if item.is_virtual or item.external is not None:
                    refuse(f"{path} holds its values in other files")
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
    refuse(f"it lacks {_path(group)}/{name}")


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
        refuse(f"{name} of its matrix is not a list of numbers")
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
        refuse(f"{_path(array)} is not a list of values")
    check_unpacked(OF_TEXT * array.shape[0], limit)
    found: list[Any] = []
    taken = 0
    for start in range(0, array.shape[0], TEXTS):
        values = np.asarray(array[start : start + TEXTS]).tolist()
        listed = [v.decode() if isinstance(v, bytes) else v for v in values]
        taken += sum(OF_TEXT + len(t) for t in listed if isinstance(t, str))
        check_unpacked(taken, limit)
        found += listed
    return found


def names_of(group: Any, name: str, limit: int) -> list[str]:
    """Names that a group holds as one list."""
    return [str(name) for name in texts(item_of(group, name), limit)]


def shape_of(matrix: Any) -> tuple[tuple[int, int], bool]:
    """Rows and columns, and whether it is stored by rows."""
    if is_array(matrix):
        if len(matrix.shape) != 2 or matrix.dtype.kind not in "biuf":
            refuse(f"its matrix is {matrix.dtype} of shape {matrix.shape}, not a table")
        n_rows, n_columns = map(int, matrix.shape)
        return (n_rows, n_columns), True
    kind = attribute(matrix, "encoding-type", "h5sparse_format")
    shape = attribute(matrix, "shape", "h5sparse_shape")
    if not isinstance(kind, str) or kind not in _BY_ROWS:
        refuse(f"its matrix is stored as {kind!r}, which is not a table")
    try:
        n_rows, n_columns = (int(size) for size in shape)
    except (TypeError, ValueError):
        message = f"its matrix has shape {shape!r}"
        raise DataFormatError(message) from None
    return (n_rows, n_columns), _BY_ROWS[kind]


def all_counts(matrix: Any, limit: int) -> Items:
    """All of a matrix: ``indices`` and ``data`` in pieces, and ``indptr``.

    Of a full matrix ``lengths`` come in place of pointers, and sizes are not known.
    """
    if is_array(matrix):
        check_unpacked(
            matrix.dtype.itemsize * int(np.prod(matrix.shape, dtype=object)), limit
        )
        yield from _rows_of_full(matrix, 0, matrix.shape[0])
        return
    indices, data = _entries(matrix)
    sizes = {"data": [data.shape, "<f8"], "indices": [indices.shape, "<i4"]}
    check_unpacked(8 * data.shape[0] + 4 * indices.shape[0], limit)
    yield "sizes", sizes
    yield "indptr", pointers_of(matrix, limit)
    yield from _pieces_of_entries(indices, data, 0, None)


def _entries(matrix: Any) -> tuple[Any, Any]:
    """Indices and values of a sparse matrix, none of which is read yet."""
    return numbers_of(matrix, "indices", "iu"), numbers_of(matrix, "data", "biuf")


def _pieces_of_entries(indices: Any, data: Any, start: int, stop: int | None) -> Items:
    yield from (("indices", _places(part)) for part in pieces(indices, start, stop))
    yield from (("data", narrow(part)) for part in pieces(data, start, stop))


def place_of_counts(matrix: Any, limit: int) -> Items:
    """Where a matrix is, and the pointers of a sparse one; ``read_rows`` reads it."""
    yield "place", matrix.name.lstrip("/")
    if not is_array(matrix):
        yield "indptr", pointers_of(matrix, limit)


def pointers_of(matrix: Any, limit: int) -> NDArray[np.int64]:
    """Pointers of a sparse matrix, which nobody has looked at yet."""
    array = numbers_of(matrix, "indptr", "iu")
    check_unpacked(8 * array.shape[0], limit)
    return np.concatenate([np.zeros(0, np.int64), *pieces(array)]).astype(np.int64)


def _rows_of_full(matrix: Any, start: int, stop: int) -> Items:
    for part in pieces(matrix, start, stop):
        rows, columns = np.nonzero(part)
        yield "lengths", np.bincount(rows, minlength=len(part))
        yield "indices", columns.astype(np.int32)
        yield "data", narrow(part[rows, columns])


def _places(indices: NDArray[Any]) -> NDArray[np.int32]:
    if indices.size and not 0 <= indices.min() <= indices.max() <= 2**31 - 1:
        refuse("its matrix is damaged: it has indices outside of any matrix")
    return indices.astype(np.int32, copy=False)


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in fewer bytes where all are small: that is faster to send."""
    if values.dtype.kind == "b" or not values.size:
        return values.astype(np.uint8)
    small = values.astype(np.uint8)
    return small if np.array_equal(small, values) else values


def read_rows(
    path: str, limit: int, place: str, cuts: Sequence[tuple[int, int]]
) -> Items:
    """Rows of a matrix, from row to row as ``cuts`` say, one block after the other.

    Of each block: ``lengths`` of its rows, ``indices`` and ``data`` in pieces, and
    its number as ``block`` at the end.
    """
    matrix = opened(path)[place]
    if is_array(matrix):
        for number, (start, stop) in enumerate(cuts):
            yield from _rows_of_full(matrix, start, stop)
            yield "block", number
        return
    ends, entries = pointers_of(matrix, limit), _entries(matrix)
    if ends.max(initial=0) > min(array.shape[0] for array in entries):
        refuse(f"its row pointers end at {ends.max()}, beyond its counts")
    for number, (start, stop) in enumerate(cuts):
        yield "lengths", np.diff(ends[start : stop + 1])
        yield from _pieces_of_entries(*entries, int(ends[start]), int(ends[stop]))
        yield "block", number


def matrix_of(found: dict[str, Any]) -> Any:
    """Sparse matrix of what a reader has found; nobody has looked at its indices."""
    shape = tuple(found["shape"])
    indptr = found.get("indptr")
    if indptr is None:
        indptr = np.concatenate([[0], np.cumsum(found["lengths"])])
    if found["by_rows"]:
        return csr_rows(found["data"], found["indices"], indptr, shape)
    import scipy.sparse as sp

    return sp.csc_array((found["data"], found["indices"], indptr), shape=shape)


def labels_found(
    found: dict[str, Any], names: Sequence[str], called: str
) -> dict[str, Any]:
    """Labels of columns of obs: numbers and names of the first, texts of others."""
    for name in names:
        place_of(found["obs_columns"], name, "labels", called)
    if not names:
        return {}
    first, *others = names
    column = found["labels"][first]
    if "codes" in column:
        kinds = {"labels": np.array(column["codes"]), "label_names": column["names"]}
    else:
        kinds = encoded(map(label_text, column["values"]))
    texts = {name: _values(**found["labels"][name]) for name in others}
    return kinds | {"label_kind": first, "other_labels": texts}


def _values(
    values: list[Any] | None = None, codes: Sequence[int] = (), names: Any = ()
) -> list[Any]:
    """Values of what ``_column`` has found, None for those that are missing."""
    if values is not None:
        return values
    return [None if code < 0 else names[code] for code in codes]


def read_labels(frame: Any, names: Sequence[str], limit: int) -> Items:
    """Columns of a frame, and for each label that is one of them its values.

    Categories come as their numbers, and as their names.
    """
    rows = attribute(frame, "_index") if hasattr(frame, "attrs") else None
    columns = [name for name in frame if name not in (rows, "__categories")]
    yield "obs_columns", columns
    known = [name for name in names if name in columns]
    yield "labels", {name: _column(frame, name, limit) for name in known}


def values_of(frame: Any, name: str, limit: int) -> list[Any]:
    """Values of a column, None for those that are missing."""
    return _values(**_column(frame, name, limit))


def _column(frame: Any, name: str, limit: int) -> dict[str, Any]:
    """Values of a column, None for those that are missing; or codes and names."""
    column = frame[name]
    if is_array(column):
        # Version 0.7 kept the categories of all columns beside them.
        beside = group_of(frame, "__categories")
        if name not in beside or column.dtype.kind not in "iu":
            return {"values": texts(column, limit)}
        codes, listed = texts(column, limit), names_of(beside, name, limit)
    elif "codes" in column and "categories" in column:
        codes = texts(column["codes"], limit)
        listed = names_of(column, "categories", limit)
    else:
        values, mask = (texts(item_of(column, of), limit) for of in ("values", "mask"))
        if len(mask) != len(values):
            refuse(f"column {name!r} has {len(values)} values, {len(mask)} in its mask")
        pairs = zip(values, mask, strict=True)
        return {"values": [None if hidden else value for value, hidden in pairs]}
    numbers = np.array(codes)
    if codes and (
        numbers.dtype.kind not in "iu"
        or not -1 <= numbers.min() <= numbers.max() < len(listed)
    ):
        refuse(f"column {name!r} has codes without a category")
    if len(set(listed)) < len(listed):
        refuse(f"column {name!r} has the same category twice")
    return {"codes": codes, "names": listed}
