"""The data sets of the paper, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ._bbc import fetch_bbcnews, fetch_bbcsports
from ._cell_atlases import fetch_human_dendritic, fetch_mouse_atlas
from ._gene_expression import fetch_gene_expression
from ._newsgroups import fetch_20newsgroups
from ._optdigits import fetch_optdigits
from ._registry import SOURCES
from ._reuters import fetch_reuters
from ._sport_articles import fetch_sport_articles
from ._webkb import fetch_webkb
from ._wholesales import fetch_wholesales

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..table import CountTable

LOADERS: dict[str, Callable[..., CountTable]] = {
    "wholesales": fetch_wholesales,
    "sport_articles": fetch_sport_articles,
    "optdigits": fetch_optdigits,
    "bbcsports": fetch_bbcsports,
    "bbcnews": fetch_bbcnews,
    "webkb": fetch_webkb,
    "reuters": fetch_reuters,
    "20newsgroups": fetch_20newsgroups,
    "mouse_atlas": fetch_mouse_atlas,
    "gene_expression": fetch_gene_expression,
    "human_dendritic": fetch_human_dendritic,
}


class DataSet(NamedTuple):
    """A data set of the paper: its names, its loader and where it comes from."""

    name: str
    paper_name: str
    load: Callable[..., CountTable]
    description: str
    licence: str
    home: str


def catalogue() -> dict[str, DataSet]:
    """List the paper's published data sets in the order of its tables.

    Synth, which is drawn and not published, is ``make_synth``.

    Returns
    -------
    dict of str to DataSet
        By name, each with ``name``, ``paper_name``, ``load``, ``description``,
        ``licence`` and ``home``. ``load`` is the fetch function.

    Examples
    --------
    >>> from threecpo.datasets import catalogue
    >>> [entry.paper_name for entry in catalogue().values()][:3]
    ['Wholesales', 'SportA', 'Optdigits']
    >>> catalogue()["bbcnews"].load.__name__
    'fetch_bbcnews'
    """
    listed = {}
    for name, loader in LOADERS.items():
        source = SOURCES[name]
        listed[name] = DataSet(
            name,
            source.paper_name,
            loader,
            source.description,
            source.licence,
            source.home,
        )
    return listed
