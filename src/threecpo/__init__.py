"""Cluster count data, with the columns that matter chosen along the way.

The public names load on first use (PEP 562), so importing the package is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import (
        anndata,
        datasets,
        distributed,
        io,
        plot,
        preprocessing,
        report,
        results,
        text,
    )
    from ._errors import DataFormatError, ParameterError
    from .cluster import ThreeCPO
    from .io import read_counts, write_counts
    from .persistence import load
    from .select import KPath, select_n_clusters
    from .table import CountTable

    __version__: str

_HOMES = {
    "CountTable": ".table",
    "DataFormatError": "._errors",
    "KPath": ".select",
    "ParameterError": "._errors",
    "ThreeCPO": ".cluster",
    "load": ".persistence",
    "read_counts": ".io",
    "select_n_clusters": ".select",
    "write_counts": ".io",
}
__all__ = [
    "CountTable",
    "DataFormatError",
    "KPath",
    "ParameterError",
    "ThreeCPO",
    "anndata",
    "datasets",
    "distributed",
    "io",
    "load",
    "plot",
    "preprocessing",
    "read_counts",
    "report",
    "results",
    "select_n_clusters",
    "text",
    "write_counts",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("importlib.metadata").version(__name__)
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    if name in __all__:
        return import_module(f".{name}", __name__)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
