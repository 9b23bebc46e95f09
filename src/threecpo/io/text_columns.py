"""Columns of text in tables: which one it is, and what becomes of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._errors import DataFormatError
from .._labels import labels_of_kinds
from ._file_content import shown
from ._texts import counted
from .delimited.column_roles import is_number, names_rows, place_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ._file_content import FileContent
    from .format_options import ReadOptions

# What a column must have on average to be plainly one of text.
_WORDS = 4
_LETTERS = 20
# A table with more numbers than that is one of counts whose rows have long names.
_NUMBERS = 2
_CALLED_COUNTS = ("count", "counts", "n", "quantity", "qty", "menge", "anzahl")


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
) -> int | None:
    """Place of the column of text: the one that is named or, of some first values.

    None if no column is plainly text. Columns with another part are none.
    """
    if options.text is not None:
        return place_of(header, options.text, "text")
    if options.triples is not None or header is None:
        return None
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
        names = ", ".join(shown(header[place]) for place in found)
        message = (
            f"its columns {names} hold text; pass text= with the one whose words shall "
            "be counted"
        )
        raise DataFormatError(message)
    if not found:
        return None
    numbers = sum(
        all(map(_is_number, values))
        for name, values in zip(header, columns, strict=False)
        if name not in others and not names_rows(name)
    )
    if numbers > _NUMBERS or _are_triples(header, columns, found[0]):
        return None
    return found[0]


def _are_triples(
    header: Sequence[str], columns: Sequence[Sequence[Any]], text: int
) -> bool:
    """Whether texts are long names of columns, with a count of a row beside each."""
    if len(columns) != 3 or text != 1 or not all(map(_is_number, columns[2])):
        return False
    repeated = len(set(columns[0])) < len(columns[0])
    return repeated or header[2].strip().lower() in _CALLED_COUNTS


def _is_number(value: Any) -> bool:
    return value is not None and is_number(str(value))


@dataclass(frozen=True)
class TextPlaces:
    """Where text, names and labels stand; all other columns are left out."""

    text: int
    index: int | None
    labels: Mapping[str, int]
    called: str

    @classmethod
    def find(
        cls, header: Sequence[str] | None, text: int, options: ReadOptions
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
            named = header is not None and text != 0 and names_rows(header[0])
            index = 0 if (named or given) and 0 not in labels.values() else None
        elif given is not False:
            index = given
        name = "text" if header is None else shown(header[text])
        return cls(text, index, labels, f"words of column {name}")


def counted_texts(
    places: TextPlaces,
    texts: list[str],
    names: list[str],
    labels: Mapping[str, Sequence[Any]],
    options: ReadOptions,
) -> FileContent:
    """Count the words of a column."""
    rows = None if places.index is None else names
    return counted(texts, rows, options, labels_of_kinds(labels), places.called)


def check_text_options(options: ReadOptions) -> None:
    """Refuse options of texts for a table of counts; a vocabulary may go with any."""
    given = set(options.text_options or {}) - {"vocabulary"}
    if given:
        named = ", ".join(f"{name}=" for name in sorted(given))
        message = (
            f"it is a table of counts, to which {named} of texts "
            "does not apply; pass text= with the name of a column of text"
        )
        raise DataFormatError(message)
