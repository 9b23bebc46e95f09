"""BIOM: tables of observations x samples in HDF5 or JSON; samples become rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._errors import DataFormatError
from .._extras import require
from ._file_content import FileContent
from ._hdf5 import check_stored
from .archives import opened

if TYPE_CHECKING:
    from pathlib import Path

    from .format_options import ReadOptions

_HDF5 = b"\x89HDF"


def read(path: Path, options: ReadOptions) -> FileContent:  # noqa: ARG001
    with path.open("rb") as file:
        start = file.read(len(_HDF5))
    return _of_hdf5(path) if start == _HDF5 else _of_json(path)


def _of_hdf5(path: Path) -> FileContent:
    """Read ids and counts; metadata stay on disk."""
    h5py = require("h5py", "io", "Reading BIOM files in HDF5")
    with h5py.File(path, "r") as file:
        if "sample/matrix" not in file or "observation/ids" not in file:
            kind = "; pass format='h5ad'" if "obs" in file else ""
            message = f"it lacks sample/matrix or observation/ids of BIOM{kind}"
            raise DataFormatError(message)
        for name in ("sample/ids", "observation/ids", "sample/matrix"):
            check_stored(file[name])
        samples, observations = (
            [_text(name) for name in file[axis]["ids"][:].tolist()]
            for axis in ("sample", "observation")
        )
        stored = file["sample"]["matrix"]
        arrays = (stored["data"][:], stored["indices"][:], stored["indptr"][:])
    X = sp.csr_array(arrays, shape=(len(samples), len(observations)))
    return FileContent(X, samples, observations)


def _of_json(path: Path) -> FileContent:
    with opened(path) as file:
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
            message = "it has counts at places that are no whole numbers"
            raise DataFormatError(message)
        X = sp.coo_array((entries[:, 2], (places[:, 1], places[:, 0])), shape=shape)
    return FileContent(X, samples, observations)


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)
