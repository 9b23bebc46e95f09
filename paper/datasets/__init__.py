"""The paper's published data sets: counts, names, true labels and provenance."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from threecpo import CountTable
from threecpo.io import DataFormatError
from threecpo.text import count_terms

from . import tables, texts
from .files import DataNotFoundError, missing_files, remembered, source_files
from .registry import SOURCES, DatasetSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .files import Home, Parsed
    from .texts import Document

__all__ = [
    "SOURCES",
    "DataFormatError",
    "DataNotFoundError",
    "DatasetSource",
    "load",
    "missing_files",
]

_TABLES: dict[str, Callable[[list[Path], int], Parsed]] = {
    "wholesales": tables.wholesales,
    "sport_articles": tables.sport_articles,
    "optdigits": tables.optdigits,
    "mouse_atlas": tables.mouse_atlas,
    "gene_expression": tables.gene_expression,
    "human_dendritic": tables.human_dendritic,
}
_TEXTS: dict[str, Callable[[list[Path], int], list[Document]]] = {
    "bbcsports": texts.bbc,
    "bbcnews": texts.bbc,
    "webkb": texts.webkb,
    "reuters": texts.reuters,
    "20newsgroups": texts.newsgroups,
}


def load(name: str, *, data_home: Home = None, **options: Any) -> CountTable:
    """Load a data set, whose files are downloaded once.

    Parameters
    ----------
    name : str
        One of ``SOURCES``.
    data_home : str or path-like, default=None
        Folder with the files, or to download them to. By default the one that the
        environment variable ``THREECPO_DATA`` names, or a folder of the user's cache.
    **options
        Of texts: ``max_features`` (2000) and ``stem`` ("english"), as in
        :func:`threecpo.text.count_terms`.

    Returns
    -------
    CountTable
        Counts, names, true labels and provenance.

    Examples
    --------
    >>> list(SOURCES)[:3]
    ['wholesales', 'sport_articles', 'optdigits']
    >>> load("bbcsports")  # doctest: +SKIP
    CountTable('BBCSports': 737 rows x 2000 columns, 5 clusters)
    """
    if name not in SOURCES:
        message = f"There is no data set {name!r}; there are {', '.join(SOURCES)}."
        raise ValueError(message)
    source = SOURCES[name]
    if name in _TEXTS:
        options = {"max_features": 2000, "stem": "english", **options}
        # Bad options fail here, before anything is downloaded.
        count_terms(["words"], **options)
        parse = partial(_counted, _TEXTS[name], options)
    else:
        parse = partial(_TABLES[name], **options)
    with source_files(source, data_home) as paths:
        once = partial(parse, paths, source.limit)
        parsed = remembered(name, paths, options, once) if source.slow else once()
        return CountTable(
            **parsed,
            name=source.paper_name,
            description=source.description,
            citation=source.citation,
            licence=source.licence,
            source=source.home,
        )


def _counted(
    parse: Callable[[list[Path], int], list[Document]],
    options: dict[str, Any],
    paths: list[Path],
    limit: int,
) -> Parsed:
    """Terms of the documents that ``parse`` finds."""
    found = parse(paths, limit)
    if not found:
        message = "it holds none of the texts"
        raise DataFormatError(message)
    names, labels, words = zip(*found, strict=True)
    table = count_terms(words, **options)
    counts = {
        "X": table.counts,
        "row_names": names,
        "column_names": table.column_names,
        "row_titles": table.row_titles,
    }
    return counts | tables.encoded(labels)
