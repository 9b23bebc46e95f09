"""Writes an atlas block by block: 10x HDF5 as Cell Ranger does, h5ad, npz blocks.

What was written before a crash is gone on from: files have the number of rows that they
hold, and blocks follow from their numbers.
"""

from __future__ import annotations

import shutil
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from _common import say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _atlas import Atlas

FORMATS = {"10x": ".h5", "h5ad": ".h5ad", "npz": ""}
# Bytes of a stored count on disk, rather too many.
ON_DISK = {"10x": 5, "h5ad": 6, "npz": 13}
CHUNK = 1 << 17
BLOCKS_BEFORE_FLUSH = 16
THREADS = 2


def write(atlas: Atlas, path: Path, kind: str) -> None:
    """Write the file, unless it is there."""
    if path.exists():
        say(f"{path} is there")
        return
    needed = ON_DISK[kind] * atlas.n_rows * atlas.stored_in_row
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        message = f"{path} needs about {needed / 1e9:.0f} GB; {free / 1e9:.0f} are free"
        raise SystemExit(message)
    beside = path.with_name(f"{path.name}.part")
    (_write_npz if kind == "npz" else _write_hdf5)(atlas, beside, kind)
    beside.replace(path)


def _write_npz(atlas: Atlas, folder: Path, _: str) -> None:
    from threecpo import CountTable, write_counts

    folder.mkdir(exist_ok=True)
    names = column_names(atlas)
    for index in range(len(list(folder.glob("*.npz"))), atlas.n_blocks):
        table = CountTable(atlas.block(index), column_names=names)
        # It appears when it is whole.
        write_counts(table, folder / f"block-{index:05d}.npz")
        _tell(index, atlas)


def _write_hdf5(atlas: Atlas, path: Path, kind: str) -> None:
    with _opened(path) as file, ThreadPoolExecutor(THREADS) as pool:
        group = _prepared(file, atlas, kind)
        indptr, start = group["indptr"], int(file.attrs["blocks"])
        end = int(indptr[min(start * _rows(), atlas.n_rows)])
        arrays = [_Packed(group[name], end, pool) for name in ("data", "indices")]
        for index, block in _ahead(atlas, start, pool):
            for array, values in zip(arrays, (block.data, block.indices), strict=True):
                array.append(values)
            first = index * _rows() + 1
            indptr[first : first + block.shape[0]] = end + block.indptr[1:]
            end += len(block.data)
            if (index + 1) % BLOCKS_BEFORE_FLUSH == 0 or index + 1 == atlas.n_blocks:
                for array in arrays:
                    array.flush()
                file.attrs["blocks"] = index + 1
                file.flush()
            _tell(index, atlas)
        del file.attrs["blocks"]


def _ahead(
    atlas: Atlas, start: int, pool: ThreadPoolExecutor
) -> Iterator[tuple[int, Any]]:
    """Blocks in their order, each drawn while the one before is packed."""
    drawn = None
    for index in range(start, atlas.n_blocks):
        block = atlas.block(index) if drawn is None else drawn.result()
        more = index + 1 < atlas.n_blocks
        drawn = pool.submit(atlas.block, index + 1) if more else None
        yield index, block


class _Packed:
    """A growing array whose chunks are packed by threads, as HDF5 would pack them."""

    def __init__(self, array: Any, end: int, pool: ThreadPoolExecutor) -> None:
        self._array, self._pool = array, pool
        self._first = end // CHUNK * CHUNK
        self._rest = array[self._first : end]

    def append(self, values: Any) -> None:
        """Write the chunks that are full; keep the rest."""
        values = np.concatenate([self._rest, values.astype(self._array.dtype)])
        whole = len(values) // CHUNK * CHUNK
        self._write([values[at : at + CHUNK] for at in range(0, whole, CHUNK)])
        self._first, self._rest = self._first + whole, values[whole:]

    def flush(self) -> None:
        """Write the last chunk, which the next call of append writes again."""
        padded = np.zeros(CHUNK, self._array.dtype)
        padded[: len(self._rest)] = self._rest
        self._write([padded])
        self._array.resize((self._first + len(self._rest),))

    def _write(self, chunks: list[Any]) -> None:
        # It never shrinks: what was written before a crash is read again.
        length = self._first + CHUNK * len(chunks)
        self._array.resize((max(length, self._array.shape[0]),))
        level = self._array.compression_opts
        for i, packed in enumerate(self._pool.map(partial(_pack, level), chunks)):
            self._array.id.write_direct_chunk((self._first + i * CHUNK,), packed)


