"""What a user knows beforehand: rows of clusters, columns of clusters, groups."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import click

from ._names_file import text_of
from ._shared_options import together

GROUPS = {"relevant": 1, "shared": 0, "noise": -1, "1": 1, "0": 0, "-1": -1}
_HOLDS = "seed columns"


class FixedGroup(click.ParamType):  # type: ignore[type-arg]
    """A column and its group: total_reads=noise."""

    name = "column=group"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        column, equals, group = value.rpartition("=")
        if not equals or not column or group.strip() not in GROUPS:
            self.fail(
                f"{value!r} is no column and group, such as total_reads=noise "
                "(relevant, shared or noise).",
                param,
                ctx,
            )
        return column, GROUPS[group.strip()]


known_options = together(
    click.option(
        "--known",
        "known_column",
        metavar="COLUMN",
        help="Column of clusters that are known, blank where they are not; rows stay "
        "in them.",
    ),
    click.option(
        "--release-known",
        is_flag=True,
        help="Only start from --known: the rows may leave their clusters.",
    ),
    click.option(
        "--seed-columns",
        "seed_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Columns that clusters start from: json, or a csv of cluster and column.",
    ),
    click.option(
        "--fix-group",
        "fixed",
        type=FixedGroup(),
        multiple=True,
        metavar="COLUMN=GROUP",
        help="Keep a column relevant, shared or noise. Repeats.",
    ),
)


def known_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """Take these options out; return the parameters of the estimator that they are."""
    fixed = dict(options.pop("fixed"))
    seed_file = options.pop("seed_file")
    return {
        "hold_labels": False if options.pop("release_known") else None,
        "fixed_groups": fixed or None,
        "seed_columns": None if seed_file is None else read_seeds(seed_file),
    }


def read_seeds(path: Path) -> dict[str, list[str]]:
    """Columns of clusters: an object of lists, or a table of cluster and column."""
    text = text_of(path, _HOLDS)
    seeds = _of_json(path, text) if path.suffix.lower() == ".json" else _of_csv(text)
    if not seeds:
        message = f"{path} holds no {_HOLDS}."
        raise ValueError(message)
    return seeds


def _of_json(path: Path, text: str) -> dict[str, list[str]]:
    try:
        found = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        message = f"{path} holds no {_HOLDS}: {error}."
        raise ValueError(message) from error
    if not isinstance(found, dict):
        message = f'{path} must hold an object, as {{"rugby": ["scrum", "try"]}}.'
        raise ValueError(message)
    return found


def _of_csv(text: str) -> dict[str, list[str]]:
    """Lines of a cluster and one or more columns; a header of these words is none."""
    delimiter = next((mark for mark in ",;\t" if mark in text), ",")
    seeds: dict[str, list[str]] = {}
    for number, line in enumerate(csv.reader(text.splitlines(), delimiter=delimiter)):
        cells = [cell.strip() for cell in line]
        header = number == 0 and [cell.lower() for cell in cells] == _HEADER
        if any(cells) and not header:
            seeds.setdefault(cells[0], []).extend(cell for cell in cells[1:] if cell)
    return seeds


_HEADER = ["cluster", "column"]
