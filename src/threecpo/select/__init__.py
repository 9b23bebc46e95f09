"""How many clusters: paths of fits, and criteria that choose among them."""

from ._path import KPath
from ._select import auto_path, select_n_clusters
from ._stability import stability
from .choice import KChoice, choice_of

__all__ = [
    "KChoice",
    "KPath",
    "auto_path",
    "choice_of",
    "select_n_clusters",
    "stability",
]
