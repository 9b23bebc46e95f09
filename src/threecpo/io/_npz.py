"""npz: what scipy.sparse.save_npz writes, perhaps with names and labels beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._errors import DataFormatError
from .._labels import LABEL
from .._writing import write_arrays
from ._file_content import FileContent, shown
from .npz_arrays import open_npz

if TYPE_CHECKING:
    from pathlib import Path

    from ..table import CountTable
    from .format_options import ReadOptions, WriteOptions

_COMPRESSED: dict[str, Any] = {"csr": sp.csr_array, "csc": sp.csc_array}


def read(path: Path, options: ReadOptions) -> FileContent:
    with open_npz(path, options.max_unpacked) as arrays:
        return FileContent(
            matrix_of(arrays),
            row_names=names_of(arrays, "row_names"),
            column_names=names_of(arrays, "feature_names"),
            labels=arrays.get("labels"),
            label_names=names_of(arrays, "label_names"),
            **_kinds_of(arrays),
        )


def matrix_of(arrays: Any) -> Any:
    """Sparse matrix that the arrays hold; nobody has looked at its indices yet."""
    kind = str(arrays["format"].astype(str)) if "format" in arrays else "csr"
    needed = ("data", "row", "col") if kind == "coo" else ("data", "indices", "indptr")
    lacking = [name for name in (*needed, "shape") if name not in arrays]
    if lacking or kind not in (*_COMPRESSED, "coo"):
        some = ", ".join(shown(name) for name in list(arrays)[:8]) or "no arrays"
        message = (
            f"it holds {some}, not a sparse matrix; write one with "
            "scipy.sparse.save_npz in format csr, csc or coo"
        )
        raise DataFormatError(message)
    data, first, second = (arrays[name] for name in needed)
    shape = tuple(int(size) for size in arrays["shape"])
    if kind == "coo":
        return sp.coo_array((data, (first, second)), shape=shape)
    return _COMPRESSED[kind]((data, first, second), shape=shape)


def names_of(arrays: Any, field: str) -> list[str] | None:
    """Names that a field holds, or None where there is no such field."""
    if field not in arrays:
        return None
    names = arrays[field]
    if names.dtype.kind not in "US" or names.ndim != 1:
        message = f"{field} are of type {names.dtype}, not text"
        raise DataFormatError(message)
    return names.astype(str).tolist()


def _kinds_of(arrays: Any) -> dict[str, Any]:
    """What labels are called, and those of other kinds."""
    if "label_kinds" not in arrays:
        return {}
    names = names_of(arrays, "label_kinds") or []
    if len(set(names)) < len(names) or "" in names:
        message = "label_kinds are not names of kinds of labels"
        raise DataFormatError(message)
    first = names[:1] if "labels" in arrays else []
    others = names[len(first) :]
    texts = {name: names_of(arrays, f"labels_{i}") for i, name in enumerate(others, 1)}
    lacking = [name for name, values in texts.items() if values is None]
    if lacking or ("labels" in arrays and not first):
        message = (
            f"labels of {', '.join(map(shown, lacking)) or 'some kind'} are missing"
        )
        raise DataFormatError(message)
    kind = {"label_kind": first[0]} if first else {}
    return kind | {"other_labels": texts}


def write(table: CountTable, path: Path, options: WriteOptions) -> None:  # noqa: ARG001
    arrays: dict[str, Any] = {
        "format": np.array(b"csr"),
        "_is_array": np.array(True),  # noqa: FBT003
        "shape": np.array(table.shape),
        "data": table.counts.values(),
        "indices": table.counts.indices,
        "indptr": table.X.indptr,
        "row_names": _text(table.row_names),
        "feature_names": _text(table.column_names),
        "labels": table.labels,
        "label_names": _text(table.label_names),
    }
    kinds = table.label_kinds
    if [*kinds] not in ([], [LABEL]):
        arrays["label_kinds"] = _text(np.array([*kinds], dtype=object))
        for i, texts in enumerate(table.other_labels.values(), 1):
            arrays[f"labels_{i}"] = _text(texts)
    given = {name: array for name, array in arrays.items() if array is not None}
    with path.open("xb") as file:
        write_arrays(file, given, packed=True)


def _text(names: Any) -> Any:
    if names is None:
        return None
    text = np.array(names, dtype=str)
    if (text != names).any():
        message = "a name ends in a null character, which npz does not keep"
        raise DataFormatError(message)
    return text
