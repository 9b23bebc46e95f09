"""Data to try things on: the paper's data sets."""

from .._errors import DataFormatError, DataNotFoundError
from ._bbc import fetch_bbcnews, fetch_bbcsports
from ._catalogue import DataSet, catalogue
from ._cell_atlases import fetch_human_dendritic, fetch_mouse_atlas
from ._gene_expression import fetch_gene_expression
from ._newsgroups import fetch_20newsgroups
from ._optdigits import fetch_optdigits
from ._reuters import fetch_reuters
from ._sport_articles import fetch_sport_articles
from ._synth import make_synth
from ._webkb import fetch_webkb
from ._wholesales import fetch_wholesales

__all__ = [
    "DataFormatError",
    "DataNotFoundError",
    "DataSet",
    "catalogue",
    "fetch_20newsgroups",
    "fetch_bbcnews",
    "fetch_bbcsports",
    "fetch_gene_expression",
    "fetch_human_dendritic",
    "fetch_mouse_atlas",
    "fetch_optdigits",
    "fetch_reuters",
    "fetch_sport_articles",
    "fetch_webkb",
    "fetch_wholesales",
    "make_synth",
]
