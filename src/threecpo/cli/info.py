"""``threecpo info``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from ._options import examples, json_option
from ._say import clean, listed, number_of, say, say_json
from ._source import Source, source_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from ..table import CountTable

PRIOR = 1e-3
FEW = 4


@click.command(
    epilog=examples(
        "threecpo info atlas.h5ad",
    )
)
@source_options
@json_option
def command(source: Source, *, as_json: bool) -> None:
    """Say what FILE holds, and what may be wrong with it.

    Overdispersion is how many times more the counts of a column vary than Poisson
    counts of rows of these sizes would: 1 where rows differ in nothing but size.
    """
    told = described(source.read())
    if as_json:
        say_json({"path": source.path.absolute()} | told)
        return
    say(f"{source.path}: {told['rows']} rows x {told['columns']} columns")
    dispersion = told["overdispersion"]
    lines = {
        "counts": f"{told['stored']} not 0 ({100 * told['density']:.3g} %), "
        f"sum {told['total']:.15g}",
        "range": f"{told['least']:g} to {told['most']:g}"
        + ("" if told["whole"] else ", not whole numbers"),
        "row sums": "{:g} to {:g}, median {:g}".format(*told["row_sums"].values()),
        "overdispersion": "median {:.3g}, above 2 in {:.0%} of the columns".format(
            *dispersion.values()
        ),
        "row names": _examples(told["first_row_names"], told["rows"]),
        "column names": _examples(told["first_column_names"], told["columns"]),
        "labels": "none" if told["labels"] is None else listed(told["labels"]),
    }
    for name, text in lines.items():
        say_indented(name, text)
    for warning in told["warnings"]:
        say(f"! {warning}")


def say_indented(name: str, text: str) -> None:
    click.echo(f"  {name:15} {clean(text)}")


def _examples(names: list[str] | None, n: int) -> str:
    if names is None:
        return "none"
    return ", ".join(names) + (", …" if n > len(names) else "")


def _first(names: NDArray[Any] | None) -> list[str] | None:
    return None if names is None else names[:FEW].tolist()


def described(table: CountTable) -> dict[str, Any]:
    """Facts about a table of counts."""
    import numpy as np

    from .._validation import check_counts

    counts = check_counts(table.X)
    sums = counts.row_lengths(1)
    n_rows, n_columns = table.shape
    stored = len(counts.data)
    zeros = stored < n_rows * n_columns
    dispersion = overdispersion(counts)
    return {
        "rows": n_rows,
        "columns": n_columns,
        "stored": stored,
        "density": stored / (n_rows * n_columns),
        "total": float(counts.data.sum()),
        "least": 0.0 if zeros else float(counts.data.min()),
        "most": float(counts.data.max(initial=0.0)),
        "whole": not counts.fractional,
        "row_sums": {
            "least": float(sums.min()),
            "most": float(sums.max()),
            "median": float(np.median(sums)),
        },
        "overdispersion": {
            "median": float(np.median(dispersion)) if len(dispersion) else 0.0,
            "above_2": float(np.mean(dispersion > 2)) if len(dispersion) else 0.0,
        },
        "first_row_names": _first(table.row_names),
        "first_column_names": _first(table.column_names),
        "labels": table.label_names,
        "warnings": list(_warnings(table, counts, sums)),
    }


def overdispersion(counts: Counts) -> NDArray[Any]:
    """Pearson's dispersion of each column that has counts, in one cluster."""
    import numpy as np

    from .._core.dispersion import dispersions
    from .._core.sums import sum_by_labels

    labels = np.zeros(counts.n_rows, dtype=np.int32)
    groups = np.zeros(counts.n_columns, dtype=np.int8)
    sums = sum_by_labels(counts, labels, 1, groups, PRIOR)
    found = dispersions(counts, labels, sums.smoothed(PRIOR), groups)
    return found[sums.totals > 0]


def _warnings(table: CountTable, counts: Counts, sums: NDArray[Any]) -> Iterator[str]:
    import numpy as np

    from .._validation import looks_log_normalised

    if counts.fractional and looks_log_normalised(counts):
        yield "looks log-normalised: use the raw counts instead (h5ad: --layer)"
    elif counts.fractional:
        yield "holds values that are not whole numbers: these are no counts"
    empty = int(np.count_nonzero(sums == 0))
    if empty:
        yield f"{number_of(empty, 'row')} with no counts"
    unused = np.ones(counts.n_columns, dtype=bool)
    unused[counts.indices] = False
    if unused.any():
        yield f"{number_of(int(unused.sum()), 'column')} with no counts"
    if counts.n_rows > 1 and len(np.unique(sums)) == 1 and sums[0] > 0:
        yield f"all rows have the sum {sums[0]:g}: looks normalised or rarefied"
    if len(counts.data) and counts.data.max() == 1 and counts.data.min() == 1:
        yield "all counts are 0 or 1: presence and absence"
    for kind in ("row", "column"):
        names = getattr(table, f"{kind}_names")
        twice = [
            name
            for name, n in Counter(names if names is not None else ()).items()
            if n > 1
        ]
        if twice:
            yield f"{kind} names that occur more than once: {listed(twice, 3)}"
