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
from typing import TYPE_CHECKING, Any

import click

from .._errors import as_parameter, shown, spelled

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
    """Print a line on stdout."""
    _echo(clean(text), err=False)


def print_note(text: object) -> None:
    """Print a line beside the results, on stderr."""
    _echo(f"threecpo: {clean(text)}", err=True)


def _echo(line: str, *, err: bool) -> None:
    stream = sys.stderr if err else sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding), err=err)


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
    _print_rich(table)


def print_tree(branch: tuple[str, list[Any]]) -> None:
    """Print a text, and below it a branch for each of its own."""
    from rich.text import Text
    from rich.tree import Tree

    def grown(text: str, below: list[Any]) -> Tree:
        tree = Tree(Text(clean(text)))
        tree.children += [grown(*each) for each in below]
        return tree

    _print_rich(grown(*branch))


def _print_rich(shown: Any) -> None:
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
    """Some of many names."""
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
_QUOTED = r"(?:'[^']*'|\"[^\"]*\")"


def in_options(error: object) -> str:
    """What an error or warning says, its parameters spelled as options."""
    marked = getattr(error, "marked", None)
    return as_options(str(error)) if marked is None else spelled(marked, _spell)


def _spell(name: str, value: Any) -> str:
    """A parameter as an option, or else as Python has it."""
    from ._options import BLOCKS, READING

    if name not in ("force", "max_unpacked", *_OF_TEXTS, *READING, *BLOCKS):
        return as_parameter(name, value)
    if value is None or isinstance(value, bool):
        return _option(name, [], off=value is False)
    values = value if isinstance(value, list) else [value]
    return _option(name, [shown(v) if isinstance(v, str) else str(v) for v in values])


def _option(name: str, values: list[str], *, off: bool = False) -> str:
    """An option as it is typed; most with several values are given several times."""
    flag = flag_of(_OF_TEXTS.get(name, name))
    if not values:
        return f"--no-{flag[2:]}" if off else flag
    if name == "triples":
        return " ".join([flag, *values])
    return " ".join(f"{flag} {value}" for value in values)


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
    name, several, value = found.groups()
    if several:
        return _option(name, re.findall(_QUOTED, several))
    known = value in ("", "True", "False")
    return _option(name, [] if known else [value], off=value == "False")
