"""Options of the readers and writers of formats."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from .._errors import DataFormatError
from .formats import FORMATS

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class ReadOptions:
    """Options of readers; ``FORMATS`` lists those that each format takes."""

    layer: str | None = None
    labels: Sequence[str] = ()
    index: str | int | bool | None = None
    drop: Sequence[str] = ()
    header: bool | None = None
    delimiter: str | None = None
    triples: bool | Sequence[str] | None = None
    decimal: str | None = None
    thousands: str | None = None
    empty: str | None = None
    text: Sequence[str] = ()
    sheet: str | None = None
    metadata: str | os.PathLike[str] | None = None
    metadata_index: str | None = None
    encoding: str | None = None
    text_options: Mapping[str, Any] | None = None
    # Not of a format: how many bytes a file may unpack to.
    max_unpacked: int | None = None

    def check(self, name: str, *, transpose: bool) -> None:
        """Refuse an option that is given in vain."""
        if transpose and self.labels:
            message = (
                "labels= are labels of lines, which transpose=True makes columns; "
                "labels of what becomes rows go by metadata="
            )
            raise DataFormatError(message)
        of_any = {"max_unpacked", "metadata", "metadata_index"}
        if self.metadata is not None:
            # It may be that of the table of metadata.
            of_any.add("encoding")
        for field in fields(self):
            if field.name in of_any:
                continue
            given = getattr(self, field.name) not in (field.default, [])
            if given and field.name not in FORMATS[name].options:
                fit = [
                    key for key, kind in FORMATS.items() if field.name in kind.options
                ]
                advice = "leave it out or pass another format="
                if field.name == "labels":
                    advice = "labels in a file of their own go by metadata="
                message = (
                    f"{field.name}= does not apply to {name}, only to "
                    f"{', '.join(fit)}; {advice}"
                )
                raise DataFormatError(message)


@dataclass(frozen=True)
class WriteOptions:
    """Options of writers: the column of the first labels, and the kind of table."""

    labels: str | None = None
    triples: bool = False
