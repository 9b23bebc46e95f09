"""What a table of counts holds: sizes, sums, and what may be wrong with it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .._labels import encoded
from .._validation import check_counts
from .trap_lines import trap_facts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.counts import Counts
    from ..table import CountTable

PRIOR = 1e-3
FEW = 4


def describe_counts(table: CountTable) -> dict[str, Any]:
    """Describe a table of counts.

    Parameters
    ----------
    table : CountTable
        Counts with their names.

    Returns
    -------
    dict
        ``description`` (which matrix of an h5ad file it is); numbers of ``rows`` and
        ``columns``; of the counts how many are ``stored``, the
        ``density``, ``total``, ``least``, ``most`` and whether all are ``whole``;
        ``row_sums`` and ``overdispersion``; names, ``labels`` and the values of all
        ``label_kinds``; and what may be wrong:
        ``log_normalised``, ``empty_rows``, ``empty_columns``, repeated names,
        ``total_rows`` and ``total_columns`` (sums of all others), ``id_columns``
        (numbers of rows), ``measures`` (years, ages), ``thousands`` (1.234 for 1234)
        and how many are ``copied_rows``; and what may steer clusters: the share of the
        counts in the ``deepest_rows`` (5 %) and in the ``largest_columns``, and the
        ``dispersion`` of columns and of rows in a sample. :func:`traps` says it in
        words.

    Examples
    --------
    >>> from threecpo import CountTable
    >>> from threecpo.results import describe_counts
    >>> facts = describe_counts(CountTable([[3, 0], [0, 5], [0, 0]]))
    >>> facts["total"], facts["empty_rows"]
    (8.0, 1)
    """
    counts = check_counts(table)
    sums = counts.row_lengths(1)
    found = trap_facts(table)
    n_rows, n_columns = table.shape
    stored = len(counts.data)
    all_stored = stored == n_rows * n_columns
    return {
        **found,
        "description": table.description,
        "rows": n_rows,
        "columns": n_columns,
        "stored": stored,
        "density": stored / (n_rows * n_columns),
        "total": float(counts.data.sum()),
        "least": float(counts.data.min()) if all_stored else 0.0,
        "most": float(counts.data.max(initial=0.0)),
        "whole": not counts.fractional,
        "row_sums": {
            "least": float(sums.min()),
            "most": float(sums.max()),
            "median": float(np.median(sums)),
        },
        "overdispersion": _summary(overdispersion(counts)),
        "empty_columns": _n_empty_columns(counts),
        "first_row_names": _first(table.row_names),
        "first_column_names": _first(table.column_names),
        "repeated_row_names": _repeated(table.row_names),
        "repeated_column_names": _repeated(table.column_names),
        "labels": table.label_names,
        "label_kinds": {
            kind: encoded(texts)["label_names"]
            for kind, texts in table.label_kinds.items()
        },
    }


def overdispersion(counts: Counts) -> NDArray[np.float64]:
    """Pearson's dispersion of each column that has counts, in one cluster."""
    # Compiled loops, which the other results do without.
    from .._core.dispersion import dispersions
    from .._core.sums import sum_by_labels

    labels = np.zeros(counts.n_rows, dtype=np.int32)
    groups = np.zeros(counts.n_columns, dtype=np.int8)
    sums = sum_by_labels(counts, labels, 1, groups, PRIOR)
    found = dispersions(counts, labels, sums.smoothed(PRIOR), groups)
    return found[sums.totals > 0]


def _summary(dispersion: NDArray[np.float64]) -> dict[str, float]:
    return {
        "median": float(np.median(dispersion)) if len(dispersion) else 0.0,
        "above_2": float(np.mean(dispersion > 2)) if len(dispersion) else 0.0,
    }


def _n_empty_columns(counts: Counts) -> int:
    unused = np.ones(counts.n_columns, dtype=bool)
    unused[counts.indices] = False
    return int(np.count_nonzero(unused))


def _first(names: NDArray[np.object_] | None) -> list[str] | None:
    return None if names is None else names[:FEW].tolist()


def _repeated(names: NDArray[np.object_] | None) -> list[str]:
    times = Counter(names if names is not None else ())
    return [name for name, n in times.items() if n > 1]
