"""h5ad: one matrix of an AnnData file; the others stay on disk."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core.counts import from_dense
from .._errors import DataFormatError
from .._extras import require
from ._file_content import FileContent, encoded, label_text, written_names
from ._hdf5 import check_stored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..table import CountTable
    from .format_options import ReadOptions, WriteOptions

_PURPOSE = "Reading and writing h5ad files"
# A file is read in larger pieces than memory, as each unpacks whole chunks.
_CELLS = 1 << 22


class Matrix(NamedTuple):
    """A matrix on disk, the group with the names of its columns, and what it is."""

    element: Any
    var: Any
    called: str
    asked: bool


@contextmanager
def open_h5ad(path: Path, layer: str | None = None) -> Iterator[tuple[Any, Matrix]]:
    """Open a file for reading and choose its matrix, of which nothing is read yet."""
    require("anndata", "anndata", _PURPOSE)
    import h5py

    with h5py.File(path, "r") as file:
        if "obs" not in file or "var" not in file:
            kind = "; pass format='biom'" if "observation" in file else ""
            message = f"it is no AnnData file, as it lacks obs or var{kind}"
            raise DataFormatError(message)
        yield file, choose_matrix(file, layer)


def choose_matrix(file: Any, layer: str | None) -> Matrix:
    """Choose the matrix of this name, or else the one that holds counts."""
    layers = list(file.get("layers", ()))
    if layer is None and "counts" in layers:
        layer = "counts"
    if layer in layers:
        element, called = file["layers"][layer], f"layer {layer!r}"
        return Matrix(element, file["var"], called, asked=True)
    if layer == "raw" and "raw" in file:
        return Matrix(file["raw"]["X"], file["raw"]["var"], "raw.X", asked=True)
    if layer not in (None, "X"):
        message = (
            f"it has no layer {layer!r}; pass layer= as one of {layer_choices(file)}"
        )
        raise DataFormatError(message)
    if "X" not in file:
        message = f"it has no X; pass layer= as one of {layer_choices(file)}"
        raise DataFormatError(message)
    return Matrix(file["X"], file["var"], "X", asked=layer is not None)


def layer_choices(file: Any) -> str:
    """List what may be passed as layer=."""
    raw = ["raw"] if "raw" in file else []
    names = [*file.get("layers", ()), *raw, *(["X"] if "X" in file else [])]
    return ", ".join(repr(name) for name in names) or "none: it holds no matrix"


def read(path: Path, options: ReadOptions) -> FileContent:
    with open_h5ad(path, options.layer) as (file, matrix):
        X = _in_memory(matrix.element)
        if not matrix.asked and not _is_whole(X.data):
            message = (
                "X holds values that are not whole numbers; pass layer= with the raw "
                f"counts, one of {layer_choices(file)} ('X' takes X as it is)"
            )
            raise DataFormatError(message)
        labels = {} if options.labels is None else _labels(file["obs"], options.labels)
        return FileContent(
            X, frame_names(file["obs"]), frame_names(matrix.var), **labels
        )


def _in_memory(element: Any) -> Any:
    """Make a sparse matrix of what is sparse, and block by block of what is dense."""
    from anndata.io import read_elem

    check_stored(element)
    if not hasattr(element, "shape"):
        found: Any = read_elem(element)
        if getattr(found, "format", None) not in ("csr", "csc"):
            message = f"its matrix is a {type(found).__name__}, which is no table"
            raise DataFormatError(message)
        return found
    if len(element.shape) != 2 or element.dtype.kind not in "biuf":
        message = f"its matrix is {element.dtype} of shape {element.shape}, no table"
        raise DataFormatError(message)
    return from_dense(element, _CELLS)


def _is_whole(values: Any) -> bool:
    if values.dtype.kind in "biu":
        return True
    step = 1 << 20
    parts = (values[i : i + step] for i in range(0, len(values), step))
    return all(np.array_equal(part, np.rint(part), equal_nan=True) for part in parts)


def frame_names(frame: Any) -> list[str]:
    """Names of the rows of obs or var on disk."""
    from anndata.io import read_elem

    if hasattr(frame, "dtype"):
        # Before version 0.7 a frame was a table of records.
        check_stored(frame)
        found = frame["index"]
    else:
        index = frame[frame.attrs["_index"]]
        check_stored(index)
        found = read_elem(index)
    return [
        name.decode() if isinstance(name, bytes) else str(name)
        for name in np.asarray(found).tolist()
    ]


def _labels(obs: Any, name: str) -> dict[str, Any]:
    import pandas as pd
    from anndata.io import read_elem

    columns = list(obs.dtype.names) if hasattr(obs, "dtype") else list(obs)
    if name not in columns:
        message = f"obs has no column {name!r} for labels=, but {', '.join(columns)}"
        raise DataFormatError(message)
    if hasattr(obs, "dtype"):
        values = obs[name]
    else:
        check_stored(obs[name])
        values = read_elem(obs[name])
    if isinstance(values, pd.Categorical):
        names = [str(category) for category in values.categories]
        return {"labels": np.asarray(values.codes), "label_names": names}
    return encoded(label_text(value) for value in np.asarray(values).tolist())


def write(table: CountTable, path: Path, options: WriteOptions) -> None:
    anndata = require("anndata", "anndata", _PURPOSE)
    import pandas as pd

    obs = pd.DataFrame(index=written_names(table.row_names, table.shape[0]))
    if table.labels is not None:
        names = written_names(table.label_names, int(table.labels.max()) + 1)
        kinds = pd.Index(names)
        obs[options.labels] = pd.Categorical.from_codes(table.labels, kinds)
    var = pd.DataFrame(index=written_names(table.column_names, table.shape[1]))
    anndata.AnnData(table.counts.whole_matrix(), obs=obs, var=var).write_h5ad(path)
