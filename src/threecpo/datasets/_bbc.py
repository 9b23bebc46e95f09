"""BBCNews and BBCSports: articles in one folder for each class."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ._load import Document, documents, load_texts
from ._registry import SOURCES

if TYPE_CHECKING:
    from pathlib import Path

    from ..table import CountTable
    from ._load import Home


def fetch_bbcsports(
    *,
    max_features: int | None = 2000,
    stem: str | None = "english",
    data_home: Home = None,
    progress: bool = False,
) -> CountTable:
    """Load BBCSports: 737 sport articles, 2000 terms, 5 sports.

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
    >>> from threecpo.datasets import fetch_bbcsports
    >>> fetch_bbcsports()  # doctest: +SKIP
    CountTable('BBCSports': 737 rows x 2000 columns, 5 clusters)
    """
    source = SOURCES["bbcsports"]
    return load_texts(source, _parse, max_features, stem, data_home, progress=progress)


def fetch_bbcnews(
    *,
    max_features: int | None = 2000,
    stem: str | None = "english",
    data_home: Home = None,
    progress: bool = False,
) -> CountTable:
    """Load BBCNews: 2225 news articles, 2000 terms, 5 sections.

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
    >>> from threecpo.datasets import fetch_bbcnews
    >>> fetch_bbcnews()  # doctest: +SKIP
    CountTable('BBCNews': 2225 rows x 2000 columns, 5 clusters)
    """
    source = SOURCES["bbcnews"]
    return load_texts(source, _parse, max_features, stem, data_home, progress=progress)


def _parse(paths: list[Path], limit: int) -> list[Document]:
    return documents(paths[0], limit, _folder)


def _folder(name: str) -> str | None:
    path = PurePosixPath(name)
    return path.parent.name if path.stem.isdigit() and path.suffix == ".txt" else None
