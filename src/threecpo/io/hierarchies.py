"""Groups, arrays and matrices of an HDF5 file or a zarr folder, piece by piece.

Nothing leads out of the file: of HDF5 all links, virtual data sets and external storage
are looked at before anything is followed; the caller has done so with zarr folders. A
process of its own reads; ``asked`` and ``lines_of`` ask it.
"""

from __future__ import annotations

import os
import warnings
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import DataFormatError, refuse
from .._labels import encoded, label_text
from .content import csr_rows
from .files import limits_of
from .isolated import blocks_of, gathered, isolated
from .limits import check_unpacked
from .roles import place_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from .isolated import Item, Items

    # Lengths of some rows, or columns, and the indices and values in them.
    Lines = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

# Bytes and texts that are read at a time.
PIECE = 1 << 22
MOST_OF_A_PIECE = 1 << 26
TEXTS = 1 << 13
# A text takes this many bytes in memory, besides its letters, and a count.
OF_TEXT = 64
_OF_COUNT = 12
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


def counts_of(
    matrix: Any, shape: Sequence[int], limit: int, *, whole: bool, by_rows: bool = True
) -> Items:
    """Where a matrix is, and the pointers of a sparse one, for ``read_rows``.

    Of the whole matrix all its rows (or columns) follow, as from there.
    """
    yield "place", matrix.name.lstrip("/")
    yield "shape", shape
    yield "by_rows", by_rows
    n_lines = shape[0 if by_rows else 1]
    if not is_array(matrix):
        ends, *_ = _entries(matrix, limit)
        if len(ends) != 1 + n_lines:
            refuse("its row pointers are damaged")
        yield "indptr", ends
    if whole:
        yield from _rows(matrix, limit, [(0, n_lines)])


def read_rows(
    path: str, limit: int, place: str, cuts: Sequence[tuple[int, int]]
) -> Items:
    """Rows of a matrix, from row to row as ``cuts`` say, one block after the other.

    Of each block, which takes so many bytes at most: ``lengths`` of its rows,
    ``indices`` and ``data`` in pieces, and ``block`` at the end.
    """
    yield from _rows(opened(path)[place], limit, cuts)


def _rows(matrix: Any, limit: int, cuts: Sequence[tuple[int, int]]) -> Items:
    if is_array(matrix):
        width = matrix.dtype.itemsize * int(np.prod(matrix.shape[1:], dtype=object))
        for start, stop in cuts:
            check_unpacked(width * (stop - start), limit)
            for part in pieces(matrix, start, stop):
                rows, columns = np.nonzero(part)
                yield "lengths", np.bincount(rows, minlength=len(part))
                yield "indices", columns.astype(np.int32)
                yield "data", narrow(part[rows, columns])
            yield "block", start
        return
    ends, indices, data = _entries(matrix, limit)
    for start, stop in cuts:
        first, last = int(ends[start]), int(ends[stop])
        check_unpacked(_OF_COUNT * (last - first), limit)
        yield "sizes", {"data": [last - first, "<f8"], "indices": [last - first, "<i4"]}
        yield "lengths", np.diff(ends[start : stop + 1])
        yield from (("indices", _places(part)) for part in pieces(indices, first, last))
        yield from (("data", narrow(part)) for part in pieces(data, first, last))
        yield "block", start


def _entries(matrix: Any, limit: int) -> tuple[NDArray[np.int64], Any, Any]:
    """Pointers of a sparse matrix, and its indices and values, not read yet."""
    kinds = {"indptr": "iu", "indices": "iu", "data": "biuf"}
    array, indices, data = (numbers_of(matrix, *item) for item in kinds.items())
    check_unpacked(8 * array.shape[0], limit)
    ends = np.concatenate([np.zeros(0, np.int64), *pieces(array)]).astype(np.int64)
    if not len(ends) or ends[0] or (np.diff(ends) < 0).any():
        refuse("its row pointers are damaged")
    if ends[-1] > min(indices.shape[0], data.shape[0]):
        refuse(f"its row pointers end at {ends[-1]}, beyond its counts")
    return ends, indices, data


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


