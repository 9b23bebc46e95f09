"""Fits of several numbers of clusters, and criteria that choose among them."""

from ._path import KPath
from .choice import KChoice, choice_of
from .selection import auto_path, select_n_clusters

__all__ = ["KChoice", "KPath", "auto_path", "choice_of", "select_n_clusters"]
