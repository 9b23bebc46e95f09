"""``threecpo predict``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._options import examples, force_option, jobs_option, json_option, output_option
from ._output import table_file
from ._say import listed, note, number_of, say_json
from ._source import Source, source_options

if TYPE_CHECKING:
    import scipy.sparse as sp

    from ..cluster import ThreeCPO
    from ..table import CountTable


@click.command(
    epilog=examples(
        "threecpo predict atlas.threecpo new-cells.h5ad -o new-labels.csv",
        "threecpo predict atlas.threecpo new-cells.h5ad --missing zero",
    )
)
@click.argument("model", type=click.Path(path_type=Path))
@output_option("CSV file for the labels. [default: printed]")
@click.option(
    "--missing",
    type=click.Choice(["error", "zero"]),
    default="error",
    show_default=True,
    help="What to do about columns of the model that FILE lacks.",
)
@jobs_option
@source_options
@force_option
@json_option
def command(
    source: Source,
    model: Path,
    output: Path | None,
    missing: str,
    n_jobs: int | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Put the rows of FILE in the clusters of a fitted MODEL.

    MODEL is a folder that `threecpo fit` wrote, or its model.npz. Columns are found by
    their names; those that the model does not know are listed and left out. Of texts
    the words of the model are counted.
    """
    from ..persistence import load

    with table_file(output, force=force) as write:
        fitted = load(model / "model.npz" if model.is_dir() else model)
        fitted.set_params(n_jobs=n_jobs)
        table = read_for(fitted, source)
        X, told = aligned(fitted, table, source.path, zero=missing == "zero")
        rows = row_table(fitted, X, table)
        write(rows)
    if as_json:
        extra = {"labels": rows} if output is None else {"output": output.absolute()}
        say_json(told | extra)
    elif output is None:
        _print(rows)


def read_for(model: ThreeCPO, source: Source) -> CountTable:
    """Read a table; of texts the words of the model, as their commonest are others."""
    words = getattr(model, "feature_names_in_", None)
    if words is None or not source.holds_texts():
        return source.read()
    table = source.read(text_options={"vocabulary": words.tolist()})
    if not table.X.nnz:
        message = f"{source.path} holds none of the words that the model knows."
        raise ValueError(message)
    return table


def aligned(
    model: ThreeCPO, table: CountTable, path: Path, *, zero: bool
) -> tuple[sp.csr_array, dict[str, Any]]:
    """Counts of the model's columns in its order, and what was missing or extra."""
    wanted, held = getattr(model, "feature_names_in_", None), table.column_names
    if wanted is None or held is None:
        return _by_place(
            model, table, path, "The model" if wanted is None else str(path)
        )
    places = {name: j for j, name in enumerate(held)}
    missing = [name for name in wanted if name not in places]
    known = set(wanted)
    extra = [name for name in held if name not in known]
    if missing and not zero:
        message = (
            f"{path} lacks {number_of(len(missing), 'column')} of the model: "
            f"{listed(missing)}; --missing zero takes absent columns for zeros."
        )
        raise ValueError(message)
    if missing:
        note(f"{number_of(len(missing), 'column')} taken for zeros: {listed(missing)}.")
    if extra:
        note(
            f"{number_of(len(extra), 'column')} that the model does not know left out: "
            f"{listed(extra)}."
        )
    return _taken(table.X, [places.get(name, -1) for name in wanted]), {
        "missing": missing,
        "extra": extra,
    }


def _by_place(
    model: ThreeCPO, table: CountTable, path: Path, nameless: str
) -> tuple[sp.csr_array, dict[str, Any]]:
    if table.shape[1] != model.n_features_in_:
        message = (
            f"{path} has {number_of(table.shape[1], 'column')}, the model has "
            f"{model.n_features_in_}, and they cannot be matched: {nameless} has no "
            "column names."
        )
        raise ValueError(message)
    note(f"{nameless} has no column names: columns are taken in their order.")
    return table.X, {"missing": [], "extra": []}


def _taken(X: sp.csr_array, places: list[int]) -> sp.csr_array:
    """Columns at these places; zeros for -1."""
    import numpy as np
    import scipy.sparse as sp

    new = np.array(places)
    there = np.flatnonzero(new >= 0)
    shape = (X.shape[1], len(new))
    ones = np.ones(len(there), dtype=X.dtype)
    return (X @ sp.csr_array((ones, (new[there], there)), shape=shape)).tocsr()


def row_table(model: ThreeCPO, X: sp.csr_array, table: CountTable) -> dict[str, Any]:
    """Columns of labels.csv that hold for rows that a model was not fitted on."""
    from .._validation import check_counts, warn_if_fractional

    # Names have done their work; the estimator would miss them in sparse counts.
    counts = check_counts(X)
    warn_if_fractional(counts, type(model).__name__)
    results = model.record_.describe(counts)
    names = table.row_names
    return {
        "row": [str(i) for i in range(counts.n_rows)] if names is None else names,
        "cluster": results.labels,
        "nearest": results.nearest_labels,
        "margin": results.margins,
        "outlier_score": results.outlier_scores,
    }


def _print(rows: dict[str, Any]) -> None:
    import shutil
    from tempfile import TemporaryDirectory

    from ..results import write_table

    with TemporaryDirectory() as folder:
        path = Path(folder, "labels.csv")
        write_table(rows, path)
        with path.open(encoding="utf-8", newline="") as file:
            shutil.copyfileobj(file, sys.stdout)
