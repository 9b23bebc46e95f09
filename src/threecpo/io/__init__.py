"""Counts from files and to files.

The public names load on first use (PEP 562): the list of formats, which help texts
show, does not need what reads and writes them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._errors import DataFormatError
    from .read import read_counts
    from .write import write_counts

_HOMES = {
    "DataFormatError": ".._errors",
    "read_counts": ".read",
    "write_counts": ".write",
}

__all__ = ["DataFormatError", "read_counts", "write_counts"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
