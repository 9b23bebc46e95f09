"""BIOM in HDF5: observations x samples; samples become rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._errors import DataFormatError
from .anndata import read_labels
from .hierarchies import group_of, names_of, opened
from .matrices import all_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Items = Iterator[tuple[str, Any]]


def read(path: str, limit: int, labels: Sequence[str]) -> Items:
    """Counts, ids and, of metadata, what is asked for."""
    file = opened(path)
    sample, observation = (group_of(file, axis) for axis in ("sample", "observation"))
    if "matrix" not in sample or "ids" not in observation:
        kind = "; pass format='h5ad'" if "obs" in file else ""
        message = f"it lacks sample/matrix or observation/ids of BIOM{kind}"
        raise DataFormatError(message)
    samples, observations = (names_of(g, "ids", limit) for g in (sample, observation))
    yield "rows", samples
    yield "columns", observations
    yield "shape", (len(samples), len(observations))
    yield "by_rows", True
    yield from read_labels(group_of(sample, "metadata"), labels, limit)
    yield from all_counts(sample["matrix"], limit)
