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

from .._errors import DataFormatError
from .._parameters import SUBLINEAR
from ..io.formats import FORMATS, find_format
from ._output_paths import digest
from ._printing import listed, number_of
from ._shared_options import AT_LEAST_ONE, max_unpacked_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ..table import CountTable

METADATA_OPTIONS = {
    "metadata": click.option(
        "--metadata",
        type=click.Path(),
        metavar="FILE",
        help="Table with --labels and --batch of the rows, found by the names in its "
        "first column: csv, tsv, xlsx, ods or parquet.",
    ),
    "metadata_index": click.option(
        "--metadata-index",
        metavar="COLUMN",
        help="Column of row names in --metadata. [default: the first]",
    ),
}


def labels_of_rows(
    rows: Iterable[str], labels: Sequence[str], options: Mapping[str, Any]
) -> dict[str, list[str | None]]:
    """Those of the labels that the table of these options has of rows."""
    from ..io.format_options import ReadOptions
    from ..io.metadata import read_metadata

    given: dict[str, Any] = {name: options.get(name) for name in METADATA_OPTIONS}
    beside = read_metadata(str(given["metadata"]), labels, ReadOptions(**given))
    found, unmatched = beside.of_rows(rows)
    if unmatched:
        warnings.warn(unmatched, UserWarning, stacklevel=2)
    return found


TEXT_OPTIONS = {
    "language": click.option(
        "--language",
        metavar="NAME",
        help="Language of texts, to count words of one stem together, or none. "
        "[default: english]",
    ),
    "stop_words": click.option(
        "--stop-words",
        metavar="FILE",
        help="Words to leave out of texts, a line each; or english for common ones.",
    ),
    "max_words": click.option(
        "--max-words",
        type=AT_LEAST_ONE,
        help="Most frequent words of texts to keep. [default: 2000]",
    ),
    "min_documents": click.option(
        "--min-documents",
        type=AT_LEAST_ONE,
        help="Leave out words that fewer texts hold. [default: 1]",
    ),
    "ngrams": click.option(
        "--ngrams",
        type=AT_LEAST_ONE,
        help="Count sequences of up to so many words of texts. [default: 1]",
    ),
}


