"""Writes an atlas block by block: 10x HDF5 as Cell Ranger does, or h5ad.

What was written before a crash is gone on from: files have the number of rows that they
hold, and blocks follow from their numbers.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np

import _atlas
from _common import say

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = {"10x": ".h5", "h5ad": ".h5ad"}
# Bytes of a stored count on disk, rather too many.
ON_DISK = {"10x": 5, "h5ad": 6}
CHUNK = 1 << 17
BLOCKS_BEFORE_FLUSH = 16


def write(atlas: _atlas.Atlas, path: Path, kind: str) -> None:
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
    _write_hdf5(atlas, beside, kind)
    beside.replace(path)


def _write_hdf5(atlas: _atlas.Atlas, path: Path, kind: str) -> None:
    import h5py

    with h5py.File(path, "a") as file:
        group = _prepared(file, atlas, kind)
        indptr, start = group["indptr"], int(file.attrs["blocks"])
        end = int(indptr[min(start * _atlas.BLOCK_ROWS, atlas.n_rows)])
        for index in range(start, atlas.n_blocks):
            block = atlas.block(index)
            first = index * _atlas.BLOCK_ROWS + 1
            indptr[first : first + block.shape[0]] = end + block.indptr[1:]
            for name in ("data", "indices"):
                # What was written behind it before a crash is cut off.
                group[name].resize((end + block.nnz,))
                group[name][end:] = getattr(block, name)
            end += block.nnz
            if (index + 1) % BLOCKS_BEFORE_FLUSH == 0 or index + 1 == atlas.n_blocks:
                file.attrs["blocks"] = index + 1
                file.flush()
            if (index + 1) % 32 == 0 or index + 1 == atlas.n_blocks:
                say(f"  block {index + 1} of {atlas.n_blocks}")
        del file.attrs["blocks"]


def _prepared(file: Any, atlas: _atlas.Atlas, kind: str) -> Any:
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


def column_names(atlas: _atlas.Atlas) -> list[str]:
    return [f"Gene{j:05d}" for j in range(atlas.n_columns)]


def _cells(atlas: _atlas.Atlas) -> Any:
    return np.char.add("CELL", np.char.zfill(np.arange(atlas.n_rows).astype(str), 7))


def _name_10x(file: Any, group: Any, atlas: _atlas.Atlas) -> None:
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


def _name_h5ad(file: Any, group: Any, atlas: _atlas.Atlas) -> None:
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
