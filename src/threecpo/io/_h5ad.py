"""h5ad: one matrix of an AnnData file; the others stay on disk."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.matrices import from_dense
from .._errors import DataFormatError
from .._extras import require
from .._labels import encoded
from . import _anndata_elements as elements
from ._file_content import FileContent, written_labels, written_names
from .guarded import open_hdf5

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..table import CountTable
    from ._anndata_elements import Matrix
    from .format_options import ReadOptions, WriteOptions
    from .guarded import Group

# A file is read in larger pieces than memory, as each unpacks whole chunks.
_CELLS = 1 << 22


@contextmanager
def open_h5ad(
    path: Path, layer: str | None = None, limit: int | None = None
) -> Iterator[tuple[Group, Matrix]]:
    """Open a file for reading and choose its matrix, of which nothing is read yet."""
    with open_hdf5(path, "anndata", "Reading h5ad files", limit) as file:
        elements.check_anndata(file)
        yield file, elements.choose_matrix(file, layer)


def read(path: Path, options: ReadOptions) -> FileContent:
    with open_h5ad(path, options.layer, options.max_unpacked) as (file, matrix):
        return content_of(file, matrix, options)


def content_of(file: Group, matrix: Matrix, options: ReadOptions) -> FileContent:
    """Read the matrix of an open AnnData, its names, and labels if asked for."""
    X = _in_memory(matrix.element)
    if not matrix.asked and not _is_whole(X.data):
        message = (
            "X holds values that are not whole numbers; pass layer= with the raw "
            f"counts, one of {elements.layer_choices(file)} ('X' takes X as it is)"
        )
        raise DataFormatError(message)
    obs = file["obs"]
    labels = elements.read_labels(obs, options.labels)
    rows, columns = (elements.frame_names(frame) for frame in (obs, matrix.var))
    taken = f"counts of {matrix.called}"
    return FileContent(X, rows, columns, **labels, description=taken)


def _in_memory(element: Any) -> Any:
    """Make a sparse matrix of what is sparse, and block by block of what is dense."""
    if not elements.is_array(element):
        return elements.read_sparse(element)
    elements.check_dense(element)
    return from_dense(element, _CELLS)


def _is_whole(values: Any) -> bool:
    if values.dtype.kind in "biu":
        return True
    step = 1 << 20
    parts = (values[i : i + step] for i in range(0, len(values), step))
    return all(np.array_equal(part, np.rint(part), equal_nan=True) for part in parts)


def write(table: CountTable, path: Path, options: WriteOptions) -> None:
    anndata = require("anndata", "anndata", "Writing h5ad files")
    import pandas as pd

    obs = pd.DataFrame(index=written_names(table.row_names, table.shape[0]))
    for name, texts in written_labels(table, options, ()).items():
        codes, kinds = encoded(texts).values()
        if obs.empty and table.labels is not None:
            kinds = written_names(table.label_names, int(table.labels.max()) + 1)
            codes = table.labels
        obs[name] = pd.Categorical.from_codes(codes, pd.Index(kinds))
    var = pd.DataFrame(index=written_names(table.column_names, table.shape[1]))
    anndata.AnnData(table.counts.whole_matrix(), obs=obs, var=var).write_h5ad(path)
