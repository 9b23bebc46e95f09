"""Labels of rows in a table of their own, which is joined by the names of rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import DataFormatError, parameter, refuse, shown
from .._labels import label_text
from .errors import file_errors
from .files import opened
from .formats import FORMATS, find_format
from .roles import place_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from .formats import ReadOptions

_FORMATS = ("csv", "xlsx", "ods", "parquet")
# Lines of QIIME 2 that say of which type columns are.
_DIRECTIVE = "#q2:"
_SHOWN = 3
_LOOKED_AT = 50


@dataclass(frozen=True)
class Metadata:
    """Labels of some kinds by the names of rows."""

    path: Path
    index: str
    names: Sequence[str]
    labels: dict[str, list[str | None]]
    # First values of the other columns, one of which may be that of names.
    others: dict[str, list[str | None]]

    def of_rows(
        self, names: Iterable[str] | None
    ) -> tuple[dict[str, list[str | None]], str]:
        """Labels of rows of these names, and what is missing here or there."""
        with file_errors(self.path):
            if names is None:
                refuse(
                    "it is joined by the names of rows, and the counts have none; "
                    f"pass {parameter('index')} if a column of the counts holds them"
                )
            wanted = [name.strip() for name in names]
            place = {name: i for i, name in enumerate(self.names)}
            places = [place.get(name) for name in wanted]
            if all(at is None for at in places):
                raise self._no_match(wanted)
        labels = {
            kind: [None if at is None else values[at] for at in places]
            for kind, values in self.labels.items()
        }
        return labels, self._unmatched(wanted, places)

    def has(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """Whether there is metadata of rows of these names."""
        known = set(self.names)
        return np.array([name.strip() in known for name in names])

    def _no_match(self, wanted: list[str]) -> DataFormatError:
        known = set(wanted)
        fits = (name for name, some in self.others.items() if known & {*some})
        column = next(fits, None)
        other = parameter("metadata_index")
        advice = f"write them alike, or pass {other} if another column has them"
        if column is not None:
            advice = f"pass {parameter('metadata_index', column)}, which has them"
        return DataFormatError(
            f"none of the names in its column {shown(self.index)} "
            f"({_some(self.names)}) is that of a row ({_some(wanted)}); {advice}"
        )

    def _unmatched(self, wanted: list[str], places: list[int | None]) -> str:
        """One sentence on rows without metadata, and metadata without rows."""
        known = set(wanted)
        lacking = [n for n, at in zip(wanted, places, strict=True) if at is None]
        others = [name for name in self.names if name not in known]
        found = []
        if lacking:
            have = _have(lacking, wanted, "rows")
            found.append(f"{have} no metadata ({_some(lacking)})")
        if others:
            have = _have(others, self.names, "names in it")
            found.append(f"{have} no row of counts ({_some(others)})")
        return f"{self.path}: {', and '.join(found)}." if found else ""


def _have(some: Sequence[str], all_: Sequence[str], of: str) -> str:
    return f"{len(some)} of {len(all_)} {of} {'has' if len(some) == 1 else 'have'}"


def columns_for_labels(path: Path) -> list[str]:
    """Columns that labels= can name in a file that holds metadata of its own."""
    with file_errors(path):
        if find_format(path, None) not in ("h5ad", "zarr"):
            return []
        from .h5ad import read_obs
        from .hierarchies import asked

        columns: list[str] = asked(read_obs, path, labels=[])["obs_columns"]
        return columns


def read_metadata(
    path: str | os.PathLike[str], labels: Sequence[str], options: ReadOptions
) -> Metadata:
    """Read those of the labels that a table has; of others the counts may know."""
    given = Path(path)
    with file_errors(given):
        name = find_format(given, None)
        if name not in _FORMATS:
            kinds = ", ".join(_FORMATS)
            refuse(f"{parameter('metadata')} is a table ({kinds}), not {name}")
        options = replace(options, encoding=_encoding(given, options))
        with FORMATS[name].load().open_records(given, options) as (header, records):
            return _taken(given, header, records, labels, options.metadata_index)


def _encoding(path: Path, options: ReadOptions) -> str | None:
    """The encoding that is given, unless that is one of the counts alone."""
    if options.encoding is None:
        return None
    with opened(path, options.max_unpacked) as file:
        try:
            file.read().decode()
        except UnicodeDecodeError:
            return options.encoding
    return None


def _taken(
    path: Path,
    header: list[str],
    records: Iterable[Sequence[Any]],
    labels: Sequence[str],
    index: str | None,
) -> Metadata:
    at = 0 if index is None else place_of(header, index, "metadata_index")
    columns = [name for place, name in enumerate(header) if place != at and name]
    if not labels:
        some = ", ".join(map(shown, columns)) or "none"
        refuse(f"name the columns to take by {parameter('labels')}; it has {some}")
    wanted = {name: header.index(name) for name in labels if name in columns}
    if not wanted:
        place_of(columns, labels[0], "labels")
    names: list[str] = []
    found: dict[str, list[str | None]] = {name: [] for name in wanted}
    others: dict[str, list[str | None]] = {name: [] for name in columns}
    for record in records:
        row = label_text(record[at])
        if row is None or row.startswith(_DIRECTIVE):
            continue
        names.append(row)
        for name, place in wanted.items():
            found[name].append(label_text(record[place]))
        if len(names) <= _LOOKED_AT:
            for name in columns:
                others[name].append(label_text(record[header.index(name)]))
    repeated = [name for name, often in Counter(names).items() if often > 1]
    if repeated:
        refuse(
            f"column {shown(header[at])} names {len(repeated)} rows more than once "
            f"({_some(repeated)}); keep one line for each"
        )
    return Metadata(path, header[at], names, found, others)


def _some(names: Sequence[str]) -> str:
    more = ", …" if len(names) > _SHOWN else ""
    return ", ".join(map(shown, names[:_SHOWN])) + more
