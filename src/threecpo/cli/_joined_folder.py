"""From a folder of results to one with fewer clusters."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._input_file import InputFile
from ._output_paths import RUN_FILE, is_results, new_folder
from ._run_facts import remembered_warnings, run_facts
from ._shared_options import together

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..cluster import ThreeCPO
    from ..table import CountTable

    # From a model, counts to go on with or None, and batches, to the new model.
    Batch = list[str | None] | None
    Change = Callable[[ThreeCPO, CountTable | None, Batch], ThreeCPO]

counts_option = click.option(
    "--counts",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The counts of the fit, to go on with; read as they were then.",
)
no_report_option = click.option(
    "--no-report", is_flag=True, help="Write no report.html."
)
joined_options = together(
    click.argument("folder", metavar="DIR", type=click.Path(path_type=Path)),
    counts_option,
    no_report_option,
)


def joined_folder(
    folder: Path,
    target: Path,
    change: Change,
    counts: Path | None,
    *,
    force: bool,
    with_report: bool,
) -> dict[str, Any]:
    """Write the results of a changed model; return the content of run.json."""
    from ..persistence import load
    from ..results import read_table
    from ..results.label_comparison import labels_in
    from ._result_folder import write_results
    from .predict import aligned, read_for

    if not is_results(folder):
        message = f"{folder} is no folder of results; `threecpo fit` makes one."
        raise ValueError(message)
    before = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    with new_folder(target, force=force) as new, remembered_warnings() as warned:
        started = time.perf_counter()
        model = load(folder / "model.npz")
        kept = table = batch = None
        known = before.get("input", {})
        if counts is None:
            kept = read_table(folder / "labels.csv")
        else:
            source = InputFile(counts, known.get("options", {}), known.get("batch"))
            table, rows = source.parted(read_for(model, source))
            batch = rows.get("batch")
            table, _ = aligned(model, table, counts, zero=False)
            known = known | source.facts()
        model = change(model, table, batch)
        labels = table if table is not None else labels_in(kept or {})
        facts = run_facts(model, labels) | {
            "input": known,
            "joined_from": {"folder": str(folder), "clusters": before["clusters"]},
            "seconds": {"fit": time.perf_counter() - started},
            "warnings": warned,
            "digits": before.get("digits", "full"),
        }
        return write_results(
            new, model, table, facts, with_report=with_report, kept=kept
        )


def default_target(folder: Path, n_clusters: int | None) -> Path:
    """``atlas.threecpo`` gives ``atlas-3.threecpo`` beside it."""
    name = "joined" if n_clusters is None else str(n_clusters)
    path = folder.absolute()
    return path.with_name(f"{path.name.removesuffix('.threecpo')}-{name}.threecpo")
