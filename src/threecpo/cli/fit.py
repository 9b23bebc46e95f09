"""``threecpo fit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .._parameters import CRITERIA, PARAMETERS
from ._block_input import BLOCK_OPTIONS, block_input, block_options
from ._input_file import InputFile, source_options
from ._known_options import known_options, known_parameters
from ._shared_options import (
    AT_LEAST_ONE,
    NOT_NEGATIVE,
    NumberOrAuto,
    batch_option,
    examples,
    force_option,
    given,
    json_option,
    output_option,
    run_options,
    words_options,
)

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    epilog=examples(
        "threecpo fit atlas.h5ad -k auto --rows cells --columns genes",
        "threecpo fit words.csv -k 5 --outliers iterative -o words-5",
        "threecpo fit orders.csv -k 8 --triples --seed 1 --json",
        "threecpo fit plots.csv -k 6 --known habitat --fix-group effort=noise",
        "threecpo fit atlas.h5ad -k 20 --max-memory 2GB --checkpoint atlas.state",
    )
)
@click.option(
    "-k",
    "--clusters",
    "n_clusters",
    type=NumberOrAuto(),
    required=True,
    help="Number of clusters, or auto to have it chosen.",
)
@output_option("Folder for the results. [default: FILE's name with .threecpo]")
@click.option(
    "--outliers",
    type=click.Choice(
        [name for name in PARAMETERS["outliers"].choices if name is not None]
    ),
    help="Mark rows that fit no cluster: in every iteration, or once in the end.",
)
@click.option(
    "--outlier-threshold",
    type=NOT_NEGATIVE,
    help="How clear an outlier must be, in nats. [default: 0]",
)
@click.option(
    "--max-clusters", type=AT_LEAST_ONE, help="Largest number for auto. [default: 30]"
)
@click.option(
    "--criterion",
    type=click.Choice(CRITERIA),
    help="How auto chooses. [default: mdl-dispersion]",
)
@run_options(
    "Number of runs, with -k auto of each K; auto: till two agree. [default: 6]"
)
@source_options
@block_options
@words_options
@click.option(
    "--stability",
    is_flag=True,
    help="Measure whether clusters are real, and write stability.csv.",
)
@batch_option
@known_options
@click.option("--xlsx", is_flag=True, help="Write segments.xlsx for spreadsheets, too.")
@click.option(
    "--write-h5ad",
    is_flag=True,
    help="Write segments.h5ad (counts and results, for scanpy), too.",
)
@click.option("--no-report", is_flag=True, help="Write no report.html.")
@force_option
@json_option
def command(
    source: InputFile,
    output: Path | None,
    batch_column: str | None,
    *,
    stability: bool,
    xlsx: bool,
    write_h5ad: bool,
    no_report: bool,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Cluster the rows of FILE and write a folder of results.

    The folder has labels.csv (rows), clusters.csv (sizes, names), columns.csv,
    top_columns.csv (what marks each cluster), report.html (open it in a browser),
    model.npz (for predict), run.json (what was done) and, for auto, k_path.csv and
    k_divisions.csv (how clusters divide from one K to the next); with --stability
    also stability.csv, with --xlsx segments.xlsx and with --write-h5ad
    segments.h5ad. It appears when it is complete.
    """
    from ..cluster import ThreeCPO
    from ._result_folder import default_folder, fit_to_folder
    from ._summary import print_summary

    known = options.pop("known_column")
    hold = not options.pop("release_known")
    source = source._replace(batch=batch_column, known=known, hold=hold)
    options |= known_parameters(options)
    target = output or default_folder(source.path)
    called = {
        "rows": options.pop("rows_called"),
        "columns": options.pop("columns_called"),
    }
    blocks = block_input(source, {name: options.pop(name) for name in BLOCK_OPTIONS})
    if blocks is not None and stability:
        message = (
            "--stability needs the counts in memory: leave it out, or the options of "
            "blocks (--max-memory, --checkpoint, --dask, --workers, --sample-rows)."
        )
        raise ValueError(message)
    if blocks is not None and write_h5ad:
        message = "--write-h5ad needs the counts in memory, not blocks of rows."
        raise ValueError(message)
    model = ThreeCPO(**given(options))
    facts = fit_to_folder(
        blocks or source,
        model,
        target,
        force=force,
        with_report=not no_report,
        called=given(called),
        with_stability=stability,
        also=[name for name, on in (("xlsx", xlsx), ("h5ad", write_h5ad)) if on],
    )
    print_summary(facts, target, as_json=as_json)
