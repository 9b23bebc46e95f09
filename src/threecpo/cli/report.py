"""``threecpo report``: a folder's report again, with other labels or names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._writing import replaced
from ._input_file import labels_of_rows, remembered
from ._options import examples, given, new_command, options
from ._output_paths import REPORT, digest, read_run, write_rounded
from ._printing import fail, print_json, print_line
from ._small_files import read_names

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
    from ._result_folder import read_stability

    model = model.name_clusters(names)
    # In the place of the older names, where there are some.
    rows = rows | {"name": names_of_rows(model.record_, rows["cluster"])}
    tables = {
        "labels.csv": rows,
        "clusters.csv": results.cluster_table(model, stability=read_stability(folder)),
        "top_columns.csv": results.top_table(model),
    }
    digests = facts.get("files", {})
    files = {each: folder / each for each in (*tables, "model.npz")}
    ours = {
        each
        for each, path in files.items()
        if (digest(path) if path.exists() else None) == digests.get(each)
    }
    for file, table in tables.items():
        if file in ours or file == "labels.csv":
            with replaced(folder / file) as beside:
                write_rounded(table, beside)
    model.save(folder / "model.npz")
    digests |= {each: digest(folder / each) for each in sorted(ours)}
    facts |= {"files": digests, "cluster_names": model.cluster_names_.tolist()}
    return model, rows


@new_command(
    epilog=examples(
        "threecpo report atlas.threecpo --rows cells --columns genes",
        "threecpo report atlas.threecpo --labels cell_type --labels donor",
        "threecpo report atlas.threecpo --metadata donors.csv --labels age",
        "threecpo report atlas.threecpo --names atlas.threecpo/clusters.csv",
    )
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@options("labels", "metadata", "metadata_index", "max_unpacked")
@options("names", "title", "rows", "columns", "open", "json")
def command(
    folder: Path,
    *,
    names: Path | None,
    labels: tuple[str, ...],
    opened: bool,
    as_json: bool,
    title: str | None,
    rows: str | None,
    columns: str | None,
    **metadata: Any,
) -> None:
    """Rewrite report.html from the other files in DIR.

    DIR is a folder that `threecpo fit` wrote. The counts themselves are not needed.
    --names also names the clusters in its model and tables.
    """
    from ..persistence import load_plain
    from ..report.words import nouns
    from ..results import read_table
    from ..results.label_comparison import labels_in
    from ._result_folder import open_report, write_report, write_run

    facts = read_run(folder)
    path = folder / "k_path.csv"
    model = load_plain(folder / "model.npz", computes=False)
    table = read_table(folder / "labels.csv")
    try:
        k_path = read_table(path) if path.exists() else None
        if names is not None:
            called = read_names(names, model.n_clusters_, facts["cluster_sizes"])
            model, table = rename(folder, model, table, facts, called)
        if metadata["metadata"] is None and not {*labels} <= {*labels_in(table)}:
            metadata = remembered(folder).options
        table = _with_labels(table, labels, metadata)
        words = given({"row_noun": rows, "column_noun": columns})
        words = facts.get("nouns", {}) | words
        nouns(**words)
        new = given({"title": title, "nouns": words or None})
        facts |= new
        if new or names is not None:
            write_run(folder, facts)
        write_report(folder, model, table, k_path, facts)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        fail(
            f"The files in {folder} do not fit together ({error}); run threecpo fit "
            "again."
        )
    if as_json:
        print_json({"report": (folder / REPORT).absolute()})
    else:
        print_line(f"Report: {folder / REPORT}")
    if opened:
        open_report(folder)


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
            fail(
                f"labels.csv has no column {kind!r}; its labels are {some}. "
                "Pass others in a separate file with --metadata."
            )
    others = {name: rows[name] for name in rows if name not in columns}
    return others | label_columns(
        {kind: known[kind] for kind in asked}, len(rows["row"])
    )
