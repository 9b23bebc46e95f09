"""``threecpo test``: whether labelled groups are distinct from their neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ._input_file import InputFile, source_options
from ._options import CLUSTERS, examples, new_command, option, options, output_option
from ._output_paths import table_file
from ._printing import clean, listed, number_of, print_json, print_line, print_rich

if TYPE_CHECKING:
    from pathlib import Path

    from rich.tree import Tree

    from ..results import LabelSignificance


_JSON_FIELDS = ("name", "groups", "summary", "sentences", "left_out", "linkage")


@new_command(
    epilog=examples(
        "threecpo test atlas.h5ad --labels leiden",
        "threecpo test plots.csv --labels treatment --independent --batch site",
    )
)
@option(
    "--independent",
    is_flag=True,
    help="The labels were made without these counts, such as treatments.",
    group=CLUSTERS,
)
@option("--max-memory", hidden=True)
@options("batch", "random_state", "n_jobs")
@output_option("CSV file for the table. [default: only printed]")
@source_options
@options("force", "json")
def command(
    source: InputFile,
    output: Path | None,
    random_state: int,
    n_jobs: int | None,
    max_memory: str | None,
    *,
    independent: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Test whether labelled groups of rows are distinct from their neighbours.

    Prints a tree of the groups in the column --labels, with a p-value for each join.
    Groups made from these counts, such as clusters by any method, must gain more than
    the best division of tables without clusters. Use --independent if the labels were
    made without these counts, such as treatments; they are then compared with
    permutations.
    """
    from ..io.metadata import columns_for_labels
    from ..results import label_significance
    from ..results.significance import DISTINCT

    if max_memory is not None:
        message = (
            "test reads all counts into memory; test a sample of the rows instead."
        )
        raise click.UsageError(message)
    with table_file(output, force=force) as write:
        table, rows = source.read_rows()
        if len(table.label_kinds) != 1:
            others = [*table.label_kinds] or columns_for_labels(source.path)
            some = f", such as {listed(others, 5)}" if others else ""
            message = f"Choose one column of groups with --labels COLUMN{some}."
            raise click.UsageError(message)
        found = label_significance(
            table,
            independent=independent,
            batch=rows.get("batch"),
            random_state=random_state,
            n_jobs=n_jobs,
        )
        write(found.columns)
    if as_json:
        fields = {name: getattr(found, name) for name in _JSON_FIELDS}
        print_json({"independent": independent, **fields, "table": found.columns})
        return
    print_rich(_branch(found, len(found.linkage) + len(found.groups) - 1))
    print_line(found.summary)
    verdicts = found.columns["verdict"].tolist()
    for verdict, sentence in zip(verdicts, found.sentences, strict=False):
        if verdict != DISTINCT:
            print_line(sentence)


def _branch(found: LabelSignificance, node: int) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    from ..results.significance import DISTINCT, p_text

    table, n_groups = found.columns, len(found.groups)
    verdict, rows = str(table["verdict"][node]), int(table["rows"][node])
    if node < n_groups:
        text = f"{found.groups[node]} ({number_of(rows, 'row')}): {verdict}"
        return Tree(Text(clean(text)))
    parts = [p_text(float(table["p_adjusted"][node]))]
    parts += [verdict] if verdict != DISTINCT else []
    tree = Tree(Text(clean(", ".join(filter(None, parts)))))
    below = found.linkage[node - n_groups, :2].astype(int).tolist()
    tree.children += [_branch(found, each) for each in below]
    return tree
