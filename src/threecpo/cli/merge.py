"""``threecpo merge``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ._joined_folder import default_target, joined_folder, joined_options
from ._shared_options import (
    examples,
    force_option,
    json_option,
    max_unpacked_option,
    output_option,
)

if TYPE_CHECKING:
    from pathlib import Path


class Union(click.ParamType):  # type: ignore[type-arg]
    """Numbers of clusters with commas between them."""

    name = "clusters"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[int]:
        if isinstance(value, list):
            return value
        parts = str(value).split(",")
        if len(parts) < 2 or not all(part.strip().isdecimal() for part in parts):
            self.fail(f"{value!r} is no list of clusters, as 0,3 is.", param, ctx)
        return [int(part) for part in parts]


@click.command(
    epilog=examples(
        "threecpo merge atlas.threecpo 0,3 1,2",
        "threecpo merge atlas.threecpo 0,3 --counts atlas.h5ad -o merged.threecpo",
    )
)
@joined_options
@click.argument("unions", metavar="A,B...", type=Union(), nargs=-1, required=True)
@output_option("Folder for the results. [default: DIR's name with -joined]")
@force_option
@max_unpacked_option
@json_option
def command(
    folder: Path,
    unions: tuple[list[int], ...],
    output: Path | None,
    counts: Path | None,
    *,
    no_report: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Join clusters in DIR that you name, and write a folder of results.

    DIR is a folder that `threecpo fit` wrote; 0,3 1,2 joins clusters 0 and 3, and 1 and
    2. The counts are not needed: rows stay where they are, in the union of their
    cluster. With --counts they are moved to where they fit best.
    """
    from ._result_folder import print_summary

    target = output or default_target(folder, None)

    def change(model: Any, table: Any, batch: Any) -> Any:
        return model.merge(list(unions), X=table, batch=batch)

    facts = joined_folder(
        folder, target, change, counts, force=force, with_report=not no_report
    )
    print_summary(facts, target, as_json=as_json)
