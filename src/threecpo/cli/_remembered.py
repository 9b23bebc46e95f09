"""How the table of a results folder was read, for commands that read it or its like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._errors import DataFormatError
from .._parameters import SUBLINEAR
from ..io.formats import FORMATS, find_format
from ._input_file import METADATA, InputFile
from ._output_paths import RUN_FILE, is_results, read_run
from ._run_facts import RUN_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..table import CountTable


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


# What each option of texts, and each option, may be.
_OF_TEXTS: dict[str, Callable[[Any], bool]] = {
    "max_features": _is_whole,
    "min_documents": _is_whole,
    "ngrams": _is_whole,
    "stop_words": lambda value: _is_text(value) or _are_names(value),
    "stem": lambda value: value is None or _is_text(value),
}
_KINDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("layer", "delimiter", "decimal", "thousands", "empty"), _is_text),
    **dict.fromkeys(("sheet", "encoding", "metadata", "metadata_index"), _is_text),
    **dict.fromkeys(("header", "transpose", "only_matched"), _is_flag),
    **dict.fromkeys(("labels", "drop", "text"), _are_names),
    "format": lambda value: value in list(FORMATS),
    "transform": lambda value: value in SUBLINEAR,
    "index": lambda value: _is_text(value) or _is_flag(value) or _is_whole(value),
    "triples": lambda value: _is_flag(value) or _are_names(value),
    "text_options": lambda value: _fit(value, _OF_TEXTS),
}
_OF_ROWS: dict[str, Callable[[Any], bool]] = dict.fromkeys(("batch", "known"), _is_text)
# Options that make others of the fit void where they are typed.
_INSTEAD_OF = {
    "triples": ("text", "text_options", "index", "labels"),
    **dict.fromkeys(("text", "index", "labels"), ("triples",)),
}
# Columns that other files may lack.
_MAY_BE_ABSENT = ("labels", "drop", "index")
_OF_ANY = ("transpose", "transform")


def _fit(value: Any, kinds: Mapping[str, Callable[[Any], bool]]) -> bool:
    """Whether values by name are of their kinds."""
    return isinstance(value, dict) and all(
        name in kinds and kinds[name](each) for name, each in value.items()
    )


def remembered(folder: Path) -> InputFile:
    """The file of a fit and how it was read, every value checked."""
    facts = read_run(folder)
    found = facts.get("input", {})
    kinds = {"options": lambda value: _fit(value, _KINDS), "path": _is_text, **_OF_ROWS}
    known = {n: each for n, each in found.items() if n in kinds} if found else {}
    if facts.get("version") != RUN_VERSION or not _fit(known, kinds):
        message = f"{folder / RUN_FILE} is damaged; run threecpo fit again."
        raise ValueError(message)
    options = dict(known.get("options", {}))
    if "metadata" in options:
        options["metadata"] = str(_beside(folder, options["metadata"]))
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
    if not is_results(folder) or not (model.is_dir() or model.name == "model.npz"):
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
