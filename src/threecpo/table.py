"""CountTable: counts with the names of rows and columns, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._labels import LABEL, label_texts, labels_of_kinds
from ._row_values import row_info
from ._validation import check_counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from ._core.counts import Counts

ROWS, COLUMNS, LETTERS = 8, 10, 40


def table_html(table: CountTable) -> str:
    """What a table is called, and its first counts; all names are escaped."""
    (n_rows, n_columns), labels = table.shape, None
    if table.labels is not None:
        labels = table.label_kinds[table.label_kind]
    few = table.X[:ROWS].toarray()[:, :COLUMNS]
    heads = ["", *_shown_names(table.column_names, min(n_columns, COLUMNS))]
    heads += ["…"] * (n_columns > COLUMNS) + ["label"] * (labels is not None)
    lines = []
    names = _shown_names(table.row_names, len(few))
    for i, (name, counts) in enumerate(zip(names, few.tolist(), strict=True)):
        cells = [f"{count:g}" for count in counts] + ["…"] * (n_columns > COLUMNS)
        cells += [] if labels is None else [labels[i]]
        lines.append(f"<tr><th>{_text(name)}</th>{_cells('td', cells)}</tr>")
    if n_rows > ROWS:
        lines.append(f"<tr><th>…</th>{_cells('td', ['…'] * (len(heads) - 1))}</tr>")
    return (
        f"<div><p><b>{escape(repr(table))}</b></p><table><thead><tr>"
        f"{_cells('th', heads)}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        "</div>"
    )


def _shown_names(names: NDArray[np.object_] | None, n: int) -> list[str]:
    return [str(i) for i in range(n)] if names is None else names[:n].tolist()


def _cells(tag: str, texts: Iterable[str]) -> str:
    return "".join(f"<{tag}>{_text(text)}</{tag}>" for text in texts)


def _text(text: str) -> str:
    """A name of at most some letters, without what no page can hold."""
    short = text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"
    return escape(short.encode("utf-8", "replace").decode())


class ColumnPlaces(NamedTuple):
    """Places of wanted columns, -1 for missing ones; names missing, and not wanted."""

    places: NDArray[np.int64]
    missing: list[str]
    extra: list[str]

    def taken(self, X: sp.csr_array) -> sp.csr_array:
        """The wanted columns of a matrix, of zeros where it lacks them."""
        there = np.flatnonzero(self.places >= 0)
        ones = np.ones(len(there), dtype=X.dtype)
        shape = (X.shape[1], len(self.places))
        chosen = type(X)((ones, (self.places[there], there)), shape=shape)
        return (X @ chosen).tocsr()


def find_columns(wanted: Sequence[str], held: Sequence[str]) -> ColumnPlaces:
    """Find wanted names among those that a table has."""
    at, known = {name: j for j, name in enumerate(held)}, set(wanted)
    return ColumnPlaces(
        np.array([at.get(name, -1) for name in wanted], dtype=np.int64),
        missing=[name for name in wanted if name not in at],
        extra=[name for name in held if name not in known],
    )


__all__ = ["CountTable"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class CountTable:
    """Counts together with names, true labels and provenance.

    What :func:`threecpo.read_counts`, the data sets and
    :func:`threecpo.text.count_terms` return, and what every estimator takes: it keeps
    the names of columns, and neither checks nor copies the counts again. Use
    ``dataclasses.replace`` for a table with other names or labels.

    Parameters
    ----------
    X : array, frame, sparse matrix or Counts of shape (n_rows, n_columns)
        Counts. They are checked once. A sparse matrix that is canonical already (rows
        of sorted 32-bit columns, no duplicates, no stored zeros, ``float64``) is not
        copied: do not change it afterwards.
    row_names, column_names : sequence of str, default=None
        A name for each row and each column.
    labels : sequence of int, or dict of str to sequence, default=None
        True cluster of each row, from 0; -1 where none is known. Or several kinds of
        labels by name, such as ``{"cell type": ..., "donor": ...}``, of any values;
        None, NaN and empty text mean that a row has none. The first kind is numbered
        and becomes ``labels`` and ``label_names``.
    label_names : sequence of str, default=None
        Name of each label.
    row_titles : sequence of str, default=None
        A line that shows what each row is, such as the first line of a text.
    label_kind : str, default="label"
        What ``labels`` are labels of, such as the column of a file they were in.
    other_labels : dict of str to sequence, default=None
        Labels of other kinds: for each name a value for each row.
    name, description, citation, licence, source : str, default=""
        What the table is called, what it holds, whom to cite, under which terms it may
        be used and where it was found.

    Attributes
    ----------
    X : scipy.sparse.csr_array
        The counts as a read-only array of ``float64``, made when asked for, in the
        memory of the table.
    counts : Counts
        The counts as the estimators use them.
    shape : tuple of int
        Numbers of rows and columns.
    n_clusters : int or None
        Number of different labels; None without labels.
    label_kinds : dict of str to ndarray
        Labels of all kinds as text, empty where a row has none; ``labels`` come first.

    Examples
    --------
    >>> from threecpo import CountTable
    >>> counts = [[3, 0], [0, 5]]
    >>> table = CountTable(counts, column_names=["ants", "bees"], name="plots")
    >>> table
    CountTable('plots': 2 rows x 2 columns)
    >>> table.X.toarray()
    array([[3., 0.],
           [0., 5.]])
    >>> table.to_frame()["bees"].sum()
    np.int64(5)
    >>> kinds = {"habitat": ["wood", None], "year": [2020, 2021]}
    >>> table = CountTable(counts, labels=kinds)
    >>> list(table.label_kinds), table.labels, list(table.label_names)
    (['habitat', 'year'], array([ 0, -1]), ['wood'])
    """

    counts: Counts
    row_names: NDArray[np.object_] | None
    column_names: NDArray[np.object_] | None
    labels: NDArray[np.int64] | None
    label_names: NDArray[np.object_] | None
    row_titles: NDArray[np.object_] | None
    label_kind: str
    other_labels: Mapping[str, NDArray[np.object_]]
    name: str
    description: str
    citation: str
    licence: str
    source: str

    def __init__(
        self,
        X: Any = None,
        row_names: Sequence[str] | NDArray[Any] | None = None,
        column_names: Sequence[str] | NDArray[Any] | None = None,
        labels: Sequence[int] | NDArray[Any] | Mapping[str, Any] | None = None,
        label_names: Sequence[str] | NDArray[Any] | None = None,
        name: str = "",
        description: str = "",
        citation: str = "",
        licence: str = "",
        source: str = "",
        *,
        row_titles: Sequence[str] | NDArray[Any] | None = None,
        label_kind: str = LABEL,
        other_labels: Mapping[str, Any] | None = None,
        counts: Counts | None = None,
    ) -> None:
        # dataclasses.replace passes the field `counts`, and perhaps another X.
        checked = check_counts(counts if X is None else X)
        n_rows, n_columns = checked.shape
        if isinstance(labels, Mapping):
            found = labels_of_kinds(labels, label_names)
            labels, label_names = found.get("labels"), found.get("label_names")
            label_kind = found.get("label_kind", LABEL)
            other_labels = found.get("other_labels")
        first = None if labels is None else label_kind
        fields = {
            "counts": checked,
            "row_names": _names("row_names", row_names, n_rows, "rows"),
            "column_names": _names("column_names", column_names, n_columns, "columns"),
            "labels": _labels(labels, n_rows),
            "label_names": _names("label_names", label_names),
            "row_titles": _names("row_titles", row_titles, n_rows, "rows"),
            "label_kind": _kind(label_kind),
            "other_labels": _other_labels(other_labels, first, n_rows),
            "name": name,
            "description": description,
            "citation": citation,
            "licence": licence,
            "source": source,
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)
        if self.label_names is None:
            return
        if self.labels is None:
            message = "label_names are given without labels."
            raise ValueError(message)
        if self.labels.max() >= len(self.label_names):
            message = (
                f"labels go up to {self.labels.max()}, but there are "
                f"{len(self.label_names)} label_names."
            )
            raise ValueError(message)

    @property
    def X(self) -> sp.csr_array:  # noqa: N802
        return self.counts.matrix()

    @property
    def shape(self) -> tuple[int, int]:
        return self.counts.shape

    @property
    def n_clusters(self) -> int | None:
        if self.labels is None:
            return None
        return len(np.unique(self.labels[self.labels >= 0]))

    @property
    def label_kinds(self) -> dict[str, NDArray[np.object_]]:
        first: dict[str, NDArray[np.object_]] = {}
        if self.labels is not None:
            names = self.label_names
            texts = [
                "" if code < 0 else str(code if names is None else names[code])
                for code in self.labels.tolist()
            ]
            first = {self.label_kind: np.array(texts, dtype=object)}
        return first | dict(self.other_labels)

    def with_labels(self, labels: Mapping[str, Any]) -> CountTable:
        """Return a table of the same counts with these labels and no others.

        Parameters
        ----------
        labels : dict of str to sequence
            Labels of all rows by kind, as in ``CountTable(labels=...)``; none if empty.

        Returns
        -------
        CountTable
            It shares the counts.

        Examples
        --------
        >>> from threecpo import CountTable
        >>> table = CountTable([[3, 0], [0, 5]]).with_labels({"site": ["a", "b"]})
        >>> list(table.label_names)
        ['a', 'b']
        """
        changed: dict[str, Any] = {"labels": labels or None, "label_names": None}
        return replace(self, **changed, label_kind=LABEL, other_labels={})

    def with_rows(
        self,
        *,
        sample_weight: Any = None,
        batch: Any = None,
        known_labels: Any = None,
    ) -> CountTable:
        """Return a table of the same counts that carries what belongs to its rows.

        Whatever takes the table takes these with it.

        Parameters
        ----------
        sample_weight, batch, known_labels : array-like of shape (n_rows,) or None, \
