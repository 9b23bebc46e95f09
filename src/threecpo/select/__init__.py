"""How many clusters: paths of fits, and criteria that choose among them."""

from ._path import KPath
from ._select import select_n_clusters
from ._stability import stability

__all__ = ["KPath", "select_n_clusters", "stability"]
