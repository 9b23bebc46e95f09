"""Other names of the clusters in a folder of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._writing import replaced
from ._output_paths import digest, write_rounded

if TYPE_CHECKING:
    from pathlib import Path

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
                write_rounded(table, beside, facts.get("digits", "full"))
    model.save(folder / "model.npz")
    digests |= {each: digest(folder / each) for each in sorted(ours)}
    facts |= {"files": digests, "cluster_names": model.cluster_names_.tolist()}
    return model, rows


def _digest(path: Path) -> str | None:
    return digest(path) if path.exists() else None
