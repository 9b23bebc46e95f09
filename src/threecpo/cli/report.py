"""``threecpo report``: a folder's report again, with other labels or names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._writing import replaced
from ._input_file import METADATA_OPTIONS, labels_of_rows
from ._known_options import names_option, read_names
from ._output_paths import REPORT, digest, read_run, write_rounded
from ._printing import print_json, print_line
from ._remembered import remembered
from ._shared_options import (
    examples,
    given,
    json_option,
    max_unpacked_option,
    words_options,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..cluster import ThreeCPO
    from ..results import Table


def rename(
    folder: Path, model: ThreeCPO, rows: Table, facts: dict[str, Any], names: Any
) -> tuple[ThreeCPO, Table]:
    """Name the clusters in the model and in all tables; ``facts`` are changed too.

    Tables that somebody has edited stay, but for the names in labels.csv.
    """
    from .. import results
    from ..results.fitted import names_of_rows

    model = model.name_clusters(names)
    name = {"name": names_of_rows(model.record_, rows["cluster"])}
    # In the place of the older names, where there are some.
    rows = rows | name
    tables = {
        "labels.csv": rows,
        "clusters.csv": results.cluster_table(model),
        "top_columns.csv": results.top_table(model),
    }
    digests = facts.get("files", {})
    ours = {
        each
        for each in (*tables, "model.npz")
        if _digest(folder / each) == digests.get(each)
    }
    for file, table in tables.items():
        if file in ours or file == "labels.csv":
            with replaced(folder / file) as beside:
                write_rounded(table, beside)
    model.save(folder / "model.npz")
    digests |= {each: digest(folder / each) for each in sorted(ours)}
    facts |= {"files": digests, "cluster_names": model.cluster_names_.tolist()}
    return model, rows


def _digest(path: Path) -> str | None:
    return digest(path) if path.exists() else None


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
@names_option("Names of clusters: json, a csv with cluster and name, or a name a line.")
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
    **metadata: Any,
) -> None:
    """Write report.html again, from the other files in DIR.

    DIR is a folder that `threecpo fit` wrote. The counts themselves are not needed.
    --names also names the clusters in its model and tables.
    """
    from ..persistence import load
    from ..report.words import nouns
    from ..results import read_table
    from ..results.label_comparison import labels_in
    from ._result_folder import write_report, write_run

    facts = read_run(folder)
    path = folder / "k_path.csv"
    model, rows = load(folder / "model.npz"), read_table(folder / "labels.csv")
    try:
        k_path = read_table(path) if path.exists() else None
        if names_file is not None:
            names = read_names(names_file, model.n_clusters_, facts["cluster_sizes"])
            model, rows = rename(folder, model, rows, facts, names)
        if metadata["metadata"] is None and not {*labels} <= {*labels_in(rows)}:
            metadata = remembered(folder).options
        rows = _with_labels(rows, labels, metadata)
        called = given({"rows": rows_called, "columns": columns_called})
        if called:
            nouns(called)
            facts["called"] = facts.get("called", {}) | called
        if called or names_file is not None:
            write_run(folder, facts)
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
        print_line(f"Report: {folder / REPORT}")


def _with_labels(
    rows: Table, asked: tuple[str, ...], metadata: Mapping[str, Any]
) -> Table:
    """The table of rows with the labels that are asked for, in this order."""
    from ..results.label_comparison import label_columns, labels_in

    known: dict[str, Any] = dict(labels_in(rows))
    columns = label_columns(known, len(rows["row"]))
    if metadata.get("metadata") is not None:
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
