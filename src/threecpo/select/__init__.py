"""Fits of several numbers of clusters, and criteria that choose among them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .choice import KChoice, choice_of

if TYPE_CHECKING:
    from ._path import KPath
    from .selection import auto_path, select_n_clusters

__all__ = ["KChoice", "KPath", "auto_path", "choice_of", "select_n_clusters"]

# These load scikit-learn, which reports of a finished choice do without.
_HOMES = {
    "KPath": "._path",
    "auto_path": ".selection",
    "select_n_clusters": ".selection",
}


def __getattr__(name: str) -> Any:
    """Load what makes fits when it is asked for."""
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_HOMES[name], __name__), name)
