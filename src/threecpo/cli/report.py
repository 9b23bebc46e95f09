"""``threecpo report``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._metadata_options import METADATA_OPTIONS, labels_of_rows
from ._names_file import names_option, read_names
from ._output_paths import REPORT, RUN_FILE, is_results
from ._printing import print_json, print_line
from ._shared_options import (
    examples,
    given,
    json_option,
    max_unpacked_option,
    words_options,
)

if TYPE_CHECKING:
    from ..results import Table


@click.command(
    epilog=examples(
        "threecpo report atlas.threecpo --rows cells --columns genes",
        "threecpo report atlas.threecpo --labels cell_type --labels donor",
        "threecpo report atlas.threecpo --metadata donors.csv --labels age",
        "threecpo report atlas.threecpo --names atlas.threecpo/clusters.csv",
    )
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--labels",
    metavar="COLUMN",
    multiple=True,
    help="Labels of labels.csv or --metadata to show. Repeats. [default: all]",
)
@METADATA_OPTIONS["metadata"]
@METADATA_OPTIONS["metadata_index"]
@names_option
@words_options
@max_unpacked_option
@json_option
def command(
    folder: Path,
    *,
    names_file: Path | None,
    labels: tuple[str, ...],
    rows_called: str | None,
    columns_called: str | None,
    as_json: bool,
    **metadata: str | None,
) -> None:
    """Write report.html again, from the other files in DIR.

    DIR is a folder that `threecpo fit` wrote. The counts themselves are not needed.
    --names also names the clusters in its model and tables.
    """
    from ..persistence import load
    from ..results import read_table
    from ._renamed_folder import rename
    from ._result_folder import write_report, write_run

    if not is_results(folder):
        message = f"{folder} is no folder of results; `threecpo fit` makes one."
        raise ValueError(message)
    facts = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    path = folder / "k_path.csv"
    model, rows = load(folder / "model.npz"), read_table(folder / "labels.csv")
    try:
        k_path = read_table(path) if path.exists() else None
        if names_file is not None:
            names = read_names(names_file, model.n_clusters_)
            model, rows = rename(folder, model, rows, facts, names)
            write_run(folder, facts)
        rows = _with_labels(rows, labels, metadata)
        called = {"rows": rows_called, "columns": columns_called}
        facts["called"] = facts.get("called", {}) | given(called)
        write_report(folder, model, rows, k_path, facts)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        message = (
            f"The files in {folder} do not fit together ({error}); run threecpo fit "
            "again."
        )
        raise ValueError(message) from error
    if as_json:
        print_json({"report": (folder / REPORT).absolute()})
    else:
        print_line(f"report: {folder / REPORT}")


def _with_labels(
    rows: Table, asked: tuple[str, ...], metadata: dict[str, str | None]
) -> Table:
    """The table of rows with the labels that are asked for, in this order."""
    from ..results.label_comparison import label_columns, labels_in

    known: dict[str, Any] = dict(labels_in(rows))
    columns = label_columns(known, len(rows["row"]))
    if metadata["metadata"] is not None:
        known |= labels_of_rows(rows["row"].tolist(), asked, metadata)
    if not asked:
        return rows
    for kind in asked:
        if kind not in known:
            some = ", ".join(known) or "none"
            message = (
                f"labels.csv has no labels {kind!r}, only {some}; labels in a file of "
                "their own go by --metadata."
            )
            raise ValueError(message)
    others = {name: rows[name] for name in rows if name not in columns}
    return others | label_columns(
        {kind: known[kind] for kind in asked}, len(rows["row"])
    )
