"""Fits of several numbers of clusters, and criteria that choose among them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .choice import KChoice, choice_of

if TYPE_CHECKING:
    from ._path import KPath
    from .selection import fit_auto, select_n_clusters

__all__ = ["KChoice", "KPath", "choice_of", "fit_auto", "select_n_clusters"]


def __getattr__(name: str) -> Any:
    """Load what makes fits when it is asked for; reports of a choice do without."""
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(".selection", __name__), name)
