"""What commands print: lines, tables, JSON; options in the words of a command.

Names come from files and may hold any character: all that is shown on a terminal goes
through ``clean``, and rich never takes them for markup.
"""

from __future__ import annotations

import json
import math
import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import click

from .._errors import as_parameter, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FEW = 10


def clean(text: object) -> str:
    """One line of printable characters."""
    return "".join(
        letter if letter.isprintable() else f"\\x{ord(letter):02x}"
        for letter in " ".join(str(text).split())
    )


def print_line(text: object = "") -> None:
    _echo(clean(text), err=False)


def print_note(text: object) -> None:
    """Print a line beside the results, on stderr."""
    _echo(f"threecpo: {clean(text)}", err=True)


def _echo(line: str, *, err: bool) -> None:
    stream = sys.stderr if err else sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding), err=err)


def fail(message: str) -> NoReturn:
    """End the command with this message."""
    raise ValueError(message)


def print_json(value: Any) -> None:
    """Print JSON; numbers that it does not know become null."""
    from .._plain import plain

    click.echo(json.dumps(plain(value), indent=2, allow_nan=False))


def print_table(columns: Mapping[str, Sequence[Any]]) -> None:
    """Print a table: numbers right with few digits, long texts cut on a terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, values in columns.items():
        right = all(isinstance(value, int | float) for value in values)
        table.add_column(
            Text(clean(name)),
            justify="right" if right else "left",
            no_wrap=True,
            min_width=max(len(_shown(value)) for value in values) if right else None,
        )
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(Text(_shown(value)) for value in row))
    print_rich(table)


def print_rich(shown: Any) -> None:
    """Print what rich draws, whose texts are clean."""
    from rich.console import Console

    # Only a terminal has an edge to cut names at.
    width = None if sys.stdout.isatty() else 10_000
    Console(file=sys.stdout, width=width, highlight=False).print(shown)


def _shown(value: Any) -> str:
    if not isinstance(value, float):
        return clean(value)
    if math.isnan(value):
        return ""
    # Losses are large and differ little.
    return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def listed(names: Iterable[object], few: int = FEW) -> str:
    all_names = [str(name) for name in names]
    text = ", ".join(all_names[:few])
    return text if len(all_names) <= few else f"{text}, … ({len(all_names)} in all)"


def number_of(count: int, thing: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def flag_of(name: str) -> str:
    """``--max-memory`` of ``max_memory``."""
    return f"--{name.replace('_', '-')}"


# Options of texts that are spelled otherwise than their parameters.
_OF_TEXTS = {"max_features": "max_words", "stem": "language"}
_QUOTED = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"


def in_options(error: object) -> str:
    """What an error or warning says, its parameters spelled as options."""
    marked = getattr(error, "marked", None)
    if marked is None:
        return as_options(str(error))
    return spelled(marked, lambda *parameter: as_options(as_parameter(*parameter)))


def as_options(text: str) -> str:
    """Write ``drop=['x']``, as functions name parameters, as ``--drop 'x'``."""
    return _parameter().sub(_as_option, text)


@cache
def _parameter() -> re.Pattern[str]:
    from ._options import BLOCKS, READING

    others = ("force", "robust", "max_unpacked", *_OF_TEXTS)
    names = "|".join((*others, *READING, *BLOCKS))
    several = rf"\[({_QUOTED}(?:, {_QUOTED})*)\]"
    return re.compile(rf"\b({names})=(?:{several}|({_QUOTED}|[\w'-]*(?:\.\d+)?))")


def _as_option(found: re.Match[str]) -> str:
    """An option as it is typed; most with several values are given several times."""
    name, several, value = found.groups()
    flag = flag_of(_OF_TEXTS.get(name, name))
    values = re.findall(_QUOTED, several) if several else [value]
    if name == "triples" and several:
        return " ".join([flag, *values])
    plain = {"": flag, "True": flag, "False": f"--no-{flag[2:]}"}
    return " ".join(plain.get(each, f"{flag} {each}") for each in values)
