"""``threecpo cut`` and ``threecpo merge``: fewer clusters in a folder of results."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._input_file import InputFile
from ._output_paths import new_folder, read_run
from ._run_facts import remembered_warnings, run_facts
from ._shared_options import (
    AT_LEAST_ONE,
    NOT_NEGATIVE,
    examples,
    force_option,
    json_option,
    max_unpacked_option,
    output_option,
    together,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..cluster import ThreeCPO
    from ..table import CountTable

_options = together(
    click.argument("folder", metavar="DIR", type=click.Path(path_type=Path)),
    click.option(
        "--counts",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The counts of the fit, to go on with; read as they were then.",
    ),
    click.option("--no-report", is_flag=True, help="Write no report.html."),
)
_last_options = together(force_option, max_unpacked_option, json_option)


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
@_options
@_last_options
def cut(
    folder: Path,
    clusters: int | None,
    height: float | None,
    output: Path | None,
    **given: Any,
) -> None:
    """Join the clusters in DIR along their tree, and write a folder of results.

    DIR is a folder that `threecpo fit` wrote. Its counts are not needed: rows stay
    where they are, in the union of their cluster. With --counts they are moved to
    where they fit best.
    """
    if (clusters is None) == (height is None):
        message = "cut needs one of -k and --height."
        raise click.UsageError(message)

    def change(model: ThreeCPO, table: Any, batch: Any) -> ThreeCPO:
        return model.cut(clusters, height=height, X=table, batch=batch)

    name = "joined" if clusters is None else str(clusters)
    _join(folder, output or _beside(folder, name), change, **given)


@click.command(
    epilog=examples(
        "threecpo merge atlas.threecpo 0,3 1,2",
        "threecpo merge atlas.threecpo 0,3 --counts atlas.h5ad -o merged.threecpo",
    )
)
@_options
@click.argument("unions", metavar="A,B...", type=Union(), nargs=-1, required=True)
@output_option("Folder for the results. [default: DIR's name with -joined]")
@_last_options
def merge(
    folder: Path, unions: tuple[list[int], ...], output: Path | None, **given: Any
) -> None:
    """Join clusters in DIR that you name, and write a folder of results.

    DIR is a folder that `threecpo fit` wrote; 0,3 1,2 joins clusters 0 and 3, and 1 and
    2. The counts are not needed: rows stay where they are, in the union of their
    cluster. With --counts they are moved to where they fit best.
    """

    def change(model: ThreeCPO, table: Any, batch: Any) -> ThreeCPO:
        return model.merge(list(unions), X=table, batch=batch)

    _join(folder, output or _beside(folder, "joined"), change, **given)


def _beside(folder: Path, name: str) -> Path:
    """``atlas.threecpo`` gives ``atlas-3.threecpo`` beside it."""
    path = folder.absolute()
    return path.with_name(f"{path.name.removesuffix('.threecpo')}-{name}.threecpo")


def _join(
    folder: Path,
    target: Path,
    change: Callable[[ThreeCPO, CountTable | None, Any], ThreeCPO],
    counts: Path | None,
    *,
    no_report: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write and print the results of a changed model."""
    from ..persistence import load
    from ..results import read_table
    from ..results.label_comparison import labels_in
    from ._result_folder import write_results
    from ._summary import print_summary
    from .predict import aligned, read_for

    before = read_run(folder)
    with new_folder(target, force=force) as new, remembered_warnings() as warned:
        started = time.perf_counter()
        model = load(folder / "model.npz")
        kept = table = batch = None
        known = before.get("input", {})
        if counts is None:
            kept = read_table(folder / "labels.csv")
        else:
            of_rows = known.get("batch"), known.get("known")
            source = InputFile(counts, known.get("options", {}), *of_rows)
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
        }
        with_report = not no_report
        facts = write_results(
            new, model, table, facts, with_report=with_report, kept=kept
        )
    print_summary(facts, target, as_json=as_json)
