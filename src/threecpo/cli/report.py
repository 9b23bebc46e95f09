"""``threecpo report``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ._output_paths import REPORT, RUN_FILE, is_results
from ._printing import print_json, print_line
from ._shared_options import (
    examples,
    given,
    json_option,
    max_unpacked_option,
    words_options,
)


@click.command(
    epilog=examples(
        "threecpo report atlas.threecpo --rows cells --columns genes",
    )
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@words_options
@max_unpacked_option
@json_option
def command(
    folder: Path,
    *,
    rows_called: str | None,
    columns_called: str | None,
    as_json: bool,
) -> None:
    """Write report.html again, from the other files in DIR.

    DIR is a folder that `threecpo fit` wrote. The counts themselves are not needed.
    """
    from ..persistence import load
    from ..results import read_table
    from ._result_folder import write_report

    if not is_results(folder):
        message = f"{folder} is no folder of results; `threecpo fit` makes one."
        raise ValueError(message)
    facts = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    path = folder / "k_path.csv"
    model, rows = load(folder / "model.npz"), read_table(folder / "labels.csv")
    try:
        k_path = read_table(path) if path.exists() else None
        called = {"rows": rows_called, "columns": columns_called}
        facts["called"] = facts.get("called", {}) | given(called)
        write_report(folder, model, rows, k_path, facts)
    except (KeyError, TypeError, AttributeError) as error:
        message = (
            f"The files in {folder} do not fit together ({error}); run threecpo fit "
            "again."
        )
        raise ValueError(message) from error
    if as_json:
        print_json({"report": (folder / REPORT).absolute()})
    else:
        print_line(f"report: {folder / REPORT}")
