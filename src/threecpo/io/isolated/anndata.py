"""AnnData in HDF5 or zarr: one matrix, names, and columns of obs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._errors import DataFormatError
from .hierarchies import (
    attribute,
    group_of,
    is_array,
    item_of,
    names_of,
    numbers_of,
    opened,
    some_at_a_time,
    texts,
)
from .matrices import all_counts, pointers_of, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Items = Iterator[tuple[str, Any]]


_FIRST = 10_000


class _Matrix(NamedTuple):
    element: Any
    var: Any
    called: str
    asked: bool


def read(path: str, limit: int, layer: str | None, labels: Sequence[str]) -> Items:
    """Counts, names, and labels of those columns of obs that are there."""
    file = opened(path)
    matrix = _chosen(file, layer)
    yield from _about(file, matrix, limit)
    yield from read_labels(item_of(file, "obs"), labels, limit)
    yield "rows", frame_names(item_of(file, "obs"), limit)
    yield from all_counts(matrix.element, limit)


def describe(path: str, limit: int, layer: str | None) -> Items:
    """Return all but the counts and what belongs to rows: what blocks begin with."""
    file = opened(path)
    matrix = _chosen(file, layer)
    yield from _about(file, matrix, limit)
    yield "place", matrix.element.name.lstrip("/")
    if not is_array(matrix.element):
        yield "indptr", pointers_of(matrix.element, limit)


def read_obs(path: str, limit: int, labels: Sequence[str]) -> Items:
    """Names of rows, and labels of columns of obs; the counts stay where they are."""
    obs = item_of(opened(path), "obs")
    yield from read_labels(obs, labels, limit)
    yield "rows", frame_names(obs, limit)


def _about(file: Any, matrix: _Matrix, limit: int) -> Items:
    shape, by_rows = shape_of(matrix.element)
    yield "shape", shape
    yield "by_rows", by_rows
    yield "called", matrix.called
    yield "asked", matrix.asked
    if not matrix.asked:
        yield "whole_layers", _whole_layers(file)
    yield "columns", frame_names(matrix.var, limit)


def _chosen(file: Any, layer: str | None) -> _Matrix:
    """Return the matrix of this name, or else the one that holds counts."""
    if "obs" not in file or "var" not in file:
        kind = "; pass format='biom'" if "observation" in file else ""
        if "matrix" in file:
            kind = "; pass format='10x-h5'"
        message = f"it is not an AnnData file, as it lacks obs or var{kind}"
        raise DataFormatError(message)
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
    choices = _layer_choices(file)
    if layer not in (None, "X"):
        message = f"it has no layer {layer!r}; pass layer= as one of {choices}"
        raise DataFormatError(message)
    if not _has_x(file):
        message = f"it has no X; pass layer= as one of {choices}"
        raise DataFormatError(message)
    return _Matrix(item_of(file, "X"), file["var"], "X", asked=layer is not None)


def _layer_choices(file: Any) -> str:
    """List what may be passed as layer=."""
    raw = ["raw"] if "X" in group_of(file, "raw") else []
    names = [*group_of(file, "layers"), *raw, *(["X"] if _has_x(file) else [])]
    return (
        ", ".join(repr(name) for name in names) or "none: it does not contain a matrix"
    )


def _whole_layers(file: Any) -> list[str]:
    """Names of layers that begin with whole numbers, as counts are."""
    elements = {
        name: item_of(file["layers"], name) for name in group_of(file, "layers")
    }
    if "X" in group_of(file, "raw"):
        elements["raw"] = item_of(file["raw"], "X")
    return [name for name, element in elements.items() if _begins_whole(element)]


def _begins_whole(matrix: Any) -> bool:
    """Whether the first values of a matrix are whole numbers."""
    if not is_array(matrix):
        matrix = numbers_of(matrix, "data", "biuf")
    elif len(matrix.shape) != 2 or matrix.dtype.kind not in "biuf":
        return False
    width = int(np.prod(matrix.shape[1:], dtype=object))
    first = np.asarray(matrix[: max(1, _FIRST // max(1, width))])
    return np.array_equal(first, np.rint(first), equal_nan=True)


def _has_x(file: Any) -> bool:
    """Whether there is an X; an older AnnData writes that there is none."""
    return "X" in file and attribute(item_of(file, "X"), "encoding-type") != "null"


def frame_names(frame: Any, limit: int) -> list[str]:
    """Names of the rows of obs or var."""
    if is_array(frame):
        # Before version 0.7 a frame was a table of records.
        return [str(name) for name in _field(frame, "index", limit)]
    index = attribute(frame, "_index")
    if not isinstance(index, str) or index not in list(frame):
        message = f"{frame.name} does not say which of its columns holds the names"
        raise DataFormatError(message)
    return [str(name) for name in _values(frame, index, limit)]


def read_labels(obs: Any, names: Sequence[str], limit: int) -> Items:
    """Columns of a frame, and for each label that is one of them its values.

    Categories come as their numbers, and as their names.
    """
    columns = [] if obs is None else list(obs.dtype.names if is_array(obs) else obs)
    if hasattr(obs, "attrs"):
        rows = "index" if is_array(obs) else attribute(obs, "_index")
        columns = [name for name in columns if name not in (rows, "__categories")]
    yield "obs_columns", columns
    found = {}
    for name in names:
        if name not in columns:
            continue
        if is_array(obs):
            found[name] = {"values": _field(obs, name, limit)}
            continue
        categories = _categories(obs, name, limit)
        if categories is None:
            found[name] = {"values": _values(obs, name, limit)}
        else:
            found[name] = {"codes": categories[0], "names": categories[1]}
    yield "labels", found


def _values(frame: Any, name: str, limit: int) -> list[Any]:
    """Values of a column, None for those that are missing."""
    categories = _categories(frame, name, limit)
    if categories is not None:
        codes, names = categories
        return [None if code < 0 else names[code] for code in codes]
    column = frame[name]
    if is_array(column):
        return texts(column, limit)
    values, mask = (texts(item_of(column, key), limit) for key in ("values", "mask"))
    if len(mask) != len(values):
        message = f"column {name!r} has {len(values)} values, {len(mask)} in its mask"
        raise DataFormatError(message)
    pairs = zip(values, mask, strict=True)
    return [None if hidden else value for value, hidden in pairs]


def _categories(
    frame: Any, name: str, limit: int
) -> tuple[list[int], list[str]] | None:
    """Codes and names of a column of categories, None for one of another kind."""
    column = frame[name]
    if is_array(column):
        # Version 0.7 kept the categories of all columns beside them.
        beside = group_of(frame, "__categories")
        if name not in beside or column.dtype.kind not in "iu":
            return None
        codes, listed = texts(column, limit), names_of(beside, name, limit)
    elif "codes" in column and "categories" in column:
        codes = texts(column["codes"], limit)
        listed = names_of(column, "categories", limit)
    else:
        return None
    numbers = np.array(codes)
    if codes and (
        numbers.dtype.kind not in "iu"
        or not -1 <= numbers.min() <= numbers.max() < len(listed)
    ):
        message = f"column {name!r} has codes without a category"
        raise DataFormatError(message)
    if len(set(listed)) < len(listed):
        message = f"column {name!r} has the same category twice"
        raise DataFormatError(message)
    return codes, listed


def _field(frame: Any, name: str, limit: int) -> list[Any]:
    if name not in (frame.dtype.names or ()):
        message = f"{frame.name} has no field {name!r}"
        raise DataFormatError(message)
    return some_at_a_time(frame.fields(name), frame.shape[0], limit)
