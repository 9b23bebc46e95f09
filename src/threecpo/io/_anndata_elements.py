"""Parts of an AnnData on disk, in HDF5 or zarr: matrices, names, columns of obs.

Groups and arrays are those of ``hdf5`` or of zarr, which look alike.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._errors import DataFormatError
from .._labels import encoded, label_text
from .delimited.column_roles import place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPARSE: dict[Any, Any] = {
    "csr_matrix": sp.csr_array,
    "csr": sp.csr_array,
    "csc_matrix": sp.csc_array,
    "csc": sp.csc_array,
}


class Matrix(NamedTuple):
    """A matrix on disk, the group with the names of its columns, and what it is."""

    element: Any
    var: Any
    called: str
    asked: bool


def check_anndata(file: Any) -> None:
    """Refuse a file without obs and var."""
    if "obs" not in file or "var" not in file:
        kind = "; pass format='biom'" if "observation" in file else ""
        if "matrix" in file:
            kind = "; pass format='10x-h5'"
        message = f"it is no AnnData file, as it lacks obs or var{kind}"
        raise DataFormatError(message)


def choose_matrix(file: Any, layer: str | None) -> Matrix:
    """Choose the matrix of this name, or else the one that holds counts."""
    layers = _layers(file)
    if layer is None and "counts" in layers:
        layer = "counts"
    if layer in layers:
        element, called = file["layers"][layer], f"layer {layer!r}"
        return Matrix(element, file["var"], called, asked=True)
    if layer == "raw" and "raw" in file:
        raw = _group(file["raw"], "raw")
        return Matrix(raw["X"], raw["var"], "raw.X", asked=True)
    if layer not in (None, "X"):
        message = (
            f"it has no layer {layer!r}; pass layer= as one of {layer_choices(file)}"
        )
        raise DataFormatError(message)
    if not _has_x(file):
        message = f"it has no X; pass layer= as one of {layer_choices(file)}"
        raise DataFormatError(message)
    return Matrix(file["X"], file["var"], "X", asked=layer is not None)


def layer_choices(file: Any) -> str:
    """List what may be passed as layer=."""
    # zarr holds an empty place where there is no raw.
    given = file.get("raw", {})
    raw = [] if is_array(given) or "X" not in given else ["raw"]
    names = [*_layers(file), *raw, *(["X"] if _has_x(file) else [])]
    return ", ".join(repr(name) for name in names) or "none: it holds no matrix"


def _has_x(file: Any) -> bool:
    """Whether there is an X; an older AnnData writes that there is none."""
    return "X" in file and file["X"].attrs.get("encoding-type") != "null"


def _layers(file: Any) -> list[str]:
    return list(_group(file["layers"], "layers")) if "layers" in file else []


def is_array(element: Any) -> bool:
    """Whether this is an array, not a group."""
    return hasattr(element, "shape")


def check_dense(element: Any) -> None:
    """Refuse an array that is no table of numbers."""
    if len(element.shape) != 2 or element.dtype.kind not in "biuf":
        message = f"its matrix is {element.dtype} of shape {element.shape}, no table"
        raise DataFormatError(message)


def sparse_layout(element: Any) -> tuple[str, tuple[int, int]]:
    """Whether a sparse matrix is stored by rows or columns, and its shape."""
    kind = element.attrs.get("encoding-type", element.attrs.get("h5sparse_format"))
    shape = element.attrs.get("shape", element.attrs.get("h5sparse_shape"))
    if not isinstance(kind, str) or kind not in _SPARSE:
        message = f"its matrix is stored as {kind!r}, which is no table"
        raise DataFormatError(message)
    try:
        n_rows, n_columns = (int(size) for size in shape)
    except (TypeError, ValueError):
        message = f"its matrix has shape {shape!r}"
        raise DataFormatError(message) from None
    return kind, (n_rows, n_columns)


def numbers_of(element: Any, name: str, kinds: str) -> Any:
    """One array of a sparse matrix, of which no value is read yet."""
    array = element[name]
    if not is_array(array) or len(array.shape) != 1 or array.dtype.kind not in kinds:
        message = f"{name} of its matrix is no list of numbers"
        raise DataFormatError(message)
    return array


def as_type(array: Any, dtype: Any) -> NDArray[Any]:
    """Read numbers as this type, some at a time, so that they are never there twice."""
    out, done = np.empty(array.shape[0], dtype=dtype), 0
    for part in array.parts():
        if out.dtype.kind == "i":
            bounds = np.iinfo(out.dtype)
            if part.max() > bounds.max or part.min() < 0:
                message = (
                    f"{array.name} is damaged: it holds places outside of any matrix"
                )
                raise DataFormatError(message)
        out[done : done + len(part)] = part
        done += len(part)
    return out


def names_of(group: Any, name: str) -> list[str]:
    """Names that a group holds as one array."""
    array = group[name]
    if not is_array(array) or len(array.shape) != 1:
        message = f"{array.name} is no list of names"
        raise DataFormatError(message)
    names = _texts(array[:])
    return names if array.dtype.kind in "SO" else [str(name) for name in names]


def read_sparse(element: Any) -> Any:
    """Sparse matrix of a group; nobody has looked at its indices yet."""
    kind, shape = sparse_layout(element)
    data = numbers_of(element, "data", "biuf")[:]
    indices, indptr = (numbers_of(element, n, "iu")[:] for n in ("indices", "indptr"))
    return _SPARSE[kind]((data, indices, indptr), shape=shape)


def frame_names(frame: Any) -> list[str]:
    """Names of the rows of obs or var on disk."""
    if is_array(frame):
        # Before version 0.7 a frame was a table of records.
        return _texts(_field(frame, "index"))
    index = frame.attrs.get("_index")
    if not isinstance(index, str) or index not in frame:
        message = f"{frame.name} does not say which of its columns holds the names"
        raise DataFormatError(message)
    return [str(name) for name in _values(frame, index)]


def read_labels(obs: Any, names: Sequence[str], called: str = "obs") -> dict[str, Any]:
    """Labels of columns of obs: numbers and names of the first, texts of others."""
    if not names:
        return {}
    found = {name: _labels_of(obs, name, called) for name in names}
    others = {name: _as_texts(**found[name]) for name in names[1:]}
    return found[names[0]] | {"label_kind": names[0], "other_labels": others}


def _as_texts(labels: Any, label_names: Sequence[str]) -> list[str | None]:
    return [None if code < 0 else label_names[code] for code in labels.tolist()]


def _labels_of(obs: Any, name: str, called: str) -> dict[str, Any]:
    columns = list(obs.fields) if is_array(obs) else list(obs)
    place_of(columns, name, "labels", called)
    if is_array(obs):
        return encoded(label_text(value) for value in _field(obs, name).tolist())
    categories = _categories(obs, name)
    if categories is None:
        return encoded(label_text(value) for value in _values(obs, name))
    codes, names = categories
    return {"labels": codes, "label_names": names}


def _values(frame: Any, name: str) -> list[Any]:
    """Values of a column, None for those that are missing."""
    categories = _categories(frame, name)
    if categories is not None:
        codes, names = categories
        return _as_texts(codes, names)
    column = frame[name]
    if is_array(column):
        return _texts(_column(column))
    values, mask = _texts(_column(column["values"])), _column(column["mask"])
    if len(mask) != len(values):
        message = f"column {name!r} has {len(values)} values, {len(mask)} in its mask"
        raise DataFormatError(message)
    return [
        None if hidden else value
        for value, hidden in zip(values, mask.tolist(), strict=True)
    ]


def _categories(frame: Any, name: str) -> tuple[Any, list[str]] | None:
    """Codes and names of a column of categories, None for one of another kind."""
    column = frame[name]
    if is_array(column):
        # Version 0.7 kept the categories of all columns beside them.
        beside = frame.get("__categories", {})
        if name not in beside or column.dtype.kind not in "iu":
            return None
        codes, listed = _column(column), _column(beside[name])
    elif "codes" in column and "categories" in column:
        codes, listed = _column(column["codes"]), _column(column["categories"])
    else:
        return None
    names = [str(value) for value in _texts(listed)]
    wrong = codes.dtype.kind not in "iu" or (codes.astype(np.int64) < -1).any()
    if wrong or (codes.astype(np.int64) >= len(names)).any():
        message = f"column {name!r} has codes without a category"
        raise DataFormatError(message)
    if len(set(names)) < len(names):
        message = f"column {name!r} has the same category twice"
        raise DataFormatError(message)
    return codes.astype(np.int64), names


def _column(array: Any) -> Any:
    if not is_array(array) or len(array.shape) != 1:
        message = f"{array.name} is no column of values"
        raise DataFormatError(message)
    return np.asarray(array[:])


def _field(frame: Any, name: str) -> Any:
    if name not in frame.fields:
        message = f"{frame.name} has no field {name!r}"
        raise DataFormatError(message)
    return frame.field(name)[:]


def _texts(values: Any) -> list[Any]:
    """Plain values; text that comes as bytes is decoded."""
    if values.dtype.kind == "S":
        with suppress(UnicodeDecodeError):
            # All at once, which numpy does for plain letters alone.
            return list(values.astype(str).tolist())
    return [
        value.decode() if isinstance(value, bytes) else value
        for value in values.tolist()
    ]


def _group(element: Any, name: str) -> Any:
    if is_array(element):
        message = f"{name} is an array, not a group"
        raise DataFormatError(message)
    return element
