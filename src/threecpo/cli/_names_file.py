"""Names of clusters from a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import click

LARGEST = 1 << 20

names_option = click.option(
    "--names",
    "names_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Names of clusters: json, a csv with cluster and name, or a name a line.",
)


def read_names(path: Path) -> Any:
    """Names as a list, or by the numbers of clusters."""
    if path.stat().st_size > LARGEST:
        message = f"{path} is too large for names of clusters."
        raise ValueError(message)
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".json":
            return _checked(path, json.loads(text))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        message = f"{path} holds no names of clusters: {error}."
        raise ValueError(message) from error
    lines = text.splitlines()
    fields = [field.strip() for field in next(csv.reader(lines[:1]), [])]
    if {"cluster", "name"} <= {*fields}:
        return {
            line["cluster"].strip(): line["name"]
            for line in csv.DictReader(lines, fieldnames=fields)
            if line["cluster"] not in (None, "cluster") and line["name"] is not None
        }
    return [line.strip() for line in lines if line.strip()]


def _checked(path: Path, names: Any) -> Any:
    if isinstance(names, list | dict):
        return names
    message = f"{path} must hold a list or an object of names."
    raise ValueError(message)