def asked(
    reader: Any, path: Path, limit: int | None = None, **options: Any
) -> dict[str, Any]:
    """All that a reader finds in an HDF5 file or a zarr folder."""
    return gathered(_asked(reader, path, limit, **options))


def _asked(
    reader: Any, path: Path, limit: int | None, **options: Any
) -> Generator[Item]:
    library = "zarr" if path.is_dir() else "h5py"
    return isolated(reader, path, limits_of(path, limit), library, **options)


def lines_of(path: Path, place: str, cuts: list[tuple[int, int]]) -> Generator[Lines]:
    """Lengths, indices and values of rows, or columns, between cuts."""
    with closing(_asked(read_rows, path, None, place=place, cuts=cuts)) as items:
        for found in blocks_of(items):
            yield found["lengths"], found["indices"], found["data"]


def matrix_of(found: dict[str, Any]) -> Any:
    """Sparse matrix of what a reader has found; nobody has looked at its indices."""
    shape, by_rows = found["shape"], found["by_rows"]
    indptr = np.concatenate([[0], np.cumsum(found["lengths"])])
    parts = found["data"], found["indices"], indptr
    if by_rows:
        return csr_rows(*parts, tuple(shape))
    return csr_rows(*parts, tuple(shape[::-1])).T


def labels_found(
    found: dict[str, Any], names: Sequence[str], called: str
) -> dict[str, Any]:
    """Labels of columns of obs: numbers and names of the first, texts of others."""
    for name in names:
        place_of(found["obs_columns"], name, "labels", called)
    if not names:
        return {}
    first, *others = names
    values, categories = found["labels"][first]
    if categories is None:
        kinds = encoded(map(label_text, values))
    else:
        kinds = {"labels": np.array(values), "label_names": categories}
    texts = {name: _in_words(*found["labels"][name]) for name in others}
    return kinds | {"label_kind": first, "other_labels": texts}


def _in_words(values: list[Any], categories: list[str] | None) -> list[Any]:
    """Values, or categories by their numbers; None for those that are missing."""
    if categories is None:
        return values
    return [None if number < 0 else categories[number] for number in values]


def read_labels(frame: Any, names: Sequence[str], limit: int) -> Items:
    """Columns of a frame, and those of the labels that are among them."""
    rows = attribute(frame, "_index") if hasattr(frame, "attrs") else None
    columns = [name for name in frame if name not in (rows, "__categories")]
    yield "obs_columns", columns
    known = [name for name in names if name in columns]
    yield "labels", {name: _column(frame, name, limit) for name in known}


def frame_names(frame: Any, limit: int) -> list[str]:
    """Names of the rows of obs or var."""
    if is_array(frame):
        refuse(
            f"{frame.name} is in the form of AnnData before 0.7; read the file with "
            "anndata and write it again"
        )
    index = attribute(frame, "_index")
    if not isinstance(index, str) or index not in list(frame):
        refuse(f"{frame.name} does not say which of its columns holds the names")
    return [str(name) for name in _in_words(*_column(frame, index, limit))]


def _column(frame: Any, name: str, limit: int) -> tuple[list[Any], list[str] | None]:
    """Values of a column, or numbers of categories and these."""
    column = frame[name]
    if is_array(column):
        # Version 0.7 kept the categories of all columns beside them.
        beside = group_of(frame, "__categories")
        if name not in beside or column.dtype.kind not in "iu":
            return texts(column, limit), None
        codes, listed = texts(column, limit), names_of(beside, name, limit)
    elif "codes" in column and "categories" in column:
        codes = texts(column["codes"], limit)
        listed = names_of(column, "categories", limit)
    else:
        values, mask = (texts(item_of(column, of), limit) for of in ("values", "mask"))
        if len(mask) != len(values):
            refuse(f"column {name!r} has {len(values)} values, {len(mask)} in its mask")
        pairs = zip(values, mask, strict=True)
        return [None if hidden else value for value, hidden in pairs], None
    numbers = np.array(codes)
    if codes and (
        numbers.dtype.kind not in "iu"
        or not -1 <= numbers.min() <= numbers.max() < len(listed)
    ):
        refuse(f"column {name!r} has codes without a category")
    if len(set(listed)) < len(listed):
        refuse(f"column {name!r} has the same category twice")
    return codes, listed
