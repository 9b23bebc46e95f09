"""WebKB: pages of university web sites, in folders by class and university."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ._load import Document, documents, load_texts
from ._registry import SOURCES

if TYPE_CHECKING:
    from pathlib import Path

    from ..table import CountTable
    from ._load import Home

CLASSES = ("course", "department", "faculty", "project", "staff", "student")
# A header with a tag in it stays, as in the paper's counts.
_HEADER = re.compile(r"MIME-Version:[^<]*<html>")
_TAG = re.compile(r"<[^>]*>")
_DIGIT = re.compile(r"\d")


def fetch_webkb(
    *,
    max_features: int | None = 2000,
    stem: str | None = "english",
    data_home: Home = None,
    progress: bool = False,
) -> CountTable:
    """Load WebKB: 4518 web pages of universities, 2000 terms, 6 kinds of pages.

    The class "other" is left out. The header up to the tag ``<html>``, all tags and all
    digits are removed before words are counted.

    Parameters
    ----------
    max_features, stem
        Number of terms and language of the stemmer; see
        :func:`threecpo.text.count_terms`.
    data_home : str or path-like, default=None
        Folder with the file, or to download it to. By default the one that the
        environment variable ``THREECPO_DATA`` names, or a folder of the user's cache.
    progress : bool, default=False
        Show a progress bar while downloading.

    Returns
    -------
    CountTable
        Counts, names, true labels and provenance.

    Examples
    --------
    >>> from threecpo.datasets import fetch_webkb
    >>> fetch_webkb()  # doctest: +SKIP
    CountTable('WebKB': 4518 rows x 2000 columns, 6 clusters)
    """
    source = SOURCES["webkb"]
    return load_texts(source, _parse, max_features, stem, data_home, progress=progress)


def _parse(paths: list[Path], limit: int) -> list[Document]:
    pages = documents(paths[0], limit, _class)
    return [page._replace(text=_words(page.text)) for page in pages]


def _class(name: str) -> str | None:
    """The second folder, as in webkb/course/cornell/page."""
    folders = name.removeprefix("./").split("/")
    return folders[1] if len(folders) > 2 and folders[1] in CLASSES else None


def _words(page: str) -> str:
    return _DIGIT.sub("", _TAG.sub("", _HEADER.sub("", page)))