def _pack(level: int, chunk: Any) -> bytes:
    return packing().compress(chunk.tobytes(), level)


@cache
def packing() -> Any:
    """The package deflate where it is there: the same format in a third of the time."""
    try:
        import deflate
    except ImportError:
        return zlib
    return SimpleNamespace(
        compress=lambda raw, level: bytes(deflate.zlib_compress(raw, level))
    )


def _rows() -> int:
    import _atlas

    return _atlas.BLOCK_ROWS


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    import h5py

    with h5py.File(path, "a") as file:
        yield file


def _prepared(file: Any, atlas: Atlas, kind: str) -> Any:
    """Arrays to be filled, and names, unless they are there."""
    place = "matrix" if kind == "10x" else "X"
    if "blocks" in file.attrs:
        return file[place]
    for name in list(file):
        del file[name]
    group = file.create_group(place)
    packed = {"compression": "gzip", "compression_opts": 4 if kind == "10x" else 2}
    for name, dtype in (("data", "i4"), ("indices", "i8" if kind == "10x" else "i4")):
        options = {"maxshape": (None,), "chunks": (CHUNK,), **packed}
        group.create_dataset(name, (0,), dtype, **options)
    group.create_dataset("indptr", (atlas.n_rows + 1,), "i8", **packed)
    (_name_10x if kind == "10x" else _name_h5ad)(file, group, atlas)
    file.attrs["blocks"] = 0
    return group


def column_names(atlas: Atlas) -> list[str]:
    return [f"Gene{j:05d}" for j in range(atlas.n_columns)]


def _cells(atlas: Atlas) -> Any:
    return np.char.add("CELL", np.char.zfill(np.arange(atlas.n_rows).astype(str), 7))


def _name_10x(file: Any, group: Any, atlas: Atlas) -> None:
    """Names as Cell Ranger 3 and later write them."""
    file.attrs["filetype"] = "matrix"
    names = np.array(column_names(atlas), dtype="S")
    group.create_dataset("shape", data=np.array([atlas.n_columns, atlas.n_rows], "i4"))
    group.create_dataset("barcodes", data=_cells(atlas).astype("S"), compression=4)
    features = group.create_group("features")
    of_all = {"id": names, "name": names}
    of_all["feature_type"] = np.full(atlas.n_columns, b"Gene Expression")
    of_all["genome"] = np.full(atlas.n_columns, b"made-up")
    for name, values in of_all.items():
        features.create_dataset(name, data=values, compression=4)
    features.create_dataset("_all_tag_keys", data=np.array([b"genome"]))


def _name_h5ad(file: Any, group: Any, atlas: Atlas) -> None:
    """Names and attributes as AnnData writes them."""
    import h5py

    kind = {"encoding-type": "csr_matrix", "encoding-version": "0.1.0"}
    group.attrs.update(kind | {"shape": np.array([atlas.n_rows, atlas.n_columns])})
    file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
    for axis, names in (("obs", _cells(atlas)), ("var", column_names(atlas))):
        frame = file.create_group(axis)
        frame.attrs.update(
            {
                "encoding-type": "dataframe",
                "encoding-version": "0.2.0",
                "_index": "_index",
                "column-order": np.array([], dtype="S1"),
            }
        )
        text = h5py.string_dtype()
        index = frame.create_dataset("_index", data=np.array(names, object), dtype=text)
        index.attrs.update(
            {"encoding-type": "string-array", "encoding-version": "0.2.0"}
        )


def _tell(index: int, atlas: Atlas) -> None:
    if (index + 1) % 32 == 0 or index + 1 == atlas.n_blocks:
        say(f"  block {index + 1} of {atlas.n_blocks}")
