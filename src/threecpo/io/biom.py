"""BIOM: tables of observations x samples in HDF5 or JSON; samples become rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import parameter, refuse
from .._labels import labels_of_kinds
from .content import FileContent
from .files import open_regular
from .files import opened as open_text
from .hierarchies import (
    asked,
    counts_of,
    group_of,
    labels_found,
    matrix_of,
    names_of,
    opened,
    read_labels,
)
from .limits import limit_of
from .roles import place_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .formats import ReadOptions
    from .isolated import Items

_HDF5 = b"\x89HDF"
_TEXT_TO_MEMORY = 4


def read(path: Path, options: ReadOptions) -> FileContent:
    with open_regular(path) as file:
        start = file.read(len(_HDF5))
    reader = _of_hdf5 if start == _HDF5 else _of_json
    return reader(path, options)


def _of_hdf5(path: Path, options: ReadOptions) -> FileContent:
    found = asked(read_all, path, options.max_unpacked, labels=list(options.labels))
    labels = labels_found(found, options.labels, "sample/metadata")
    return FileContent(matrix_of(found), found["rows"], found["columns"], **labels)


def _of_json(path: Path, options: ReadOptions) -> FileContent:
    # Lists of numbers take several times more memory than their text.
    limit = limit_of(path, options.max_unpacked) // _TEXT_TO_MEMORY
    import scipy.sparse as sp

    with open_text(path, limit) as file:
        table = json.load(file)
    if not isinstance(table, dict) or not {"rows", "columns", "data"} <= set(table):
        refuse("it lacks rows, columns or data of BIOM")
    observations, samples = (
        [str(entry["id"]) for entry in table[axis]] for axis in ("rows", "columns")
    )
    shape = (len(samples), len(observations))
    if table.get("matrix_type") == "dense":
        X: Any = sp.csr_array(np.array(table["data"], dtype=float).T)
        if X.shape != shape:
            refuse(f"it has counts of shape {X.shape[::-1]}, not {shape[::-1]}")
    else:
        entries = np.array(table["data"], dtype=float).reshape(-1, 3)
        places = entries[:, :2].astype(np.int64)
        if (places != entries[:, :2]).any():
            refuse("it has counts at places that are not integers")
        X = sp.coo_array((entries[:, 2], (places[:, 1], places[:, 0])), shape=shape)
    # That of some samples may be missing.
    metadata = [entry.get("metadata") or {} for entry in table["columns"]]
    known = list(dict.fromkeys(name for each in metadata for name in each))
    for name in options.labels:
        place_of(known, name, "labels", "metadata of its samples")
    kinds = {name: [each.get(name) for each in metadata] for name in options.labels}
    return FileContent(X, samples, observations, **labels_of_kinds(kinds))


def read_all(path: str, limit: int, labels: Sequence[str]) -> Items:
    """Ids, what is asked for of metadata, and the counts."""
    file = opened(path)
    sample, observation = (group_of(file, axis) for axis in ("sample", "observation"))
    if "matrix" not in sample or "ids" not in observation:
        kind = f"; pass {parameter('format', 'h5ad')}" if "obs" in file else ""
        refuse(f"it lacks sample/matrix or observation/ids of BIOM{kind}")
    samples, observations = (names_of(g, "ids", limit) for g in (sample, observation))
    yield "rows", samples
    yield "columns", observations
    yield from read_labels(group_of(sample, "metadata"), labels, limit)
    shape = len(samples), len(observations)
    yield from counts_of(sample["matrix"], shape, limit, whole=True)
