"""BIOM: tables of observations x samples in HDF5 or JSON; samples become rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._errors import DataFormatError
from .._labels import labels_of_kinds
from ._file_content import FileContent
from ._h5ad import labels_found, matrix_of
from .archives import opened
from .delimited.column_roles import place_of
from .isolated import biom, gathered, isolated
from .limits import limit_of
from .regular_files import limits_of, open_regular

if TYPE_CHECKING:
    from pathlib import Path

    from .format_options import ReadOptions

_HDF5 = b"\x89HDF"
_TEXT_TO_MEMORY = 4


def read(path: Path, options: ReadOptions) -> FileContent:
    with open_regular(path) as file:
        start = file.read(len(_HDF5))
    reader = _of_hdf5 if start == _HDF5 else _of_json
    return reader(path, options)


def _of_hdf5(path: Path, options: ReadOptions) -> FileContent:
    limits = limits_of(path, options.max_unpacked)
    given = {"labels": list(options.labels)}
    found = gathered(isolated(biom.read, path, limits, "h5py", **given))
    labels = labels_found(found, options.labels, "sample/metadata")
    return FileContent(matrix_of(found), found["rows"], found["columns"], **labels)


def _of_json(path: Path, options: ReadOptions) -> FileContent:
    # Lists of numbers take several times more memory than their text.
    limit = limit_of(path, options.max_unpacked) // _TEXT_TO_MEMORY
    with opened(path, limit) as file:
        table = json.load(file)
    if not isinstance(table, dict) or not {"rows", "columns", "data"} <= set(table):
        message = "it lacks rows, columns or data of BIOM"
        raise DataFormatError(message)
    observations, samples = (
        [str(entry["id"]) for entry in table[axis]] for axis in ("rows", "columns")
    )
    shape = (len(samples), len(observations))
    if table.get("matrix_type") == "dense":
        X: Any = sp.csr_array(np.array(table["data"], dtype=float).T)
        if X.shape != shape:
            message = f"it has counts of shape {X.shape[::-1]}, not {shape[::-1]}"
            raise DataFormatError(message)
    else:
        entries = np.array(table["data"], dtype=float).reshape(-1, 3)
        places = entries[:, :2].astype(np.int64)
        if (places != entries[:, :2]).any():
            message = "it has counts at places that are not whole numbers"
            raise DataFormatError(message)
        X = sp.coo_array((entries[:, 2], (places[:, 1], places[:, 0])), shape=shape)
    labels = _labels_of_samples(table["columns"], options)
    return FileContent(X, samples, observations, **labels)


def _labels_of_samples(samples: list[Any], options: ReadOptions) -> dict[str, Any]:
    """Labels that the metadata of samples hold; those of some may be missing."""
    metadata = [entry.get("metadata") or {} for entry in samples]
    known = list(dict.fromkeys(name for each in metadata for name in each))
    for name in options.labels:
        place_of(known, name, "labels", "metadata of its samples")
    return labels_of_kinds(
        {name: [each.get(name) for each in metadata] for name in options.labels}
    )
