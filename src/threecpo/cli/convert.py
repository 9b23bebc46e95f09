"""``threecpo convert``."""

from __future__ import annotations

from pathlib import Path

import click

from .._writing import folders_above
from ..io.formats import FORMATS
from ._input_file import InputFile, source_options
from ._options import examples, new_command, option, options
from ._printing import number_of, print_json, print_line

WRITTEN = [name for name, kind in FORMATS.items() if kind.writes]


@new_command(
    epilog=examples(
        "threecpo convert table.biom table.npz",
        "threecpo convert filtered_feature_bc_matrix cells.h5ad",
        "threecpo convert species.tsv sites.csv --transpose --drop taxonomy",
    )
)
@source_options
@click.argument("output", metavar="OUT", type=click.Path(path_type=Path))
@option(
    "--to",
    "new_format",
    type=click.Choice(WRITTEN),
    help="Format of the new file. [default: by its name]",
)
@option(
    "--long",
    is_flag=True,
    help="Write a csv or parquet of row, column, count.",
)
@options("force", "json")
def command(
    source: InputFile,
    output: Path,
    new_format: str | None,
    *,
    long: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Convert FILE to another format and write it to OUT."""
    from ..io import write_counts
    from ..io.write import check_target

    # Nobody should wait for a table that cannot be written.
    check_target(output, new_format, triples=long, force=force)
    table = source.read()
    with folders_above(output):
        write_counts(table, output, format=new_format, triples=long, force=force)
    n_rows, n_columns = table.shape
    if as_json:
        facts = {"output": output.absolute(), "rows": n_rows, "columns": n_columns}
        print_json(facts)
    else:
        columns = number_of(n_columns, "column")
        print_line(f"{output}: {number_of(n_rows, 'row')} x {columns}.")
