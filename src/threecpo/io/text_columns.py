"""Columns of text in tables: which one it is, and what becomes of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._errors import parameter, refuse, shown
from .numbers import is_number
from .roles import CALLED_COUNTS, names_rows, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .formats import ReadOptions

# What a column must have on average to be plainly one of text.
_WORDS = 4
_LETTERS = 20
# A table with more numbers than that is one of counts whose rows have long names.
_NUMBERS = 2
# What a column of titles beside the text is called.
_TITLES = ("title", "headline", "subject", "titel", "betreff", "titre", "titolo")


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
    if len(header) + 1 == len(columns):
        # R leaves out the corner above the names of rows.
        header = ["", *header]
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
        cls, header: Sequence[str] | None, text: tuple[int, ...], options: ReadOptions
    ) -> TextPlaces:
        """Find columns by their names; a first one called "id" names the rows."""
        given = options.index
        for name in options.drop:
            place_of(header, name, "drop")
        labels = {name: place_of(header, name, "labels") for name in options.labels}
        index: int | None = None
        if isinstance(given, str):
            index = place_of(header, given, "index")
        elif given is None or given is True:
            named = header is not None and 0 not in text and names_rows(header[0])
            index = 0 if (named or given) and 0 not in labels.values() else None
        elif given is not False:
            index = given
        called = words_of("column", [(header or ())[place] for place in text])
        title = next((j for j, name in enumerate(header or ()) if is_title(name)), None)
        return cls(text, None if title in text else title, index, labels, called)


def words_of(kind: str, names: Sequence[str]) -> str:
    """What is counted, for people."""
    return f"words of {kind}{'s' * (len(names) > 1)} {' and '.join(map(shown, names))}"


def joined_text(parts: Iterable[str]) -> str:
    """Texts of a row, one below the other."""
    return "\n".join(filter(None, parts))


def check_text_options(options: ReadOptions) -> None:
    """Refuse options of texts for a table of counts; a vocabulary may go with any."""
    given = set(options.text_options or {}) - {"vocabulary"}
    if given:
        named = ", ".join(parameter(name) for name in sorted(given))
        refuse(
            f"{named} applies to texts, but this is a table of counts. Name a column "
            f"of text with {parameter('text')}"
        )
