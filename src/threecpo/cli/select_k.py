"""``threecpo select-k``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .._parameters import CRITERIA
from ._block_input import (
    PATH_OPTIONS,
    FileInBlocks,
    block_input,
    path_options,
)
from ._input_file import InputFile, source_options
from ._known_options import known_options, known_parameters
from ._output_paths import table_file
from ._printing import number_of, print_json, print_line, print_table
from ._shared_options import (
    AT_LEAST_ONE,
    batch_option,
    examples,
    force_option,
    given,
    json_option,
    output_option,
    run_options,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ..select import KPath
    from ..table import CountTable
    from ._input_file import GivenRows


@click.command(
    epilog=examples(
        "threecpo select-k words.csv",
        "threecpo select-k atlas.h5ad --min 5 --max 15 --criterion mdl -o path.csv",
        "threecpo select-k atlas.h5ad --max-memory 2GB --checkpoint atlas.state",
    )
)
@click.option(
    "--min", "least", type=AT_LEAST_ONE, default=1, show_default=True, help="First K."
)
@click.option(
    "--max", "most", type=AT_LEAST_ONE, default=30, show_default=True, help="Last K."
)
@click.option(
    "--criterion",
    type=click.Choice(CRITERIA),
    default=CRITERIA[0],
    show_default=True,
    help="What the best K has least of.",
)
@output_option("CSV file for the table. [default: only printed]")
@run_options(
    "Number of runs of each K; auto: till two agree. "
    "[default: 4; 20 if --init is not merge]"
)
@source_options
@path_options
@batch_option
@known_options
@force_option
@json_option
def command(
    source: InputFile,
    least: int,
    most: int,
    criterion: str,
    output: Path | None,
    batch_column: str | None,
    *,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Find out how many clusters the rows of FILE have.

    Tries every number K from --min to --max; the best has the smallest total. For the
    results of the best one use `threecpo fit FILE -k auto`.
    """
    from ..results import path_table

    if least > most:
        message = f"--min {least} is larger than --max {most}."
        raise ValueError(message)
    known = options.pop("known_column")
    hold = not options.pop("release_known")
    source = source._replace(batch=batch_column, known=known, hold=hold)
    options |= known_parameters(options)
    blocks = block_input(source, {name: options.pop(name) for name in PATH_OPTIONS})
    with table_file(output, force=force) as write:
        counts, given_rows = (blocks or source).read_rows()
        wanted = _numbers(counts, source.path, least, most)
        path = _path(counts, wanted, criterion, given(options), given_rows)
        rows = path_table(path)
        if not as_json:
            print_table({n: v.tolist() for n, v in rows.items() if n != "criterion"})
        if len(path.n_clusters) < len(wanted):
            # Only what was finished before Ctrl-C.
            raise KeyboardInterrupt
        write(rows)
    if as_json:
        print_json(
            {
                "best": path.best_k,
                "runner_up": path.runner_up,
                "criterion": path.criterion,
                "sentence": path.sentence(),
                "path": rows,
            }
        )
    else:
        print_line(f"best by {path.criterion}: {number_of(path.best_k, 'cluster')}")
        print_line(path.sentence())


def _numbers(
    counts: CountTable | FileInBlocks, path: Path, least: int, most: int
) -> range:
    """Numbers of clusters to try, not more than rows that are in memory."""
    if isinstance(counts, FileInBlocks):
        return range(least, most + 1)
    wanted = range(least, min(most, counts.shape[0]) + 1)
    if not wanted:
        held = number_of(counts.shape[0], "row")
        message = f"{path} has only {held}, fewer than --min {least}."
        raise ValueError(message)
    return wanted


def _path(
    counts: CountTable | FileInBlocks,
    wanted: range,
    criterion: str,
    options: dict[str, Any],
    rows: GivenRows,
) -> KPath:
    from ..cluster import ThreeCPO
    from ..select import select_n_clusters
    from ._result_folder import watched

    with watched() as progress:
        given: dict[str, Any] = {
            "estimator": ThreeCPO(**options),
            "n_init": options.get("n_init"),
            "criterion": criterion,
            "progress": progress,
            **rows,
        }
        if isinstance(counts, FileInBlocks):
            return counts.select(wanted, **given)
        return select_n_clusters(counts, wanted, **given)
