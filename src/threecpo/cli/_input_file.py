"""The file that a command reads, and how: by options, or as a fit has read it."""

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
from .._parameters import SUBLINEAR
from ..io.formats import FORMATS, ReadOptions, find_format
from ._options import READING, given, options
from ._output_paths import RUN_FILE, RUN_VERSION, digest, read_run, run_of
from ._printing import fail, listed, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ..io.metadata import Metadata
    from ..table import CountTable

METADATA = ("metadata", "metadata_index")


def labels_of_rows(
    rows: Iterable[str], labels: Sequence[str], options: Mapping[str, Any]
) -> dict[str, list[str | None]]:
    """Labels of rows from the table of these options; says what did not match."""
    found, unmatched = metadata_of(options, labels).of_rows(rows)
    if unmatched:
        warnings.warn(unmatched, UserWarning, stacklevel=2)
    return found


def metadata_of(options: Mapping[str, Any], labels: Sequence[str]) -> Metadata:
    """Read those of the labels that the table of these options has."""
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
            fail(
                f"{number_of(len(lacking), 'row')} of {len(batch)} without a batch in "
                f"{where} ({listed(some, 3)}): fill it in, for example with "
                f"'unknown'{leave_out}."
            )

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


# Types or values that each option, each option of texts and each fact may have.
_KINDS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("layer", "delimiter", "decimal", "thousands", "empty"), (str,)),
    **dict.fromkeys(("sheet", "encoding", "metadata", "metadata_index"), (str,)),
    **dict.fromkeys(("header", "transpose", "only_matched"), (bool,)),
    **dict.fromkeys(("labels", "drop", "text"), (list,)),
    "format": tuple(FORMATS),
    "transform": SUBLINEAR,
    "index": (str, bool, int),
    "triples": (bool, list),
    "text_options": (dict,),
}
_OF_TEXTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("max_features", "min_documents", "ngrams"), (int,)),
    "stop_words": (str, list),
    "stem": (str, None),
}
_OF_FIT = {"options": (dict,), "path": (str,), "batch": (str,), "known": (str,)}
# Options that make others of the fit void where they are typed.
_INSTEAD_OF = {
    "triples": ("text", "text_options", "index", "labels"),
    **dict.fromkeys(("text", "index", "labels"), ("triples",)),
}
# Columns that other files may lack.
_MAY_BE_ABSENT = ("labels", "drop", "index")
_OF_ANY = ("transpose", "transform")


def _fit(values: Mapping[str, Any], kinds: Mapping[str, tuple[Any, ...]]) -> bool:
    """Whether values are of their kinds; lists hold texts, integers are natural."""
    return all(
        (type(each) in kinds.get(name, ()) or each in kinds.get(name, ()))
        and not (isinstance(each, int) and each < 0)
        and not (isinstance(each, list) and {type(text) for text in each} - {str})
        for name, each in values.items()
    )


def remembered(folder: Path) -> InputFile:
    """The file of a fit and how it was read, every value checked."""
    facts = read_run(folder)
    found = facts.get("input") or {}
    known = {name: found[name] for name in _OF_FIT if name in found}
    options = known.get("options", {})
    fits = facts.get("version") == RUN_VERSION and _fit(known, _OF_FIT)
    fits = fits and _fit(options, _KINDS)
    if not (fits and _fit(options.get("text_options", {}), _OF_TEXTS)):
        fail(f"{folder / RUN_FILE} is damaged; run threecpo fit again.")
    if "metadata" in options:
        options |= {"metadata": str(_beside(folder, options["metadata"]))}
    path = Path(known.get("path", ""))
    return InputFile(path, options, known.get("batch"), known.get("known"))


def _beside(folder: Path, name: str) -> Path:
    """A file as it was named, else beside the folder, which may have been moved."""
    path = Path(name)
    beside = folder.absolute().parent / path
    return beside if not path.exists() and beside.exists() else path


def counts_of_fit(folder: Path, counts: Path) -> InputFile:
    """The counts of a fit, perhaps in another file, read as they were then."""
    before = remembered(folder)
    options = _applicable(before.options, counts, of_rows=True)
    return before._replace(path=counts, options=options)


def like_the_fit(source: InputFile, model: Path, *, in_blocks: bool) -> InputFile:
    """Other rows, read as the table of the fit was unless options say otherwise."""
    folder = model if model.is_dir() else model.parent
    if not run_of(folder) or not (model.is_dir() or model.name == "model.npz"):
        return source
    before, typed = remembered(folder), source.options
    transform = before.options.get("transform")
    if "transform" in typed and typed["transform"] != transform:
        advice = "leave out --transform"
        if transform is not None:
            advice = f"pass --transform {transform}, or leave it out"
        message = f"The model in {folder} was fitted to other values: {advice}."
        raise click.UsageError(message)
    kept = _applicable(before.options, source.path, of_rows=False)
    if in_blocks:
        kept = {n: each for n, each in kept.items() if n in ("layer", "transform")}
    if "text_options" in kept and "text_options" in typed:
        both = kept["text_options"] | typed["text_options"]
        typed = typed | {"text_options": both}
    for name in typed:
        for void in _INSTEAD_OF.get(name, ()):
            kept.pop(void, None)
    if before.known is not None and "triples" not in kept and not in_blocks:
        kept["labels"] = [*kept.get("labels", []), before.known]
    return source._replace(
        options=kept | typed,
        batch=source.batch or (None if in_blocks else before.batch),
    )


def _applicable(
    options: Mapping[str, Any], path: Path, *, of_rows: bool
) -> dict[str, Any]:
    """Options that the format of a file has; those of rows are for the same rows."""
    from ..io.errors import file_errors

    with file_errors(path):
        has = {*FORMATS[find_format(path, None)].options, *_OF_ANY}
    if of_rows:
        has |= {*METADATA, "only_matched", "format"}
    return {name: value for name, value in options.items() if name in has}


def read_without_absent(
    source: InputFile, typed: Mapping[str, Any], read: Callable[[InputFile], CountTable]
) -> tuple[InputFile, CountTable]:
    """Read a table; columns that only the fit's table had are not looked for."""
    while True:
        try:
            return source, read(source)
        except DataFormatError as error:
            left = _without_absent(source, typed, str(error))
            if left is None:
                raise
            source = left


def _without_absent(
    source: InputFile, typed: Mapping[str, Any], message: str
) -> InputFile | None:
    """The source without the column that is missing; None if somebody asked for it."""

    def absent(name: Any, option: str) -> bool:
        # Long names are cut in messages.
        start = repr(name)[:30]
        return f"no column {start}" in message and f" for {option}" in message

    if source.batch is not None and absent(source.batch, "--batch"):
        return None if "batch" in typed else source._replace(batch=None)
    for option in _MAY_BE_ABSENT:
        given = source.options.get(option)
        names = given if isinstance(given, list) else [given]
        left = [name for name in names if not absent(name, option)]
        if option not in typed and len(left) < len(names):
            rest = {n: each for n, each in source.options.items() if n != option}
            return source._replace(options=rest | ({option: left} if left else {}))
    return None
