"""Small files that users write: names of clusters, columns to start from."""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import TYPE_CHECKING, Any

from .._errors import DataFormatError
from .._spreadsheets import unguarded
from ..io.files import open_regular
from ._printing import fail, number_of

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
            fail(f"{path} must hold a list or an object of names.")
    given = names if isinstance(names, list) else list(names.values())
    for name in given:
        if not isinstance(name, str):
            fail(f"{path}: a name must be text, not {name!r}.")
    plain = [" ".join(name.split()) for name in given]
    twice = next((name for name in plain if name and plain.count(name) > 1), None)
    if twice is not None and not several:
        fail(
            f"{path}: two clusters are named {twice!r}; names must tell clusters apart."
        )
    if isinstance(names, list) and len(names) != n_clusters:
        clusters = number_of(n_clusters, "cluster")
        fail(f"{path}: there are {len(names)} names for {clusters}.")
    for key in names if isinstance(names, dict) else ():
        if key.isdecimal() and int(key) >= n_clusters:
            known = f"they are 0 to {n_clusters - 1}."
            fail(f"{path}: there is no cluster {key} to name; {known}")
    return names


def read_seeds(path: Path) -> dict[str, list[str]]:
    """Columns of clusters: an object of lists, or a table of cluster and column."""
    text = _text_of(path, _SEEDS)
    if path.suffix.lower() == ".json":
        seeds = _of_json(path, text, _SEEDS)
        if not isinstance(seeds, dict):
            fail(f'{path} must hold an object, as {{"rugby": ["scrum", "try"]}}.')
    else:
        # Lines of a cluster and one or more columns; a header is not a line.
        seeds = {}
        delimiter = next((mark for mark in _DELIMITERS if mark in text), ",")
        for number, line in enumerate(
            csv.reader(text.splitlines(), delimiter=delimiter)
        ):
            cells = [cell.strip() for cell in line]
            header = not number and list(map(str.lower, cells)) == ["cluster", "column"]
            if any(cells) and not header:
                seeds.setdefault(cells[0], []).extend(filter(None, cells[1:]))
    if not seeds:
        fail(f"{path} does not contain {_SEEDS}.")
    return seeds


def _text_of(path: Path, what: str) -> str:
    """Text of a small file in UTF-8."""
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST + 1)
    except DataFormatError as error:
        fail(f"{path} does not contain {what}: {error}.")
    if len(content) > LARGEST:
        fail(f"{path} is too large for {what}.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fail(
            f"{path} does not contain {what}: it is not UTF-8 from byte "
            f"{error.start} on; save it as text in UTF-8 (Excel: CSV UTF-8)."
        )


def _of_json(path: Path, text: str, what: str, of_pairs: Any = None) -> Any:
    try:
        return json.loads(text, object_pairs_hook=of_pairs)
    except (json.JSONDecodeError, RecursionError) as error:
        fail(f"{path} does not contain {what}: {error}.")


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
                fail(f"{path}, line {lines.line_num}: the name is missing.")
            cluster, size = line["cluster"].strip(), (line.get("size") or "").strip()
            pairs.append((cluster, unguarded(line["name"])))
            # The clusters of another fit have other numbers.
            numbers = cluster.isdecimal() and size.isdecimal()
            if (
                numbers
                and int(cluster) < len(sizes)
                and int(size) != sizes[int(cluster)]
            ):
                fail(
                    f"{path} describes other clusters: cluster {cluster} has {size} "
                    f"rows there and {sizes[int(cluster)]} here. Numbers may have "
                    "changed; write a table with the columns cluster and name alone."
                )
    except csv.Error as error:
        fail(f"{path}, line {lines.line_num}: {error}.")
    return _once(path, pairs)


def _once(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Names by cluster, each of which is named once."""
    names: dict[str, Any] = {}
    for cluster, name in pairs:
        if cluster in names:
            fail(f"{path} names cluster {cluster!r} twice.")
        names[cluster] = name
    return names