default=None
            How often each row counts, its batch, and its cluster where that is known,
            as in :meth:`ThreeCPO.fit`; None leaves what the table carries already.

        Returns
        -------
        CountTable
            It shares the counts.

        Examples
        --------
        >>> from threecpo import CountTable, ThreeCPO
        >>> table = CountTable([[9, 1], [8, 2], [1, 7]]).with_rows(batch=list("aba"))
        >>> ThreeCPO(2, random_state=0).fit(table).batch_names_.tolist()
        ['a', 'b']
        """
        rows = {"sample_weight": sample_weight, "batch": batch}
        rows["known_labels"] = known_labels
        info = row_info(self.shape[0], **rows, beside=self.counts.row_info)
        return replace(self, counts=self.counts.with_rows(info))

    def __repr__(self) -> str:
        title = f"{self.name!r}: " if self.name else ""
        clusters = "" if self.labels is None else f", {self.n_clusters} clusters"
        n_rows, n_columns = self.shape
        return f"CountTable({title}{n_rows} rows x {n_columns} columns{clusters})"

    def _repr_html_(self) -> str:
        """Show the sizes, and the first rows and columns, in a notebook."""
        return table_html(self)

    def to_frame(self) -> pd.DataFrame:
        """Return the counts as a sparse pandas frame with these names.

        Returns
        -------
        pandas.DataFrame
            A frame of sparse columns of ``int64`` if all counts are whole, else of
            ``float64``; zeros take no memory.
        """
        try:
            import pandas as pd
        except ImportError as error:
            message = "to_frame needs pandas: pip install pandas."
            raise ImportError(message) from error
        # The stubs do not know the sparse accessor of the class.
        accessor: Any = pd.DataFrame.sparse
        return accessor.from_spmatrix(
            self.counts.whole_matrix(), index=self.row_names, columns=self.column_names
        )


def _names(
    field: str, given: Any, length: int | None = None, of: str = ""
) -> NDArray[np.object_] | None:
    """Names as an array of str, as many as there are rows or columns."""
    if given is None:
        return None
    if isinstance(given, str) or not np.iterable(given):
        message = f"{field} must be a sequence of str, not {given!r}."
        raise ValueError(message)
    listed = list(given)
    wrong = [name for name in listed if not isinstance(name, str)]
    if wrong:
        message = f"{field} must be str; {wrong[0]!r} is not."
        raise ValueError(message)
    if length is not None and len(listed) != length:
        message = f"{field} has {len(listed)} names, but X has {length} {of}."
        raise ValueError(message)
    # Names that numpy holds are of another type.
    return np.array([*map(str, listed)], dtype=object)


def _kind(name: Any) -> str:
    if not isinstance(name, str) or not name.strip():
        message = f"labels must be called by a name, not {name!r}."
        raise ValueError(message)
    return name


def _other_labels(
    given: Mapping[str, Any] | None, first: str | None, n_rows: int
) -> Mapping[str, NDArray[np.object_]]:
    kinds = {_kind(name): values for name, values in (given or {}).items()}
    if first in kinds:
        message = f"Two kinds of labels are called {first!r}."
        raise ValueError(message)
    return {name: label_texts(name, values, n_rows) for name, values in kinds.items()}


def _labels(given: Any, n_rows: int) -> NDArray[np.int64] | None:
    if given is None:
        return None
    labels = np.asarray(given)
    if labels.dtype.kind not in "iu" or (labels < -1).any():
        message = "labels must be integers from 0, or -1 for a row without one."
        raise ValueError(message)
    if labels.shape != (n_rows,):
        message = f"labels has shape {labels.shape}, but X has {n_rows} rows."
        raise ValueError(message)
    return labels.astype(np.int64)
