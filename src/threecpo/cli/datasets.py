"""``threecpo datasets``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ._output_paths import new_file
from ._printing import listed, print_json, print_line, print_table, size_of
from ._shared_options import examples, force_option, json_option, output_option


@click.group(
    epilog=examples(
        "threecpo datasets list",
        "threecpo datasets fetch bbcsports",
    )
)
def command() -> None:
    """List or fetch the data sets of the paper."""


@command.command(
    "list",
    epilog=examples(
        "threecpo datasets list",
    ),
)
@json_option
def list_(*, as_json: bool) -> None:
    """List the data sets, what they hold and under which terms."""
    from ..datasets import catalogue

    entries = list(catalogue().values())
    names = ("name", "paper_name", "description", "licence", "home")
    columns = {name: [getattr(entry, name) for entry in entries] for name in names}
    if as_json:
        print_json(
            [
                dict(zip(names, row, strict=True))
                for row in zip(*columns.values(), strict=True)
            ]
        )
    else:
        print_table(
            {name: columns[name] for name in ("name", "description", "licence")}
        )


@command.command(
    epilog=examples(
        "threecpo datasets fetch bbcsports && threecpo fit bbcsports.npz -k 5",
    )
)
@click.argument("name")
@output_option("npz file for the counts. [default: NAME.npz]")
@click.option(
    "--home",
    type=click.Path(path_type=Path),
    help="Folder of downloads. [default: THREECPO_DATA, or the user's cache]",
)
@force_option
@json_option
def fetch(
    name: str, output: Path | None, home: Path | None, *, force: bool, as_json: bool
) -> None:
    """Download the data set NAME, once, and write its counts to a file."""
    from ..datasets import catalogue
    from ..io import write_counts

    known = catalogue()
    if name not in known:
        message = (
            f"There is no data set {name!r}; there are {listed(known, len(known))}."
        )
        raise ValueError(message)
    target = output or Path(f"{name}.npz")
    with new_file(target, force=force) as beside:
        table = known[name].load(data_home=home, progress=sys.stderr.isatty())
        write_counts(table, beside, format="npz")
    n_rows, n_columns = table.shape
    if as_json:
        print_json({"output": target.absolute(), "rows": n_rows, "columns": n_columns})
    else:
        print_line(f"{target}: {size_of(table.shape)}.")
        print_line(f"Terms: {table.licence}")
        print_line(f"Please cite: {table.citation}")
