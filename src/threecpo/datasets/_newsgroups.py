"""20NewsG: messages to newsgroups, in one folder for each group."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ._load import Document, documents, load_texts
from ._registry import SOURCES

if TYPE_CHECKING:
    from pathlib import Path

    from ..table import CountTable
    from ._load import Home

# The rules by which scikit-learn removes quotes.
_QUOTE = re.compile(
    r"(writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^\||^>)"
)


def fetch_20newsgroups(
    *,
    max_features: int | None = 2000,
    stem: str | None = "english",
    data_home: Home = None,
    progress: bool = False,
) -> CountTable:
    """Load 20NewsG: 18 846 messages, 2000 terms, 20 newsgroups.

    The version sorted by date: the messages for training, then those for testing.
    Headers, footers and quotes are removed by the rules of scikit-learn, which leaves
    some messages without any words.

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
    >>> from threecpo.datasets import fetch_20newsgroups
    >>> fetch_20newsgroups()  # doctest: +SKIP
    CountTable('20NewsG': 18846 rows x 2000 columns, 20 clusters)
    """
    source = SOURCES["20newsgroups"]
    return load_texts(source, _parse, max_features, stem, data_home, progress=progress)


def _parse(paths: list[Path], limit: int) -> list[Document]:
    messages = documents(paths[0], limit, _group)
    messages.sort(key=lambda message: ("bydate-test/" in message.name, message.name))
    return [message._replace(text=_words(message.text)) for message in messages]


def _group(name: str) -> str | None:
    path = PurePosixPath(name)
    return path.parent.name if path.name.isdigit() else None


def _words(message: str) -> str:
    _, _, body = message.partition("\n\n")
    lines = _without_footer(body).split("\n")
    return "\n".join(line for line in lines if not _QUOTE.search(line))


def _without_footer(body: str) -> str:
    """Cut off what follows the last line that is blank or a row of dashes."""
    lines = body.strip().split("\n")
    blank = (i for i, line in enumerate(lines) if not line.strip().strip("-"))
    last = max(blank, default=0)
    return "\n".join(lines[:last]) if last > 0 else body
