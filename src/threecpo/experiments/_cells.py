"""Cells: one measurement each, kept on disk as soon as it is made."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sklearn

from .. import __version__
from .._writing import replaced

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ._data import Data

    Values = dict[str, Any]
    Measure = Callable[..., Values]

# Counted up whenever a measure or the form of its values changes.
FORMAT = 1


@dataclass(frozen=True, eq=False)
class Cell:
    """A measure of one estimator, seed included, on one data set.

    ``title`` is for people; whatever decides the value is in ``identity``, so that
    tables with the same cell share it.
    """

    measure: Measure
    data: Data
    estimator: Any
    options: dict[str, Any] = field(default_factory=dict)
    title: str = ""

    @cached_property
    def identity(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "threecpo": __version__,
            "scikit-learn": sklearn.__version__,
            "measure": self.measure.__name__,
            "data": self.data.name,
            "fingerprint": self.data.fingerprint,
            "estimator": _parameters(self.estimator),
            "options": self.options,
        }

    @cached_property
    def digest(self) -> str:
        text = json.dumps(self.identity, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def run(self) -> Values:
        return self.measure(self.data, self.estimator, **self.options)


class Cache:
    """A folder of cells, one small file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, cell: Cell) -> Values | None:
        """Return the values of a cell, or None if there are none that can be read."""
        try:
            kept = json.loads(self._path(cell).read_text(encoding="utf-8"))
            # Through JSON, as tuples come back as lists.
            same = kept["identity"] == json.loads(json.dumps(cell.identity))
            return kept["values"] if same else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, cell: Cell, values: Values) -> None:
        """Write beside and rename: a file that is there is whole."""
        path = self._path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {"identity": cell.identity, "values": values}
        with replaced(path) as beside:
            beside.write_text(json.dumps(kept, indent=1), encoding="utf-8")

    def _path(self, cell: Cell) -> Path:
        name = f"{cell.measure.__name__}-{cell.digest}.json"
        return self._folder / cell.data.name / name


def _parameters(estimator: Any) -> dict[str, str]:
    """Every parameter, and the class of everything that has parameters."""
    if estimator is None:
        return {}
    parameters = {"": type(estimator).__name__}
    for name, value in sorted(estimator.get_params(deep=True).items()):
        if name in ("n_jobs", "verbose") or name.endswith(("__n_jobs", "__verbose")):
            continue
        nested = hasattr(value, "get_params")
        parameters[name] = type(value).__name__ if nested else repr(value)
    parameters.pop("steps", None)
    return parameters
