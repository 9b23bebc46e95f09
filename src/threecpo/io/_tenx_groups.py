"""10x matrices in HDF5, for blocks.

Genes x cells are stored by columns, which are rows of cells x genes.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._errors import DataFormatError
from ._anndata_elements import is_array, names_of, numbers_of
from ._file_content import shown
from ._tenx import gene_names
from .guarded import open_hdf5

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_PURPOSE = "Reading 10x files in HDF5"
_PARTS = ("barcodes", "data", "indices", "indptr", "shape")


class TenxMatrix(NamedTuple):
    """A matrix of which no count is read yet, and the columns to take."""

    group: Any
    shape: tuple[int, int]
    genes: list[str]
    # All of them if None.
    taken: NDArray[np.int64] | None
    called: str


@contextmanager
def open_tenx(
    path: Path, layer: str | None = None, limit: int | None = None
) -> Iterator[TenxMatrix]:
    """Open a file for reading and choose its matrix."""
    with open_hdf5(path, "io", _PURPOSE, limit) as file:
        yield _choose(file, layer)


def _choose(file: Any, layer: str | None) -> TenxMatrix:
    """Choose the group of counts, and of its columns those of one kind."""
    groups = {name: file[name] for name in file}
    groups = {name: group for name, group in groups.items() if _is_matrix(group)}
    if not groups:
        kind = next((f"; pass format={kind!r}" for kind in _others(file)), "")
        needed = ", ".join(_PARTS)
        message = f"it is no 10x file: no group in it has {needed}{kind}"
        raise DataFormatError(message)
    if layer in groups:
        return _matrix(groups[layer], None)
    if len(groups) > 1:
        listed = ", ".join(map(repr, groups))
        message = f"it holds counts of several genomes; pass layer= as one of {listed}"
        raise DataFormatError(message)
    return _matrix(next(iter(groups.values())), layer)


def _others(file: Any) -> Iterator[str]:
    """Formats that look like this file."""
    if "obs" in file and "var" in file:
        yield "h5ad"
    if "observation" in file:
        yield "biom"


def _is_matrix(group: Any) -> bool:
    return not is_array(group) and all(name in group for name in _PARTS)


def _matrix(group: Any, layer: str | None) -> TenxMatrix:
    names, kinds = _genes(group)
    sizes = numbers_of(group, "shape", "iu")[:].tolist()
    if len(sizes) != 2 or sizes[0] != len(names):
        message = f"its matrix of shape {sizes} has names of {len(names)} genes"
        raise DataFormatError(message)
    taken = None
    called = f"counts of {group.name.lstrip('/')}"
    often = Counter(kinds)
    if layer is not None:
        if layer not in often:
            known = ", ".join(map(repr, often)) or "none: leave layer= out"
            message = f"it has no layer {shown(layer)}; pass layer= as one of {known}"
            raise DataFormatError(message)
        taken = np.flatnonzero(np.array(kinds) == layer)
        names = [names[j] for j in taken.tolist()]
        called += f", {layer}"
    elif len(often) > 1:
        called += ": " + ", ".join(f"{n} of {kind}" for kind, n in often.items())
    return TenxMatrix(group, (sizes[1], sizes[0]), names, taken, called)


def _genes(group: Any) -> tuple[list[str], list[str]]:
    """Names of the genes and, as far as they are known, kinds of features."""
    if "genes" in group:
        ids = names_of(group, "genes")
        return gene_names(ids, _beside(group, "gene_names", ids)), []
    features = group.get("features", {})
    if is_array(features) or "id" not in features:
        message = "its matrix has neither genes nor features/id"
        raise DataFormatError(message)
    ids = names_of(features, "id")
    symbols = _beside(features, "name", ids)
    kinds = _beside(features, "feature_type", ids) if "feature_type" in features else []
    return gene_names(ids, symbols), kinds


def _beside(group: Any, name: str, ids: list[str]) -> list[str]:
    """Texts that go with the ids; the ids where there are none."""
    if name not in group:
        return ids
    found = names_of(group, name)
    if len(found) != len(ids):
        message = f"{group.name}/{name} has {len(found)} entries for {len(ids)} genes"
        raise DataFormatError(message)
    return found
