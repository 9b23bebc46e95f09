"""Counts from files and to files.

The public names load on first use (PEP 562): the list of formats, which help texts
show, does not need what reads and writes them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._errors import DataFormatError as DataFormatError
    from . import blocks
    from .read import read_counts as read_counts
    from .write import write_counts as write_counts

_HOMES = {
    "DataFormatError": ".._errors",
    "read_counts": ".read",
    "write_counts": ".write",
}

__all__ = ["blocks"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    if name in __all__:
        return import_module(f".{name}", __name__)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
