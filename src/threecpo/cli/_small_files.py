"""Small files that users write: names of clusters, columns to start from."""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import TYPE_CHECKING, Any

from .._errors import DataFormatError
from .._spreadsheets import unguarded
from ..io.files import open_regular
from ._printing import number_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LARGEST = 1 << 20
# What spreadsheets of different countries put between the cells of a csv file.
_DELIMITERS = ",;\t"
_NAMES, _SEEDS = "names of clusters", "seed columns"


def read_names(
    path: Path, n_clusters: int, sizes: Sequence[int], *, several: bool = False
) -> Any:
    """Names of clusters as a list or dict; ``several`` may have one name."""
    text = _text_of(path, _NAMES)
    if path.suffix.lower() != ".json":
        names = _names_of_csv(path, text, sizes)
    else:
        names = _of_json(path, text, _NAMES, lambda pairs: _once(path, pairs))
        if not isinstance(names, list | dict):
            message = f"{path} must hold a list or an object of names."
            raise ValueError(message)
    try:
        _check(names, n_clusters, several=several)
    except ValueError as error:
        message = f"{path}: {error}"
        raise ValueError(message) from None
    return names


def read_seeds(path: Path) -> dict[str, list[str]]:
    """Columns of clusters: an object of lists, or a table of cluster and column."""
    text = _text_of(path, _SEEDS)
    if path.suffix.lower() != ".json":
        seeds = _seeds_of_csv(text)
    else:
        seeds = _of_json(path, text, _SEEDS)
        if not isinstance(seeds, dict):
            message = f'{path} must hold an object, as {{"rugby": ["scrum", "try"]}}.'
            raise ValueError(message)
    if not seeds:
        message = f"{path} does not contain {_SEEDS}."
        raise ValueError(message)
    return seeds


def _text_of(path: Path, what: str) -> str:
    """Text of a small file in UTF-8."""
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST + 1)
    except DataFormatError as error:
        message = f"{path} does not contain {what}: {error}."
        raise ValueError(message) from None
    if len(content) > LARGEST:
        message = f"{path} is too large for {what}."
        raise ValueError(message)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = (
            f"{path} does not contain {what}: it is not UTF-8 from byte "
            f"{error.start} on; save it as text in UTF-8 (Excel: CSV UTF-8)."
        )
        raise ValueError(message) from None


def _of_json(path: Path, text: str, what: str, of_pairs: Any = None) -> Any:
    try:
        return json.loads(text, object_pairs_hook=of_pairs)
    except (json.JSONDecodeError, RecursionError) as error:
        message = f"{path} does not contain {what}: {error}."
        raise ValueError(message) from error


def _names_of_csv(path: Path, text: str, sizes: Sequence[int]) -> Any:
    """Names by cluster of a table with these columns; else one name per line."""
    first = text.lstrip().partition("\n")[0]
    for delimiter in _DELIMITERS:
        cells = next(csv.reader([first], delimiter=delimiter), [])
        fields = [cell.strip() for cell in cells]
        if {"cluster", "name"} <= {*fields}:
            return _of_table(path, text.lstrip(), delimiter, fields, sizes)
    return [line.strip() for line in text.splitlines() if line.strip()]


def _of_table(
    path: Path, text: str, delimiter: str, fields: list[str], sizes: Sequence[int]
) -> Any:
    lines = csv.DictReader(StringIO(text, newline=""), fields, delimiter=delimiter)
    pairs = []
    try:
        next(lines)
        for line in lines:
            if not any(line[field] for field in fields):
                continue
            if line["cluster"] is None or line["name"] is None:
                message = f"{path}, line {lines.line_num}: the name is missing."
                raise ValueError(message)
            cluster = line["cluster"].strip()
            pairs.append((cluster, unguarded(line["name"])))
            _check_size(path, cluster, (line.get("size") or "").strip(), sizes)
    except csv.Error as error:
        message = f"{path}, line {lines.line_num}: {error}."
        raise ValueError(message) from error
    return _once(path, pairs)


def _check_size(path: Path, cluster: str, size: str, sizes: Sequence[int]) -> None:
    """Refuse the table of another fit, whose clusters have other numbers."""
    numbers = cluster.isdecimal() and size.isdecimal() and int(cluster) < len(sizes)
    if numbers and int(size) != sizes[int(cluster)]:
        message = (
            f"{path} describes other clusters: cluster {cluster} has {size} rows there "
            f"and {sizes[int(cluster)]} here. Numbers may have changed; write a table "
            "with the columns cluster and name alone."
        )
        raise ValueError(message)


def _once(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Names by cluster, each of which is named once."""
    names: dict[str, Any] = {}
    for cluster, name in pairs:
        if cluster in names:
            message = f"{path} names cluster {cluster!r} twice."
            raise ValueError(message)
        names[cluster] = name
    return names


def _check(names: Any, n_clusters: int, *, several: bool) -> None:
    """Refuse names that do not fit the clusters."""
    given = names if isinstance(names, list) else list(names.values())
    wrong = next((name for name in given if not isinstance(name, str)), None)
    if wrong is not None or None in given:
        message = f"a name must be text, not {wrong!r}."
        raise ValueError(message)
    plain = [" ".join(name.split()) for name in given]
    twice = next((name for name in plain if name and plain.count(name) > 1), None)
    if twice is not None and not several:
        message = f"two clusters are named {twice!r}; names must tell clusters apart."
        raise ValueError(message)
    if isinstance(names, list) and len(names) != n_clusters:
        clusters = number_of(n_clusters, "cluster")
        message = f"there are {len(names)} names for {clusters}."
        raise ValueError(message)
    for key in names if isinstance(names, dict) else ():
        if key.isdecimal() and int(key) >= n_clusters:
            message = (
                f"there is no cluster {key} to name; they are 0 to {n_clusters - 1}."
            )
            raise ValueError(message)


def _seeds_of_csv(text: str) -> dict[str, list[str]]:
    """Lines of a cluster and one or more columns; a header is not a line."""
    delimiter = next((mark for mark in _DELIMITERS if mark in text), ",")
    seeds: dict[str, list[str]] = {}
    for number, line in enumerate(csv.reader(text.splitlines(), delimiter=delimiter)):
        cells = [cell.strip() for cell in line]
        header = number == 0 and [cell.lower() for cell in cells] == [
            "cluster",
            "column",
        ]
        if any(cells) and not header:
            seeds.setdefault(cells[0], []).extend(cell for cell in cells[1:] if cell)
    return seeds
