"""Reuters: newswire articles of five topics, from SGML files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ._load import Document, documents, load_texts
from ._registry import SOURCES

if TYPE_CHECKING:
    from pathlib import Path

    from ..table import CountTable
    from ._load import Home

TOPICS = {"acq", "crude", "earn", "grain", "money-fx"}
_ARTICLE = re.compile(r'<REUTERS [^>]*NEWID="(\d+)">(.*?)</REUTERS>', re.DOTALL)
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>")
_TOPIC = re.compile(r"<D>(.*?)</D>")
_TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
_BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
_TEXT = re.compile(r"<TEXT.*?(?=</TEXT>)", re.DOTALL)
_LAST_LINE = re.compile(r"\n Reuter\s*(&#3;)?\s*$")


def fetch_reuters(
    *,
    max_features: int | None = 2000,
    stem: str | None = "english",
    data_home: Home = None,
    progress: bool = False,
) -> CountTable:
    """Load Reuters: 8367 newswire articles, 2000 terms, 5 topics.

    Of all 21 578 articles those that have exactly one of the topics acq, crude, earn,
    grain and money-fx. Title and body are counted, without dateline and the closing
    line "Reuter". Of a brief article that is the first line of its title; of one that
    the publisher left unprocessed it is all from its ``TEXT`` tag on.

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
    >>> from threecpo.datasets import fetch_reuters
    >>> fetch_reuters()  # doctest: +SKIP
    CountTable('Reuters': 8367 rows x 2000 columns, 5 clusters)
    """
    source = SOURCES["reuters"]
    return load_texts(source, _parse, max_features, stem, data_home, progress=progress)


def _parse(paths: list[Path], limit: int) -> list[Document]:
    files = documents(
        paths[0], limit, lambda name: name if name.endswith(".sgm") else None
    )
    return [
        Document(number, topic, _words(article))
        for file in files
        for number, article in _ARTICLE.findall(file.text)
        if (topic := _only_topic(article))
    ]


def _only_topic(article: str) -> str | None:
    found = [
        topic for topic in _TOPIC.findall(_first(_TOPICS, article)) if topic in TOPICS
    ]
    return found[0] if len(found) == 1 else None


def _words(article: str) -> str:
    if '<TEXT TYPE="BRIEF">' in article:
        return _first(_TITLE, article).partition("\n")[0]
    if '<TEXT TYPE="UNPROC">' in article:
        text = _TEXT.search(article)
        return _LAST_LINE.sub("", text.group() if text else "")
    return f"{_first(_TITLE, article)}. {_LAST_LINE.sub('', _first(_BODY, article))}"


def _first(pattern: re.Pattern[str], article: str) -> str:
    found = pattern.search(article)
    return found.group(1) if found else ""