def text_options(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of texts out of those given, as ``count_terms`` names them."""
    language, stop_words = given.pop("language"), given.pop("stop_words")
    found = {
        "max_features": given.pop("max_words"),
        "min_documents": given.pop("min_documents"),
        "ngrams": given.pop("ngrams"),
        "stop_words": None if stop_words is None else _stop_words(stop_words),
    }
    found = {name: value for name, value in found.items() if value is not None}
    if language is not None:
        found["stem"] = None if language == "none" else language
    return found


def _stop_words(given: str) -> str | list[str]:
    """Words of a file, or the name of a list that scikit-learn has."""
    if given == "english":
        return given
    path = Path(given)
    if not path.is_file():
        message = f"--stop-words {given} is neither english nor a file of words."
        raise click.UsageError(message)
    return path.read_text(encoding="utf-8-sig").split()


NAMED_TRIPLES = "--named-triples"
_OPTIONS = {
    "format": click.option(
        "--format",
        type=click.Choice(list(FORMATS)),
        help="Kind of file. [default: by its name and content]",
    ),
    "layer": click.option(
        "--layer",
        metavar="NAME",
        help="Matrix of an h5ad or zarr [default: counts, else X if it is whole], or "
        "genome or kind of features of a 10x .h5 file.",
    ),
    "labels": click.option(
        "--labels",
        metavar="COLUMN",
        multiple=True,
        help="Column of labels, such as cell type or donor; it is not clustered, only "
        "compared with. Repeats.",
    ),
    **METADATA_OPTIONS,
    "only_matched": click.option(
        "--only-matched", is_flag=True, help="Leave out rows that --metadata lacks."
    ),
    "index": click.option(
        "--index", metavar="COLUMN", help="Column of row names. [default: found]"
    ),
    "no_index": click.option(
        "--no-index", is_flag=True, help="There are no row names."
    ),
    "drop": click.option(
        "--drop", metavar="COLUMN", multiple=True, help="Column to leave out. Repeats."
    ),
    "delimiter": click.option(
        "--delimiter",
        metavar="CHAR",
        help="Between the fields of a csv. [default: found]",
    ),
    "header": click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a csv names the columns. [default: it does]",
    ),
    "triples": click.option(
        "--triples/--wide",
        default=None,
        help="Whether lines are row, column, count [default: found]; of more columns "
        "--triples ROW COLUMN COUNT names these.",
    ),
    "named_triples": click.option(NAMED_TRIPLES, nargs=3, hidden=True),
    "decimal": click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Before the fractions of a table. [default: .]",
    ),
    "thousands": click.option(
        "--thousands",
        type=click.Choice([".", ",", " ", "'"]),
        help="Between the thousands of a table. [default: nothing]",
    ),
    "empty": click.option(
        "--empty",
        type=click.Choice(["zero"]),
        help="Take empty cells of a table, and NA, for zero. [default: an error]",
    ),
    "text": click.option(
        "--text",
        metavar="COLUMN",
        multiple=True,
        help="Column or field of text, whose words are counted. Repeats. "
        "[default: found]",
    ),
    "sheet": click.option(
        "--sheet",
        metavar="NAME",
        help="Sheet of an xlsx or ods file. [default: the first]",
    ),
    "encoding": click.option(
        "--encoding", metavar="NAME", help="Of a text file. [default: utf-8]"
    ),
    "transform": click.option(
        "--transform",
        type=click.Choice(SUBLINEAR),
        help="Take logarithms or square roots of the counts. [default: counts]",
    ),
    "transpose": click.option(
        "--transpose", is_flag=True, help="Turn round a file of columns x rows."
    ),
}
# Options of columns of what is given of rows, by the argument of a fit.
_OF_ROWS = {"batch": "--batch", "known_labels": "--known"}
# Batch and known cluster of each row (None where blank), and whether it is held.
GivenRows = dict[str, Any]
_NOT_READING = ("no_index", "named_triples", "transform")
READING = tuple(name for name in _OPTIONS if name not in _NOT_READING)
_OPTIONS |= TEXT_OPTIONS


class InputFile(NamedTuple):
    """A file of counts, how to read it, and columns of batches and known clusters."""

    path: Path
    options: dict[str, Any]
    batch: str | None = None
    known: str | None = None
    hold: bool = True

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
        if transform is None:
            return table
        from ..preprocessing import SublinearCounts

        transformed: CountTable = SublinearCounts(transform, table=True).transform(
            table
        )
        return transformed

    @contextmanager
    def named_as_asked(self, columns: Sequence[str]) -> Iterator[None]:
        """Say of these columns that are not there by which option they were named."""
        try:
            yield
        except DataFormatError as error:
            text = str(error)
            for argument, column in self.row_columns.items():
                if column in columns:
                    unknown = f"no column {column!r} for"
                    said = f"{unknown} {_OF_ROWS[argument]}"
                    text = text.replace(f"{unknown} labels=", said)
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
            leave_out = ", or leave out what it lacks by --only-matched"
            where = leave_out if beside else ""
            self.check_batch(given["batch"], table.row_names, where)
        if not self.hold:
            given["hold_labels"] = False
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
                f"{where} ({listed(some, 3)}): write one there for each, such as "
                f"unknown{leave_out}."
            )
            raise ValueError(message)

    def read_by_words(self, words: list[str]) -> CountTable:
        """Read the table, of texts these words alone."""
        options = dict(self.options)
        if self._may_hold_texts():
            chosen = dict(options.get("text_options") or {}) | {"vocabulary": words}
            options["text_options"] = chosen
        return self._replace(options=options).read()

    def _may_hold_texts(self) -> bool:
        from ..io.errors import file_errors

        with file_errors(self.path):
            name = find_format(self.path, self.options.get("format"))
        return "text_options" in FORMATS[name].options

    def facts(self) -> dict[str, Any]:
        """What a later reader needs to know about the file."""
        return {
            "path": str(self.path),
            "sha256": self.sha256(),
            "options": self.options,
            **({} if self.batch is None else {"batch": self.batch}),
            **({} if self.known is None else {"known": self.known}),
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
    def wrapped(*, file: Path, **given: Any) -> Any:
        options = _read_options({name: given.pop(name) for name in _OPTIONS})
        return function(source=InputFile(file, options), **given)

    decorated = max_unpacked_option(wrapped)
    for option in reversed(_OPTIONS.values()):
        decorated = option(decorated)
    return click.argument("file", type=click.Path(path_type=Path))(decorated)


def _read_options(given: dict[str, Any]) -> dict[str, Any]:
    """Options of ``read_counts`` that were set on the command line."""
    index = given["index"]
    if given.pop("no_index"):
        given["index"] = False
    elif index is not None and index.isdecimal():
        given["index"] = int(index)
    given["triples"] = given.pop("named_triples") or given["triples"]
    for flag in ("transpose", "only_matched"):
        given[flag] = given[flag] or None
    given["text_options"] = text_options(given) or None
    return {name: value for name, value in given.items() if value not in (None, ())}


def with_named_triples(arguments: Sequence[str]) -> list[str]:
    """Tell ``--triples ROW COLUMN COUNT`` from the option without names.

    No command takes three arguments, so that three words behind it are names.
    """
    words = list(arguments)
    if "--triples" in words:
        at = words.index("--triples")
        behind = list(takewhile(lambda word: not word.startswith("-"), words[at + 1 :]))
        if len(behind) >= 3:
            words[at] = NAMED_TRIPLES
    return words
