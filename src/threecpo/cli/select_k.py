"""``threecpo select-k``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .._parameters import PARAMETERS
from ._block_input import FileInBlocks, block_input
from ._input_file import InputFile, source_options
from ._options import (
    BLOCKS,
    CLUSTERS,
    SEARCHING,
    Number,
    examples,
    given,
    new_command,
    option,
    options,
    output_option,
)
from ._output_paths import table_file
from ._printing import fail, number_of, print_json, print_line, print_table

if TYPE_CHECKING:
    from pathlib import Path


_of_k = partial(option, type=Number(1), metavar="K", show_default=True, group=CLUSTERS)


@new_command(
    epilog=examples(
        "threecpo select-k words.csv",
        "threecpo select-k atlas.h5ad --min 5 --max 15 --criterion mdl -o path.csv",
        "threecpo select-k atlas.h5ad --max-memory 2GB --checkpoint atlas.state",
    )
)
@_of_k("--min", "least", default=1, help="First K.")
@_of_k("--max", "most", default=PARAMETERS["max_clusters"].default, help="Last K.")
@options("criterion")
@output_option("CSV file for the table. [default: only printed]")
@options("n_init_of_each", *SEARCHING)
@source_options
@options(*BLOCKS, "force", "json")
def command(
    source: InputFile,
    least: int,
    most: int,
    criterion: str | None,
    output: Path | None,
    *,
    force: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Compare numbers of clusters for the rows of FILE.

    Tries every number K from --min to --max; the best has the smallest total. For K
    that fit almost as well, reproducibility says how far two halves of the rows agree
    on their clusters (1: fully, 0: by chance). For the results of the best one use
    `threecpo fit FILE`.
    """
    from ..cluster.plain import ThreeCPO
    from ..results import path_table
    from ..select import select_n_clusters
    from ._result_folder import watched

    if least > most:
        fail(f"--min {least} is larger than --max {most}.")
    blocks = block_input(source, values)
    estimator = ThreeCPO(**given(values))
    estimator.calibrates = True
    with table_file(output, force=force) as write:
        counts, given_rows = (blocks or source).read_rows()
        if isinstance(counts, FileInBlocks):
            select: Any = counts.select
        else:
            # Not more than rows that are in memory.
            select, n_rows = partial(select_n_clusters, counts), counts.shape[0]
            if n_rows < least:
                held = number_of(n_rows, "row")
                fail(f"{source.path} has only {held}, fewer than --min {least}.")
            most = min(most, n_rows)
        wanted = range(least, most + 1)
        with watched() as progress:
            path = select(
                wanted,
                estimator=estimator,
                n_init=values["n_init"],
                criterion=criterion or PARAMETERS["criterion"].default,
                progress=progress,
                **given_rows,
            )
        rows = path_table(path)
        if not as_json:
            print_table({n: v.tolist() for n, v in rows.items() if n != "criterion"})
        if len(path.n_clusters) < len(wanted):
            # Only what was finished before Ctrl-C.
            raise KeyboardInterrupt
        write(rows)
    if as_json:
        found = {"best": path.best_k, "runner_up": path.runner_up}
        said = {"criterion": path.criterion, "sentence": path.sentence()}
        print_json({**found, **said, "path": rows})
    else:
        print_line(f"best by {path.criterion}: {number_of(path.best_k, 'cluster')}")
        print_line(path.sentence())
