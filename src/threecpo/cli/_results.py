"""From counts to a folder of results: the fit, its tables, model, run and report."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .._extras import require
from ._fitting import fit
from ._output import RUN_FILE, new_file, new_folder
from ._run_info import input_info, remembered_warnings, run_info
from ._say import number_of, plain, say, say_json

if TYPE_CHECKING:
    from ..cluster import ThreeCPO
    from ..table import CountTable

    Table = dict[str, Any]

REPORT = "report.html"
# The rest of run.json the report knows from the model.
REPORTED = (
    "command",
    "finished",
    "input",
    "agreement",
    "seconds",
    "warnings",
    "versions",
)


class Readable(Protocol):
    """Where counts come from, and what is known of that place."""

    def read(self) -> CountTable: ...

    def told(self) -> dict[str, Any]: ...


def fit_to_folder(
    source: Readable,
    model: ThreeCPO,
    target: Path,
    *,
    force: bool,
    with_report: bool = True,
) -> dict[str, Any]:
    """Read, fit and write everything; return what run.json says."""
    if with_report:
        # A long fit should not end in what could be told before.
        require("jinja2", "report", "The report (--no-report leaves it out)")
    with new_folder(target, force=force) as folder, remembered_warnings() as warned:
        started = time.perf_counter()
        table = source.read()
        read = time.perf_counter()
        fit(model, table)
        fitted = time.perf_counter()
        told = run_info(model, table) | {
            "input": source.told() | input_info(table),
            "seconds": {"read": read - started, "fit": fitted - read},
            "warnings": warned,
        }
        rows, path = write_tables(folder, model, table)
        model.save(folder / "model.npz")
        write_run(folder, told)
        if with_report:
            write_report(folder, model, rows, path, plain(told))
    return told


def write_tables(
    folder: Path, model: ThreeCPO, table: CountTable
) -> tuple[Table, Table | None]:
    """Write the csv files; return the table of rows and that of the path."""
    from .. import results

    rows = results.row_table(model, table.X, row_names=table.row_names)
    results.write_table(rows, folder / "labels.csv")
    results.write_table(results.column_table(model), folder / "columns.csv")
    results.write_table(results.top_table(model), folder / "top_columns.csv")
    if not hasattr(model, "k_path_"):
        return rows, None
    path = results.path_table(model.k_path_)
    results.write_table(path, folder / "k_path.csv")
    return rows, path


def write_run(folder: Path, told: dict[str, Any]) -> None:
    """Write run.json."""
    text = json.dumps(plain(told), indent=2, allow_nan=False)
    (folder / RUN_FILE).write_text(text + "\n", encoding="utf-8")


def write_report(
    folder: Path,
    model: ThreeCPO,
    rows: Table,
    path: Table | None,
    told: dict[str, Any],
) -> None:
    """Write report.html from what the other files hold."""
    from .. import report

    title = told["input"].get("name", "")
    facts = {name: told[name] for name in REPORTED if told.get(name)}
    summary = report.summarise(model, rows, path=path, run=facts, title=title)
    with new_file(folder / REPORT, force=True) as beside:
        beside.write_text(report.render(summary), encoding="utf-8", newline="\n")


def tell(told: dict[str, Any], target: Path, *, as_json: bool) -> None:
    """Say what was found and where it is."""
    if as_json:
        say_json(told | {"output": target.absolute()})
        return
    sizes, groups = told["cluster_sizes"], told["column_groups"]
    outliers = told["outliers"]
    say(
        f"{number_of(told['rows'], 'row')} in {number_of(len(sizes), 'cluster')} "
        f"({', '.join(map(str, sizes))})"
        + (f" and {number_of(outliers, 'outlier')}" if outliers else "")
    )
    say(
        f"{number_of(told['columns'], 'column')}: {groups['relevant']} relevant, "
        f"{groups['shared']} shared, {groups['noise']} noise"
    )
    if "agreement" in told:
        say(f"adjusted Rand index with the labels: {told['agreement']['ARI']:.3f}")
    page = target / REPORT
    say(f"report: {page}" if page.exists() else f"results: {target}")


def default_folder(path: Path) -> Path:
    """``atlas.h5ad`` and ``atlas.csv.gz`` give ``atlas.threecpo`` where we are."""
    name = path.absolute().name
    if not path.is_dir():
        packed = Path(name).suffix in (".gz", ".bz2", ".xz")
        name = Path(Path(name).stem).stem if packed else Path(name).stem
    return Path(f"{name}.threecpo")
