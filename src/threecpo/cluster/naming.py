"""Names of clusters: those that were given, else made of their best columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..table import CountTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._fit.record import FitRecord

__all__ = ["ClusterDescription", "cluster_names_of", "given_names", "names_array"]

SEPARATOR = " / "
COLUMNS_IN_A_NAME = 3
LONGEST_COLUMN = 30
# What a function that names clusters gets to see.
MARKERS_DESCRIBED = 10
ROWS_DESCRIBED = 5


@dataclass(frozen=True)
class ClusterDescription:
    """What a function that names a cluster gets.

    ``name`` is the one made of its best columns; ``markers`` are the columns that mark
    it, the best first; ``typical_rows`` are the rows with the clearest membership.
    """

    cluster: int
    name: str
    size: int
    share: float
    markers: tuple[str, ...]
    typical_rows: tuple[str, ...]


def cluster_names_of(
    record: FitRecord, column_names: NDArray[np.object_] | None = None
) -> NDArray[np.object_]:
    """Names of all clusters, no two alike: given ones, else made of the best columns.

    Clusters that share most of their best columns are named by one of these and by what
    tells them apart; a cluster without a column above average by what it has less of.
    ``column_names`` replace those of the fit in names that are made.
    """
    names = np.empty(record.n_clusters, dtype=object)
    names[:] = record.cluster_names or ""
    taken = set(names)
    if "" in taken:
        columns = record.column_names if column_names is None else column_names
        for k, (more, less) in _telling_columns(record).items():
            if names[k] == "":
                parts = [_made_name(more, columns)] if more else []
                parts += [f"less {_made_name(less, columns)}"] if less else []
                made = SEPARATOR.join(parts) or f"cluster {k}"
                names[k] = f"{made} ({k})" if made in taken else made
                taken.add(names[k])
    return names


def _telling_columns(record: FitRecord) -> dict[int, tuple[list[int], list[int]]]:
    """Columns to name each cluster by: what it has more of, and what it has less of."""
    markers, n = record.markers, COLUMNS_IN_A_NAME
    best = [markers.clear(k, n).tolist() for k in range(record.n_clusters)]
    out: dict[int, tuple[list[int], list[int]]] = {}
    for k, own in enumerate(best):
        alike = [
            other
            for other, columns in enumerate(best)
            if other != k and len({*own} & {*columns}) > 1
        ]
        out[k] = own, [] if own else markers.below(k, n).tolist()
        if alike:
            apart = record.markers_of([k], alike)
            clear = {*markers.clear(k, record.n_columns).tolist()}
            theirs = {j for other in alike for j in best[other]}
            telling = [
                j
                for j in apart.clear(0, record.n_columns).tolist()
                if j in clear and j not in theirs
            ]
            # The same one for all of them, beside what is its own already.
            weakest = markers.strength[[k, *alike]].min(axis=0)
            common = max((j for j in own if j in theirs), key=lambda j: weakest[j])
            first = [own[0], common] if own[0] in telling else [common]
            less = [] if telling else apart.clear(1, 1).tolist()
            more = [*dict.fromkeys([*first, *telling, *own])][: n - len(less)]
            out[k] = own if {*more} == {*own} else more, less
    return out


def _made_name(best: list[int], columns: Any) -> str:
    if columns is None:
        word = "column" if len(best) == 1 else "columns"
        return f"{word} {SEPARATOR.join(map(str, best))}"
    return SEPARATOR.join(_short(str(columns[j])) for j in best)


def _short(name: str) -> str:
    """One line of a name; a long one without its middle."""
    line = " ".join(name.split())
    if len(line) <= LONGEST_COLUMN:
        return line
    half = LONGEST_COLUMN // 2
    return f"{line[: half - 1]}…{line[-half:]}"


def given_names(
    record: FitRecord,
    names: Iterable[str] | Mapping[Any, str] | Callable[[ClusterDescription], str],
    rows: Any = None,
) -> tuple[str, ...]:
    """Check names of clusters; a function gives them one by one."""
    if isinstance(names, str):
        message = f"names must be a list, a dict or a function, not {names!r}."
        raise ValueError(message)
    asked: Any = names
    if callable(names):
        asked = [names(each) for each in _descriptions(record, rows)]
    elif isinstance(names, Mapping):
        asked = _by_cluster(record, names)
    listed: list[str] = []
    for k, name in enumerate(asked):
        if not isinstance(name, str):
            message = f"The name of cluster {k} must be str, not {name!r}."
            raise ValueError(message)
        listed.append(" ".join(name.split()))
    if len(listed) != record.n_clusters:
        message = (
            f"There are {len(listed)} names for {record.n_clusters} clusters; pass one "
            "for each, or some with the numbers of their clusters."
        )
        raise ValueError(message)
    # An empty name stands for the one that is made of columns.
    for k, name in enumerate(listed):
        if name and listed.index(name) != k:
            message = (
                f"Clusters {listed.index(name)} and {k} are both named {name!r}; names "
                "must tell clusters apart."
            )
            raise ValueError(message)
    return tuple(listed)


def _by_cluster(record: FitRecord, names: Mapping[Any, str]) -> list[Any]:
    """All names with those of a mapping, by numbers or by the names so far."""
    known = {name: k for k, name in enumerate(cluster_names_of(record).tolist())}
    known |= {str(k): k for k in range(record.n_clusters)}
    listed: list[Any] = list(record.cluster_names or ("",) * record.n_clusters)
    for key, name in names.items():
        place = known.get(key if isinstance(key, str) else str(key))
        if place is None:
            message = (
                f"There is no cluster {key!r} to name; they are 0 to "
                f"{record.n_clusters - 1}."
            )
            raise ValueError(message)
        listed[place] = name
    return listed


def _descriptions(record: FitRecord, rows: Any) -> Iterable[ClusterDescription]:
    names, markers = cluster_names_of(record), record.markers
    columns = record.column_names
    texts = rows.row_names if isinstance(rows, CountTable) else rows
    texts = record.row_names if texts is None else texts
    texts = range(record.n_rows) if texts is None else texts
    if len(texts) != record.n_rows:
        message = f"There are {len(texts)} texts for {record.n_rows} rows."
        raise ValueError(message)
    for k, size in enumerate(record.cluster_sizes.tolist()):
        best = markers.best(k, MARKERS_DESCRIBED).tolist()
        clearest = clearest_rows(record, k, ROWS_DESCRIBED).tolist()
        yield ClusterDescription(
            cluster=k,
            name=names[k],
            size=size,
            share=size / record.n_rows,
            markers=tuple(str(j if columns is None else columns[j]) for j in best),
            typical_rows=tuple(str(texts[i]) for i in clearest),
        )


def names_array(
    field: str, given: Iterable[Any] | None, length: int, of: str = "the model"
) -> NDArray[np.object_]:
    """Names as an array of str, as many as there must be; None for numbers."""
    listed = [str(name) for name in (range(length) if given is None else given)]
    if len(listed) != length:
        message = f"{field} has {len(listed)} names, but {of} has {length}."
        raise ValueError(message)
    return np.array(listed, dtype=object)


def clearest_rows(record: FitRecord, cluster: int, n: int) -> NDArray[np.intp]:
    """Rows of a cluster with the largest margins, the clearest first."""
    return _by_margin(record, cluster, -1)[:n]


def least_clear_rows(record: FitRecord, cluster: int, n: int) -> NDArray[np.intp]:
    """Rows of a cluster with the smallest margins, the least clear first."""
    return _by_margin(record, cluster, 1)[:n]


def _by_margin(record: FitRecord, cluster: int, sign: int) -> NDArray[np.intp]:
    if record.rows is None:
        return np.empty(0, dtype=np.intp)
    places = np.flatnonzero(record.rows.labels == cluster)
    margins = record.rows.margins[places]
    return places[np.argsort(sign * margins, kind="stable")]
