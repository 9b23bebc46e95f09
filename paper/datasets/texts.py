"""Parsers of the paper's texts: documents with their names and classes."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from .archives import members

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WEBKB_CLASSES = ("course", "department", "faculty", "project", "staff", "student")
# A header with a tag in it stays, as in the paper's counts.
_HEADER = re.compile(r"MIME-Version:[^<]*<html>")
_TAG = re.compile(r"<[^>]*>")
_DIGIT = re.compile(r"\d")
REUTERS_TOPICS = {"acq", "crude", "earn", "grain", "money-fx"}
_ARTICLE = re.compile(r'<REUTERS [^>]*NEWID="(\d+)">(.*?)</REUTERS>', re.DOTALL)
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>")
_TOPIC = re.compile(r"<D>(.*?)</D>")
_TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
_BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
_TEXT = re.compile(r"<TEXT.*?(?=</TEXT>)", re.DOTALL)
_LAST_LINE = re.compile(r"\n Reuter\s*(&#3;)?\s*$")
# The rules by which scikit-learn removes quotes.
_QUOTE = re.compile(
    r"(writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^\||^>)"
)


class Document(NamedTuple):
    """A text, its name and its class."""

    name: str
    label: str
    text: str


def documents(
    path: Path, limit: int, label: Callable[[str], str | None]
) -> list[Document]:
    """Members of an archive that have a label, by name; latin-1 reads any bytes."""
    found = []
    with members(path, limit) as each:
        for name, file in each:
            given = label(name)
            if given is not None:
                text = file.read().decode("latin-1")
                found.append(Document(name, given, text))
    return sorted(found)


def bbc(paths: list[Path], limit: int) -> list[Document]:
    """Articles in one folder for each class."""
    return documents(paths[0], limit, _bbc_class)


def _bbc_class(name: str) -> str | None:
    path = PurePosixPath(name)
    return path.parent.name if path.stem.isdigit() and path.suffix == ".txt" else None


def webkb(paths: list[Path], limit: int) -> list[Document]:
    """Pages in folders by class and university, without "other".

    The header up to the tag ``<html>``, all tags and all digits are removed.
    """
    pages = documents(paths[0], limit, _webkb_class)
    return [page._replace(text=_webkb_words(page.text)) for page in pages]


def _webkb_class(name: str) -> str | None:
    """The second folder, as in webkb/course/cornell/page."""
    folders = name.removeprefix("./").split("/")
    return folders[1] if len(folders) > 2 and folders[1] in WEBKB_CLASSES else None


def _webkb_words(page: str) -> str:
    return _DIGIT.sub("", _TAG.sub("", _HEADER.sub("", page)))


def reuters(paths: list[Path], limit: int) -> list[Document]:
    """Articles with exactly one of five topics, from SGML files.

    Title and body are counted, without dateline and the closing line "Reuter". Of a
    brief article that is the first line of its title; of one that the publisher left
    unprocessed it is all from its ``TEXT`` tag on.
    """
    files = documents(
        paths[0], limit, lambda name: name if name.endswith(".sgm") else None
    )
    return [
        Document(number, topic, _reuters_words(article))
        for file in files
        for number, article in _ARTICLE.findall(file.text)
        if (topic := _only_topic(article))
    ]


def _only_topic(article: str) -> str | None:
    found = [
        topic
        for topic in _TOPIC.findall(_first(_TOPICS, article))
        if topic in REUTERS_TOPICS
    ]
    return found[0] if len(found) == 1 else None


def _reuters_words(article: str) -> str:
    if '<TEXT TYPE="BRIEF">' in article:
        return _first(_TITLE, article).partition("\n")[0]
    if '<TEXT TYPE="UNPROC">' in article:
        text = _TEXT.search(article)
        return _LAST_LINE.sub("", text.group() if text else "")
    return f"{_first(_TITLE, article)}. {_LAST_LINE.sub('', _first(_BODY, article))}"


def _first(pattern: re.Pattern[str], article: str) -> str:
    found = pattern.search(article)
    return found.group(1) if found else ""


def newsgroups(paths: list[Path], limit: int) -> list[Document]:
    """Messages for training, then those for testing, by the date of the collection.

    Headers, footers and quotes are removed by the rules of scikit-learn, which leaves
    some messages without any words.
    """
    messages = documents(paths[0], limit, _group)
    messages.sort(key=lambda message: ("bydate-test/" in message.name, message.name))
    return [message._replace(text=_message_words(message.text)) for message in messages]


def _group(name: str) -> str | None:
    path = PurePosixPath(name)
    return path.parent.name if path.name.isdigit() else None


def _message_words(message: str) -> str:
    _, _, body = message.partition("\n\n")
    lines = _without_footer(body).split("\n")
    return "\n".join(line for line in lines if not _QUOTE.search(line))


def _without_footer(body: str) -> str:
    """Cut off what follows the last line that is blank or a row of dashes."""
    lines = body.strip().split("\n")
    blank = (i for i, line in enumerate(lines) if not line.strip().strip("-"))
    last = max(blank, default=0)
    return "\n".join(lines[:last]) if last > 0 else body
