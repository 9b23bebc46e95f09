"""``threecpo predict``."""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from ._block_input import block_input
from ._input_file import InputFile, like_the_fit, read_without_absent, source_options
from ._options import INPUT, examples, new_command, option, options, output_option
from ._output_paths import table_file, write_rounded
from ._printing import fail, listed, number_of, print_json, print_line, print_note

if TYPE_CHECKING:
    from ..cluster import ThreeCPO
    from ..results import Table
    from ..table import CountTable


@new_command(
    epilog=examples(
        "threecpo predict atlas.threecpo new-cells.h5ad -o new-labels.csv",
        "threecpo predict atlas.threecpo new-cells.h5ad --missing zero",
        "threecpo predict atlas.threecpo new-cells.h5ad --max-memory 2GB",
    )
)
@click.argument("model", type=click.Path(path_type=Path))
@output_option("CSV file for the labels. [default: printed]")
@option(
    "--missing",
    type=click.Choice(["error", "zero"]),
    default="error",
    show_default=True,
    help="What to do about columns of the model that FILE lacks.",
    group=INPUT,
)
@options("batch", "n_jobs")
@source_options
@options("max_memory", "workers", "force", "json")
def command(
    source: InputFile,
    model: Path,
    output: Path | None,
    missing: str,
    n_jobs: int | None,
    *,
    force: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Assign the rows of FILE to the clusters of a fitted MODEL.

    MODEL is a folder that `threecpo fit` wrote, or its model.npz. Columns are matched
    by name; columns that are not in the model are listed and ignored. A FILE that is
    read in blocks (--max-memory) must have exactly the columns of the model, unless
    --missing is zero. Texts are counted with the words of the model. FILE is read with
    the options of the fit; options given here override them.
    """
    from ..persistence import load_plain
    from ..results import predicted_rows
    from ..results.label_comparison import label_columns

    asked = {name: values.pop(name) for name in ("max_memory", "workers")}
    typed = source.options | ({} if source.batch is None else {"batch": source.batch})
    in_blocks = any(value is not None for value in asked.values())
    source = like_the_fit(source, model, in_blocks=in_blocks)
    blocks = block_input(source, asked)
    with table_file(output, force=force) as write:
        file = model / "model.npz" if model.is_dir() else model
        fitted = load_plain(file, computes=True)
        fitted.n_jobs = n_jobs
        facts: dict[str, Any] = {}
        if blocks is not None:
            found, given = blocks.read_rows()
            rows = found.predict(fitted, given.get("batch"), missing)
        else:
            read = partial(read_for, fitted)
            source, table = read_without_absent(source, typed, read)
            table, given = source.parted(table)
            zero = missing == "zero"
            table, facts = aligned(fitted, table, source.path, zero=zero)
            rows = predicted_rows(fitted, table, batch=given.get("batch"))
            rows |= label_columns(table, len(rows["row"]))
        write(rows)
    if as_json:
        extra = {"labels": rows} if output is None else {"output": output.absolute()}
        print_json(facts | extra)
    elif output is None:
        # As the file of it would be.
        with TemporaryDirectory() as folder:
            path = Path(folder, "labels.csv")
            write_rounded(rows, path)
            with path.open(encoding="utf-8", newline="") as text:
                shutil.copyfileobj(text, sys.stdout)
    else:
        print_line(f"{_done(fitted, rows)}: {output}")


def _done(model: ThreeCPO, rows: Table) -> str:
    """How many rows were put in which clusters."""
    from .._core.codes import NO_COUNTS, OUTLIER

    labels = rows["cluster"].tolist()
    named = enumerate(model.cluster_names_.tolist())
    found = [f"{labels.count(k)} in {k} ({name})" for k, name in named if k in labels]
    for code, what in ((OUTLIER, "outliers"), (NO_COUNTS, "without counts")):
        if code in labels:
            found.append(f"{labels.count(code)} {what}")
    return f"{number_of(len(labels), 'row')}, {listed(found)}"


def read_for(model: ThreeCPO, source: InputFile) -> CountTable:
    """Read a table; of texts the words of the model, as their commonest are others."""
    from .._validation import warn_if_fractional

    words = model.record_.column_names
    table = source.read() if words is None else source.read_by_words(words.tolist())
    warn_if_fractional(table.counts, type(model).__name__)
    if table.row_titles is not None and not len(table.counts.data):
        fail(f"{source.path} contains none of the words of the model.")
    return table


def aligned(
    model: ThreeCPO, table: CountTable, path: Path, *, zero: bool
) -> tuple[CountTable, dict[str, Any]]:
    """Counts of the model's columns in its order, and what was missing or extra."""
    from ..results import match_columns

    wanted = model.record_.column_names
    if wanted is None or table.column_names is None:
        nameless = "The model" if wanted is None else str(path)
        if table.shape[1] != model.n_features_in_:
            fail(
                f"{path} has {number_of(table.shape[1], 'column')}, the model has "
                f"{model.n_features_in_}, and they cannot be matched: {nameless} has "
                "no column names."
            )
        print_note(f"{nameless} has no column names: columns are taken in their order.")
        return table, {"missing": [], "extra": []}
    table, missing, extra = match_columns(wanted, table)
    if missing and not zero:
        fail(
            f"{path} lacks {number_of(len(missing), 'column')} of the model: "
            f"{listed(missing)}; --missing zero reads missing columns as zeros."
        )
    if missing:
        read = f"{number_of(len(missing), 'missing column')} read as zeros"
        print_note(f"{read}: {listed(missing)}.")
    if extra:
        ignored = f"{number_of(len(extra), 'column')} not in the model ignored"
        print_note(f"{ignored}: {listed(extra)}.")
    return table, {"missing": missing, "extra": extra}
