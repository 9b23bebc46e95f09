"""Texts, whose words are counted: of a folder, a file a row, or of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import DataFormatError, ParameterError, parameter, refuse, shown
from .._labels import encoded, labels_of_kinds
from .content import FileContent
from .files import recoded
from .numbers import is_number
from .roles import CALLED_COUNTS, given_index, names_rows, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from .formats import ReadOptions

# What a column must have on average to be plainly one of text.
_WORDS = 4
_LETTERS = 20
# A table with more numbers than that is one of counts whose rows have long names.
_NUMBERS = 2
# What a column of titles beside the text is called.
_TITLES = ("title", "headline", "subject", "titel", "betreff", "titre", "titolo")


def read(path: Path, options: ReadOptions) -> FileContent:
    names = sorted(text_files(path))
    if not names:
        refuse("it does not contain .txt files")
    labels = [name.parts[0] if len(name.parts) > 1 else None for name in names]
    found = encoded(labels) if any(labels) else {}
    rows = [name.as_posix() for name in names]
    texts = [_text(path / name, options.encoding) for name in names]
    return _counted(texts, rows, options, found)


def text_files(folder: Path) -> Iterator[Path]:
    """Names of the .txt files in a folder and its folders, but for hidden ones."""
    for file in folder.rglob("*.txt"):
        name = file.relative_to(folder)
        if file.is_file() and not any(part.startswith(".") for part in name.parts):
            yield name


def _text(path: Path, encoding: str | None) -> str:
    with path.open("rb") as file:
        content = recoded(file, encoding).read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = (
            f"line {line} of {path.name} is not in UTF-8 "
            f"(byte {content[error.start]:#x}); save the file as UTF-8, or pass "
            f"{parameter('encoding')}, such as 'cp1252'"
        )
        raise DataFormatError(message) from error


def _counted(
    texts: Sequence[str],
    rows: Sequence[str] | None,
    options: ReadOptions,
    labels: dict[str, Any],
    description: str = "",
    titles: Sequence[str] = (),
) -> FileContent:
    """Count the terms of texts as the options say.

    A text without a title is shown by its first line.
    """
    from ..text import count_terms, first_line

    try:
        table = count_terms(texts, **dict(options.text_options or {}))
    except ParameterError as error:
        message = error.spelled(lambda given: parameter(*given)).removesuffix(".")
        raise DataFormatError(message) from error
    except (TypeError, ValueError) as error:
        message = str(error).removesuffix(".")
        raise DataFormatError(message) from error
    names: dict[str, Any] = {
        "column_names": table.column_names,
        "row_titles": table.row_titles,
        "description": description,
    }
    if titles:
        pairs = zip(titles, names["row_titles"].tolist(), strict=True)
        named = [first_line(title) or line for title, line in pairs]
        names["row_titles"] = np.array(named, dtype=object)
    return FileContent(table.counts, rows, **names, **labels)


def is_text(values: Sequence[Any]) -> bool:
    """Whether values of a column are plainly texts: sentences, mostly different."""
    texts = [value for value in values if isinstance(value, str) and value.strip()]
    if 2 * len(texts) < len(values) or not texts:
        return False
    words = sum(len(text.split()) for text in texts) / len(texts)
    letters = sum(map(len, texts)) / len(texts)
    different = 2 * len(set(texts)) >= len(texts)
    return words >= _WORDS and letters >= _LETTERS and different


def find_text(
    header: Sequence[str] | None,
    columns: Sequence[Sequence[Any]],
    options: ReadOptions,
) -> tuple[int, ...]:
    """Places of the columns of text: those that are named, or one by first values.

    Nothing if no column is plainly text. A title beside it is not looked at.
    """
    if options.text:
        return tuple(place_of(header, name, "text") for name in options.text)
    if options.triples is not None or header is None or not columns:
        return ()
    others = {*options.labels, options.index, *options.drop}
    found = [
        place
        for place, values in enumerate(columns)
        if header[place] not in others and place != options.index and is_text(values)
    ]
    if len(found) > 1:
        found = [place for place in found if not is_title(header[place])] or found
    if len(found) > 1:
        names = [header[place] for place in found]
        refuse(
            f"{len(found)} columns contain text. Pass those whose words to count: "
            f"{parameter('text', names)}"
        )
    if not found:
        return ()
    numbers = sum(
        all(map(_is_number, values))
        for name, values in zip(header, columns, strict=False)
        if name not in others and not names_rows(name)
    )
    if numbers > _NUMBERS or _are_triples(header, columns, found[0]):
        return ()
    return (found[0],)


def is_title(name: str) -> bool:
    """Whether a column of this name has titles of texts."""
    return name.strip().lower() in _TITLES


def _are_triples(
    header: Sequence[str], columns: Sequence[Sequence[Any]], text: int
) -> bool:
    """Whether texts are long names of columns, with a count of a row beside each."""
    if len(columns) != 3 or text != 1 or not all(map(_is_number, columns[2])):
        return False
    repeated = len(set(columns[0])) < len(columns[0])
    return repeated or header[2].strip().lower() in CALLED_COUNTS


def _is_number(value: Any) -> bool:
    return value is not None and is_number(str(value))


@dataclass(frozen=True)
class TextPlaces:
    """Where text, titles, names and labels stand; other columns are left out."""

    text: tuple[int, ...]
    title: int | None
    index: int | None
    labels: Mapping[str, int]
    called: str

    @property
    def wanted(self) -> list[int]:
        """Places of all that is taken."""
        beside = [place for place in (self.index, self.title) if place is not None]
        return list(dict.fromkeys([*self.text, *self.labels.values(), *beside]))

    @classmethod
    def find(
        cls, header: list[str], text: tuple[int, ...], options: ReadOptions
    ) -> TextPlaces:
        """Find columns by their names; a first one called "id" names the rows."""
        for name in options.drop:
            place_of(header, name, "drop")
        labels = {name: place_of(header, name, "labels") for name in options.labels}
        if options.index is not None:
            index = given_index(header, len(header), options.index)
        else:
            named = names_rows(header[0]) and 0 not in (*text, *labels.values())
            index = 0 if named else None
        names = " and ".join(shown(header[place]) for place in text)
        called = f"words of column{'s' * (len(text) > 1)} {names}"
        title = next((j for j, name in enumerate(header) if is_title(name)), None)
        return cls(text, None if title in text else title, index, labels, called)


def check_text_options(options: ReadOptions) -> None:
    """Refuse options of texts for a table of counts; a vocabulary may go with any."""
    given = set(options.text_options or {}) - {"vocabulary"}
    if given:
        named = ", ".join(parameter(name) for name in sorted(given))
        refuse(
            f"{named} applies to texts, but this is a table of counts. Name a column "
            f"of text with {parameter('text')}"
        )


def counted_texts(
    places: TextPlaces, columns: Mapping[int, list[Any]], options: ReadOptions
) -> FileContent:
    """Count the words of some columns, of which these are the values by place."""
    texts: list[str] = []
    for parts in zip(*(columns[place] for place in places.text), strict=True):
        for part in parts:
            if part is not None and not isinstance(part, str):
                row = len(texts) + 1
                refuse(f"row {row} holds {shown(str(part))}, which is not text")
        texts.append("\n".join(filter(None, parts)))
    rows = None if places.index is None else row_names(columns[places.index])
    kinds = {kind: columns[place] for kind, place in places.labels.items()}
    titles = [] if places.title is None else columns[places.title]
    return _counted(
        texts,
        rows,
        options,
        labels_of_kinds(kinds),
        places.called,
        ["" if title is None else str(title) for title in titles],
    )


def row_names(values: list[Any]) -> list[str]:
    """Names of rows, which all have one."""
    if None in values:
        refuse(f"the name of row {values.index(None) + 1} is empty")
    return [str(name) for name in values]
