"""The file that a command reads, and the options that say how."""

from __future__ import annotations

import functools
import os
import warnings
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .._errors import DataFormatError, parameter
from ..io.formats import FORMATS, find_format
from ._options import READING, given, options
from ._output_paths import digest
from ._printing import listed, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ..io.metadata import Metadata
    from ..table import CountTable


METADATA = ("metadata", "metadata_index")


def labels_of_rows(
    rows: Iterable[str], labels: Sequence[str], options: Mapping[str, Any]
) -> dict[str, list[str | None]]:
    """Those of the labels that the table of these options has of rows."""
    found, unmatched = _beside(options, labels).of_rows(rows)
    if unmatched:
        warnings.warn(unmatched, UserWarning, stacklevel=2)
    return found


def matched_rows(
    rows: Iterable[str], labels: Sequence[str], options: Mapping[str, Any]
) -> Any:
    """Whether the table of these options, which has these labels, has each row."""
    if "metadata" not in options:
        message = "only_matched= is about metadata=, which is not given."
        raise ValueError(message)
    beside, names = _beside(options, labels), list(rows)
    beside.of_rows(names)  # says why there are none
    return beside.has(names)


def _beside(options: Mapping[str, Any], labels: Sequence[str]) -> Metadata:
    from ..io.formats import ReadOptions
    from ..io.metadata import read_metadata

    asked: dict[str, Any] = {name: options.get(name) for name in METADATA}
    return read_metadata(str(asked["metadata"]), labels, ReadOptions(**asked))


# Options of columns of what is given of rows, by the argument of a fit.
_OF_ROWS = {"batch": "--batch", "known_labels": "--known"}
# Batch and known cluster of each row, None where blank.
GivenRows = dict[str, Any]


class InputFile(NamedTuple):
    """A file of counts, how to read it, and columns of batches and known clusters."""

    path: Path
    options: dict[str, Any]
    batch: str | None = None
    known: str | None = None

    @property
    def row_columns(self) -> dict[str, str]:
        """Columns of what is given of rows, by the argument of a fit."""
        columns = {"batch": self.batch, "known_labels": self.known}
        return {name: column for name, column in columns.items() if column is not None}

    def read(self) -> CountTable:
        """Read the table; what is given of rows are the last of its labels."""
        from ..io import read_counts

        options = dict(self.options)
        transform = options.pop("transform", None)
        asked = options.get("labels", ())
        beside = [name for name in self.row_columns.values() if name not in asked]
        if beside:
            options["labels"] = (*asked, *dict.fromkeys(beside))
        with self.named_as_asked(beside):
            table = read_counts(self.path, **options)
        if transform is not None:
            from ..preprocessing import SublinearCounts

            table = SublinearCounts(transform, table=True).transform(table)
        return table

    @contextmanager
    def named_as_asked(self, columns: Sequence[str]) -> Iterator[None]:
        """Say of these columns that are not there by which option they were named."""
        try:
            yield
        except DataFormatError as error:
            text = error.marked
            for argument, column in self.row_columns.items():
                if column in columns:
                    unknown = f"no column {column!r} for"
                    said = f"{unknown} {_OF_ROWS[argument]}"
                    text = text.replace(f"{unknown} {parameter('labels')}", said)
            raise DataFormatError(text) from error

    def read_rows(self) -> tuple[CountTable, GivenRows]:
        """Read the table and what is given of its rows."""
        return self.parted(self.read())

    def parted(self, table: CountTable) -> tuple[CountTable, GivenRows]:
        """Take what is given of rows out of the labels, unless it was asked for."""
        if not self.row_columns:
            return table, {}
        kinds = table.label_kinds
        given: GivenRows = {
            name: [text or None for text in kinds[column]]
            for name, column in self.row_columns.items()
        }
        if "batch" in given:
            beside = "metadata" in self.options and "only_matched" not in self.options
            leave_out = ", or leave these rows out with --only-matched"
            where = leave_out if beside else ""
            self.check_batch(given["batch"], table.row_names, where)
        labels = {name: kinds[name] for name in self.options.get("labels", ())}
        return table.with_labels(labels), given

    def check_batch(
        self, batch: Sequence[str | None], names: Any, leave_out: str = ""
    ) -> None:
        """Refuse rows without a batch, of which a table of metadata may lack some."""
        lacking = [i for i, each in enumerate(batch) if each is None]
        if lacking:
            some = [str(i) if names is None else names[i] for i in lacking]
            where = self.options.get("metadata", self.path)
            message = (
                f"{number_of(len(lacking), 'row')} of {len(batch)} without a batch in "
                f"{where} ({listed(some, 3)}): fill it in, for example with "
                f"'unknown'{leave_out}."
            )
            raise ValueError(message)

    def read_by_words(self, words: list[str]) -> CountTable:
        """Read the table, of texts these words alone."""
        from ..io.errors import file_errors

        with file_errors(self.path):
            name = find_format(self.path, self.options.get("format"))
        if "text_options" not in FORMATS[name].options:
            return self.read()
        chosen = self.options.get("text_options", {}) | {"vocabulary": words}
        return self._replace(options=self.options | {"text_options": chosen}).read()

    def facts(self) -> dict[str, Any]:
        """What a later reader needs to know about the file."""
        return {
            "path": str(self.path),
            "sha256": self.sha256(),
            "options": self.options,
            **given({"batch": self.batch, "known": self.known}),
        }

    def sha256(self) -> str:
        """Hash of a file, or of the names and contents of a folder."""
        if not self.path.is_dir():
            return digest(self.path)
        import hashlib

        total = hashlib.sha256()
        for path in sorted(p for p in self.path.rglob("*") if p.is_file()):
            name = path.relative_to(self.path).as_posix()
            total.update(os.fsencode(name) + b"\0" + digest(path).encode() + b"\n")
        return total.hexdigest()


def source_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the argument FILE and the options of reading, as ``source``."""

    @functools.wraps(function)
    def wrapped(*, file: Path, **values: Any) -> Any:
        asked = _read_options({name: values.pop(name) for name in READING})
        rows = values.pop("batch", None), values.pop("known", None)
        return function(source=InputFile(file, asked, *rows), **values)

    argument = click.argument("file", type=click.Path(path_type=Path))
    return argument(options(*READING, "max_unpacked")(wrapped))


def _read_options(asked: dict[str, Any]) -> dict[str, Any]:
    """Options of ``read_counts`` that were set on the command line."""
    index = asked["index"]
    if index == "none":
        asked["index"] = False
    elif index is not None and index.isdecimal():
        asked["index"] = int(index)
    named = tuple(filter(None, asked.pop("named_triples") or ()))
    asked["triples"] = named or asked["triples"]
    for flag in ("transpose", "only_matched"):
        asked[flag] = asked[flag] or None
    language = asked.pop("language")
    texts = {"max_features": asked.pop("max_words"), "stem": language}
    asked["text_options"] = given(texts) or None
    if language == "none":
        asked["text_options"]["stem"] = None
    return given(asked)


def with_named_triples(arguments: Sequence[str]) -> list[str]:
    """Tell ``--triples ROW COLUMN [COUNT]`` from the option without names.

    No command takes three arguments, so that three words behind it are names; two are
    unless one is a file.
    """
    words = list(arguments)
    if "--triples" in words:
        at = words.index("--triples")
        behind = list(takewhile(lambda word: not word.startswith("-"), words[at + 1 :]))
        if len(behind) >= 3:
            words[at] = "--named-triples"
        elif len(behind) == 2 and not any(Path(word).exists() for word in behind):
            words[at : at + 3] = ["--named-triples", *behind, ""]
    return words
