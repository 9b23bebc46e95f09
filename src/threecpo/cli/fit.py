"""``threecpo fit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._block_input import block_input
from ._input_file import InputFile, source_options
from ._options import BLOCKS, SEARCHING, examples, given, options, output_option
from ._options import command as new_command
from ._small_files import known_parameters

if TYPE_CHECKING:
    from pathlib import Path


@new_command(
    epilog=examples(
        "threecpo fit words.csv",
        "threecpo fit atlas.h5ad --rows cells --labels cell_type --open",
        "threecpo fit orders.csv -k 8 --triples --seed 1 --json",
        "threecpo fit plots.csv -k 6 --known habitat --fix-group effort=noise",
        "threecpo fit atlas.h5ad -k 20 --max-memory 2GB --checkpoint atlas.state",
    )
)
@options("n_clusters", "max_clusters", "n_init", *SEARCHING)
@source_options
@output_option("Folder for the results. [default: FILE's name with .threecpo]")
@options(*BLOCKS, "rows", "columns", "stability", "write")
@options("no_report", "open", "force", "json")
def command(
    source: InputFile,
    output: Path | None,
    rows: str | None,
    columns: str | None,
    write: tuple[str, ...],
    *,
    stability: bool,
    no_report: bool,
    opened: bool,
    force: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Cluster the rows of FILE and write a folder of results.

    The number of clusters is chosen unless you give -k. The folder has report.html
    (open it in a browser), labels.csv (rows), clusters.csv, columns.csv,
    top_columns.csv (what marks each cluster), model.npz (for predict) and run.json.
    """
    from ..cluster import ThreeCPO
    from ._result_folder import default_folder, fit_to_folder, open_report
    from ._summary import print_summary

    blocks = block_input(source, values)
    in_memory = {"--stability": stability, "--write h5ad": "h5ad" in write}
    for flag, asked in in_memory.items():
        if blocks is not None and asked:
            message = (
                f"{flag} needs all counts in memory: leave it out, or the options of "
                "large files (--max-memory, --checkpoint, --workers)."
            )
            raise ValueError(message)
    target = output or default_folder(source.path)
    facts = fit_to_folder(
        blocks or source,
        ThreeCPO(**given(values | known_parameters(values))),
        target,
        force=force,
        with_report=not no_report,
        with_stability=stability,
        also=write,
        called=given({"rows": rows, "columns": columns}),
    )
    print_summary(facts, target, as_json=as_json)
    if opened:
        open_report(target)
