"""``threecpo convert``."""

from __future__ import annotations

from pathlib import Path

import click

from .._writing import folders_above
from ._options import examples, force_option, json_option
from ._say import number_of, say, say_json
from ._source import Source, source_options

WRITTEN = ("csv", "parquet", "npz", "mtx", "10x", "h5ad")


@click.command(
    epilog=examples(
        "threecpo convert table.biom table.npz",
        "threecpo convert filtered_feature_bc_matrix cells.h5ad",
        "threecpo convert species.tsv sites.csv --transpose --drop taxonomy",
    )
)
@source_options
@click.argument("output", metavar="OUT", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "new_format",
    type=click.Choice(WRITTEN),
    help="Kind of the new file. [default: by its name]",
)
@click.option(
    "--long", is_flag=True, help="Write a csv or parquet of row, column, count."
)
@force_option
@json_option
def command(
    source: Source,
    output: Path,
    new_format: str | None,
    *,
    long: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write the counts of FILE to a file OUT of another kind."""
    from ..io import write_counts
    from ..io.write import check_target

    # Nobody shall wait for a table that cannot be written.
    check_target(output, new_format, triples=long, force=force)
    table = source.read()
    with folders_above(output):
        write_counts(table, output, format=new_format, triples=long, force=force)
    n_rows, n_columns = table.shape
    if as_json:
        told = {"output": output.absolute(), "rows": n_rows, "columns": n_columns}
        say_json(told)
    else:
        say(f"{output}: {number_of(n_rows, 'row')} x {number_of(n_columns, 'column')}.")
