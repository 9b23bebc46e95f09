"""h5ad and zarr: one matrix of an AnnData; the others stay on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._errors import DataFormatError, parameter, refuse
from .._extras import require
from .._labels import encoded
from .content import FileContent, written_labels, written_names
from .hierarchies import (
    asked,
    attribute,
    counts_of,
    frame_names,
    group_of,
    is_array,
    item_of,
    labels_found,
    matrix_of,
    numbers_of,
    opened,
    read_labels,
    shape_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..table import CountTable
    from .formats import ReadOptions, WriteOptions
    from .isolated import Items

_FIRST = 10_000


class _Matrix(NamedTuple):
    element: Any
    var: Any
    called: str
    asked: bool


def read(path: Path, options: ReadOptions) -> FileContent:
    found = asked(
        describe,
        path,
        options.max_unpacked,
        layer=options.layer,
        labels=list(options.labels),
    )
    labels = labels_found(found, options.labels, "obs")
    X = matrix_of(found)
    if not found["asked"] and not _is_whole(X.data):
        raise DataFormatError(fractional_x(found))
    taken = f"counts of {found['called']}"
    names = found["rows"], found["columns"]
    return FileContent(X, *names, **labels, description=taken)


def fractional_x(found: dict[str, Any]) -> str:
    """Say that X does not hold counts, and where they are."""
    what = "X contains values that are not integers"
    if layers := found.get("whole_layers"):
        choices = " or ".join(parameter("layer", name) for name in layers)
        return f"{what}. Pass {choices}, which holds counts"
    return (
        f"{what}, and no other matrix of the file holds counts. Look for them in the "
        "file before normalisation, or in the 10x output "
        "(filtered_feature_bc_matrix.h5)"
    )


def _is_whole(values: Any) -> bool:
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


def describe(
    path: str, limit: int, layer: str | None, labels: Sequence[str] | None = None
) -> Items:
    """Names, labels and counts; without ``labels`` not of rows, as blocks begin."""
    file = opened(path)
    matrix = _chosen(file, layer)
    shape, by_rows = shape_of(matrix.element)
    yield "called", matrix.called
    yield "asked", matrix.asked
    if not matrix.asked:
        yield "whole_layers", _whole_layers(file)
    yield "columns", frame_names(matrix.var, limit)
    if labels is not None:
        yield from _rows_of(file, labels, limit)
    whole = labels is not None
    yield from counts_of(matrix.element, shape, limit, whole=whole, by_rows=by_rows)


def read_obs(path: str, limit: int, labels: Sequence[str]) -> Items:
    """Names of rows, and labels of columns of obs; the counts stay where they are."""
    yield from _rows_of(opened(path), labels, limit)


def _rows_of(file: Any, labels: Sequence[str], limit: int) -> Items:
    obs = item_of(file, "obs")
    yield "rows", frame_names(obs, limit)
    yield from read_labels(obs, labels, limit)


def _chosen(file: Any, layer: str | None) -> _Matrix:
    """Return the matrix of this name, or else the one that holds counts."""
    if "obs" not in file or "var" not in file:
        kind = f"; pass {parameter('format', 'biom')}" if "observation" in file else ""
        if "matrix" in file:
            kind = f"; pass {parameter('format', '10x-h5')}"
        refuse(f"it is not an AnnData file, as it lacks obs or var{kind}")
    layers = list(group_of(file, "layers"))
    if layer is None and "counts" in layers:
        layer = "counts"
    if layer is not None and layer in layers:
        element, called = item_of(file["layers"], layer), f"layer {layer!r}"
        return _Matrix(element, file["var"], called, asked=True)
    if layer == "raw" and "raw" in file:
        raw = file["raw"]
        element, var = item_of(raw, "X"), item_of(raw, "var")
        return _Matrix(element, var, "raw.X", asked=True)
    # An older AnnData writes that there is no X.
    x = attribute(item_of(file, "X"), "encoding-type") if "X" in file else "null"
    if layer not in (None, "X") or x == "null":
        raw = ["raw"] if "X" in group_of(file, "raw") else []
        names = [*layers, *raw, *(["X"] if x != "null" else [])]
        listed = ", ".join(map(repr, names)) or "none: it does not contain a matrix"
        lacks = "X" if layer in (None, "X") else f"layer {layer!r}"
        refuse(f"it has no {lacks}; pass {parameter('layer')} as one of {listed}")
    return _Matrix(item_of(file, "X"), file["var"], "X", asked=layer is not None)


def _whole_layers(file: Any) -> list[str]:
    """Names of layers that begin with integers, as counts are."""
    elements = {
        name: item_of(file["layers"], name) for name in group_of(file, "layers")
    }
    if "X" in group_of(file, "raw"):
        elements["raw"] = item_of(file["raw"], "X")
    return [name for name, element in elements.items() if _begins_whole(element)]


def _begins_whole(matrix: Any) -> bool:
    """Whether the first values of a matrix are integers."""
    if not is_array(matrix):
        matrix = numbers_of(matrix, "data", "biuf")
    elif len(matrix.shape) != 2 or matrix.dtype.kind not in "biuf":
        return False
    width = int(np.prod(matrix.shape[1:], dtype=object))
    return _is_whole(np.asarray(matrix[: max(1, _FIRST // max(1, width))]))
