"""``threecpo cut``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ._joined_folder import default_target, joined_folder, joined_options
from ._shared_options import (
    AT_LEAST_ONE,
    NOT_NEGATIVE,
    examples,
    force_option,
    json_option,
    max_unpacked_option,
    output_option,
)

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    epilog=examples(
        "threecpo cut atlas.threecpo -k 5",
        "threecpo cut atlas.threecpo --height 0.5 -o coarse.threecpo",
        "threecpo cut atlas.threecpo -k 5 --counts atlas.h5ad",
    )
)
@click.option("-k", "--clusters", type=AT_LEAST_ONE, help="Clusters to be left.")
@click.option(
    "--height", type=NOT_NEGATIVE, help="Join what the tree joins at or below."
)
@output_option("Folder for the results. [default: DIR's name with the number]")
@joined_options
@force_option
@max_unpacked_option
@json_option
def command(
    folder: Path,
    clusters: int | None,
    height: float | None,
    output: Path | None,
    counts: Path | None,
    *,
    no_report: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Join the clusters in DIR along their tree, and write a folder of results.

    DIR is a folder that `threecpo fit` wrote. Its counts are not needed: rows stay
    where they are, in the union of their cluster. With --counts they are moved to
    where they fit best.
    """
    from ._result_folder import print_summary

    if (clusters is None) == (height is None):
        message = "cut needs one of -k and --height."
        raise click.UsageError(message)
    target = output or default_target(folder, clusters)

    def change(model: Any, table: Any, batch: Any) -> Any:
        return model.cut(clusters, height=height, X=table, batch=batch)

    facts = joined_folder(
        folder, target, change, counts, force=force, with_report=not no_report
    )
    print_summary(facts, target, as_json=as_json)
