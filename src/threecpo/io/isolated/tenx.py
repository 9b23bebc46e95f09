"""10x matrices in HDF5: of Cell Ranger 2 and 3, and as CellBender writes them.

Genes x cells are stored by columns, which are rows of cells x genes.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ..._errors import DataFormatError
from .hierarchies import group_of, is_array, names_of, numbers_of, opened, texts
from .matrices import all_counts, pointers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    Items = Iterator[tuple[str, Any]]

_PARTS = ("barcodes", "data", "indices", "indptr", "shape")


def read(path: str, limit: int, layer: str | None) -> Items:
    """Counts of all features with names; ``taken`` are those to take, if not all."""
    group, kind = _chosen(opened(path), layer)
    yield from _about(group, kind, limit)
    yield from all_counts(group, limit)


def describe(path: str, limit: int, layer: str | None) -> Items:
    """Return all but the counts: what blocks begin with."""
    group, kind = _chosen(opened(path), layer)
    yield from _about(group, kind, limit)
    yield "place", group.name.lstrip("/")
    yield "indptr", pointers_of(group, limit)


def _chosen(file: Any, layer: str | None) -> tuple[Any, str | None]:
    """Return the group of counts, and the kind of features to take of it."""
    groups = {name: group_of(file, name) for name in file}
    groups = {n: g for n, g in groups.items() if all(part in g for part in _PARTS)}
    if not groups:
        others = {
            "h5ad": "obs" in file and "var" in file,
            "biom": "observation" in file,
        }
        kinds = [f"; pass format={kind!r}" for kind, fits in others.items() if fits]
        needed = ", ".join(_PARTS)
        message = (
            f"it is not a 10x file: no group in it has {needed}{''.join(kinds[:1])}"
        )
        raise DataFormatError(message)
    if layer is not None and layer in groups:
        return groups[layer], None
    if len(groups) > 1:
        listed = ", ".join(map(repr, groups))
        message = f"it holds counts of several genomes; pass layer= as one of {listed}"
        raise DataFormatError(message)
    return next(iter(groups.values())), layer


def _about(group: Any, layer: str | None, limit: int) -> Items:
    ids, symbols, kinds = _genes(group, limit)
    sizes = texts(numbers_of(group, "shape", "iu"), limit)
    if len(sizes) != 2 or sizes[0] != len(ids):
        message = f"its matrix of shape {sizes} has names of {len(ids)} genes"
        raise DataFormatError(message)
    called = f"counts of {group.name.lstrip('/')}"
    often = Counter(kinds)
    taken = None
    if layer is not None:
        if layer not in often:
            known = ", ".join(map(repr, often)) or "none: leave layer= out"
            message = f"it has no layer {layer!r}; pass layer= as one of {known}"
            raise DataFormatError(message)
        taken = [j for j, kind in enumerate(kinds) if kind == layer]
        called += f", {layer}"
    elif len(often) > 1:
        called += ": " + ", ".join(f"{n} of {kind}" for kind, n in often.items())
    yield "shape", sizes[::-1]
    yield "by_rows", True
    yield "called", called
    yield "ids", ids
    yield "symbols", symbols
    yield "taken", taken
    yield "rows", names_of(group, "barcodes", limit)


def _genes(group: Any, limit: int) -> tuple[list[str], list[str], list[str]]:
    """Ids and symbols of the genes and, as far as known, their kinds of features."""
    if "genes" in group:
        ids = names_of(group, "genes", limit)
        return ids, _beside(group, "gene_names", ids, limit), []
    features = group_of(group, "features")
    if "id" not in features or not is_array(features["id"]):
        message = "its matrix has neither genes nor features/id"
        raise DataFormatError(message)
    ids = names_of(features, "id", limit)
    kinds = []
    if "feature_type" in features:
        kinds = _beside(features, "feature_type", ids, limit)
    return ids, _beside(features, "name", ids, limit), kinds


def _beside(group: Any, name: str, ids: list[str], limit: int) -> list[str]:
    """Texts that go with the ids; the ids where there are none."""
    if name not in group:
        return ids
    found = names_of(group, name, limit)
    if len(found) != len(ids):
        message = f"{group.name}/{name} has {len(found)} entries for {len(ids)} genes"
        raise DataFormatError(message)
    return found
