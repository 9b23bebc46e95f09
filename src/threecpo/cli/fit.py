"""``threecpo fit``, and ``threecpo demo``: a fit of data that come along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ._block_input import block_input
from ._input_file import InputFile, source_options
from ._options import (
    BLOCKS,
    SEARCHING,
    examples,
    given,
    new_command,
    options,
    output_option,
)
from ._output_paths import run_of
from ._printing import fail, print_line


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
@options(*BLOCKS, "title", "rows", "columns", "stability", "write")
@options("no_report", "open", "force", "json")
def command(
    source: InputFile,
    output: Path | None,
    title: str | None,
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
    top_columns.csv (markers of each cluster), model.npz (for predict) and run.json.
    """
    from ..cluster.plain import ThreeCPO
    from ._result_folder import (
        default_folder,
        fit_to_folder,
        open_report,
        print_summary,
    )

    blocks = block_input(source, values)
    in_memory = {"--stability": stability, "--write h5ad": "h5ad" in write}
    for flag, asked in in_memory.items():
        if blocks is not None and asked:
            fail(
                f"{flag} needs all counts in memory: leave it out, or the options of "
                "large files (--max-memory, --checkpoint, --workers)."
            )
    model: Any = ThreeCPO(**given(values))
    target = output or default_folder(source.path)
    facts = fit_to_folder(
        (blocks or source).read_rows,
        model,
        target,
        about=source.facts,
        force=force,
        with_report=not no_report,
        with_stability=stability,
        also=write,
        title=title,
        nouns=given({"row_noun": rows, "column_noun": columns}),
    )
    print_summary(facts, target, as_json=as_json)
    if opened:
        open_report(target)


NAME = "Jane Austen's novels"


@new_command("demo", epilog=examples("threecpo demo", "threecpo demo --open"))
@output_option("Folder for the results. [default: austen.threecpo]")
@options("open")
def demo(output: Path | None, *, opened: bool) -> None:
    """Cluster the chapters of Jane Austen's six novels and write a report.

    Each row is a chapter, each column a word, each count how often the chapter uses
    the word. Nothing is downloaded.
    """
    target = output or Path("austen.threecpo")
    run = run_of(target)
    if run and run.get("input", {}).get("name") != NAME:
        message = f"{target} holds other results; choose another folder with -o."
        raise FileExistsError(message)
    print_line("Clustering the 269 chapters of Jane Austen's six novels.")
    print_line(
        "The fit sees how often each of 2000 words occurs, but neither the titles nor "
        "the number of novels."
    )
    from ..cluster.plain import ThreeCPO
    from ..datasets import load_austen
    from ._result_folder import fit_to_folder, open_report, print_summary

    model: Any = ThreeCPO(random_state=0)
    facts = fit_to_folder(
        lambda: (load_austen(), {}),
        model,
        target,
        force=True,
        nouns={"row_noun": "chapters", "column_noun": "words"},
    )
    print_summary(facts, target, as_json=False)
    if facts["agreement"]["novel"]["ARI"] == 1:
        print_line("Each cluster is one novel, named after the words that mark it.")
    if opened:
        open_report(target)
    else:
        print_line("Open the report in a browser; --open does it for you.")
