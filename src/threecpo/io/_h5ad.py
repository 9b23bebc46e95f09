"""h5ad and zarr: one matrix of an AnnData; the others stay on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._errors import DataFormatError
from .._extras import require
from .._labels import encoded, label_text
from ._file_content import FileContent, written_labels, written_names
from .delimited.column_roles import place_of
from .isolated import anndata, gathered, isolated
from .regular_files import limits_of
from .sparse_rows import csr_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..table import CountTable
    from .format_options import ReadOptions, WriteOptions


def read(path: Path, options: ReadOptions) -> FileContent:
    library = "zarr" if path.is_dir() else "h5py"
    given = {"layer": options.layer, "labels": list(options.labels)}
    limits = limits_of(path, options.max_unpacked)
    found = gathered(isolated(anndata.read, path, limits, library, **given))
    labels = labels_found(found, options.labels, "obs")
    X = matrix_of(found)
    if not found["asked"] and not _is_whole(X.data):
        raise DataFormatError(fractional_x(found))
    taken = f"counts of {found['called']}"
    names = found["rows"], found["columns"]
    return FileContent(X, *names, **labels, description=taken)


def fractional_x(found: dict[str, Any]) -> str:
    """Say that X does not hold counts, and where they are."""
    what = "X holds values that are not whole numbers"
    if layers := found.get("whole_layers"):
        choices = " or ".join(f"layer={name!r}" for name in layers)
        return f"{what}. Pass {choices}, which holds counts"
    return (
        f"{what}, and no other matrix of the file holds counts. Look for them in the "
        "file before normalisation, or in the 10x output "
        "(filtered_feature_bc_matrix.h5)"
    )


def label_columns(path: Path) -> list[str]:
    """Columns of obs, which labels= can name."""
    library = "zarr" if path.is_dir() else "h5py"
    found = gathered(
        isolated(anndata.read_obs, path, limits_of(path, None), library, labels=[])
    )
    columns: list[str] = found["obs_columns"]
    return columns


def matrix_of(found: dict[str, Any]) -> Any:
    """Sparse matrix of what a reader has found; nobody has looked at its indices."""
    shape = tuple(found["shape"])
    indptr = found.get("indptr")
    if indptr is None:
        indptr = np.concatenate([[0], np.cumsum(found["lengths"])])
    if found["by_rows"]:
        return csr_rows(found["data"], found["indices"], indptr, shape)
    parts = (found["data"], found["indices"], indptr)
    return sp.csc_array(parts, shape=shape)


def labels_found(
    found: dict[str, Any], names: Sequence[str], called: str
) -> dict[str, Any]:
    """Labels of columns of obs: numbers and names of the first, texts of others."""
    for name in names:
        place_of(found["obs_columns"], name, "labels", called)
    if not names:
        return {}
    texts = {name: _texts(**found["labels"][name]) for name in names}
    first = found["labels"][names[0]]
    if "codes" in first:
        kinds = {"labels": np.array(first["codes"]), "label_names": first["names"]}
    else:
        kinds = encoded(texts[names[0]])
    others = {name: texts[name] for name in names[1:]}
    return kinds | {"label_kind": names[0], "other_labels": others}


def _texts(
    values: list[Any] | None = None, codes: Sequence[int] = (), names: Any = ()
) -> list[str | None]:
    """Labels as text, None where there is none."""
    if values is not None:
        return [label_text(value) for value in values]
    return [None if code < 0 else names[code] for code in codes]


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
