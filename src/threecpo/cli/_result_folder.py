"""From counts to a folder of results: the fit, its tables, model, run and report."""

from __future__ import annotations

import json
import sys
import time
import warnings
import webbrowser
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .._extras import require
from .._progress import RunBar
from .._writing import replaced
from ..report import words
from ._block_input import FileInBlocks
from ._options import given
from ._output_paths import REPORT, RUN_FILE, digest, new_folder, write_rounded
from ._printing import as_options, print_note
from ._run_facts import remembered_warnings, run_facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..cluster import ThreeCPO
    from ..results import Table
    from ..table import CountTable
    from ._input_file import GivenRows

STABILITY = "stability.csv"
# Counts that colour the map of the report.
MAP_COUNTS = "map_counts.json"
# The rest of run.json the report knows from the model.
REPORTED = (
    *("command", "finished", "input", "agreement", "seconds", "warnings"),
    "versions",
)
# What a table says of the data in it.
OF_THE_DATA = ("name", "description", "citation", "source")
# Files for other programs, with what writes them.
ALSO = {
    "xlsx": ("xlsxwriter", "io", "--write xlsx"),
    "h5ad": ("anndata", "anndata", "--write h5ad"),
}


class Readable(Protocol):
    """Where counts come from, and what is known of that place."""

    def read_rows(self) -> tuple[CountTable | FileInBlocks, GivenRows]: ...

    def facts(self) -> dict[str, Any]: ...


def watched() -> RunBar:
    """A bar on a terminal; elsewhere a line after every half minute."""
    return RunBar(quiet=not sys.stderr.isatty())


def fit_to_folder(
    source: Readable,
    model: ThreeCPO,
    target: Path,
    *,
    force: bool,
    with_report: bool = True,
    with_stability: bool = False,
    also: Sequence[str] = (),
    title: str | None = None,
    nouns: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Read, fit and write everything; return the content of run.json."""
    from ..results.input_checks import find_problems, problem_lines

    words.nouns(**nouns or {})  # what is wrong is said before a long fit
    if with_report:
        # A long fit should not end in an error that was there from the beginning.
        require("jinja2", "report", "The report (--no-report leaves it out)")
    for kind in also:
        require(*ALSO[kind])
    with new_folder(target, force=force) as folder, remembered_warnings() as warned:
        started = time.perf_counter()
        counts, rows = source.read_rows()
        if not isinstance(counts, FileInBlocks):
            for line in problem_lines(find_problems(counts)):
                warnings.warn(as_options(line), UserWarning, stacklevel=2)
        read = time.perf_counter()
        model.calibrates = True
        with watched() as progress:
            if isinstance(counts, FileInBlocks):
                counts.fit(model, progress, rows)
            else:
                model.fit(counts, progress=progress, **rows)
        fitted = time.perf_counter()
        about = [(name, getattr(counts, name)) for name in OF_THE_DATA]
        facts = run_facts(model, counts.label_kinds) | {
            "input": source.facts() | {name: text for name, text in about if text},
            "seconds": {"read": read - started, "fit": fitted - read},
            "warnings": warned,
            **given({"title": title, "nouns": nouns or None}),
        }
        if with_stability:
            assert not isinstance(counts, FileInBlocks)
            facts["stability"] = write_stability(folder, model, counts)
        return write_results(
            folder, model, counts, facts, with_report=with_report, also=also
        )


def _write_also(
    folder: Path, model: ThreeCPO, rows: Table, counts: Any, also: Sequence[str]
) -> None:
    """Write what other programs open."""
    if "xlsx" in also:
        from ..results import workbook, write_workbook

        sheets = workbook(model, rows, counts, read_stability(folder))
        write_workbook(sheets, folder / "segments.xlsx")
    if "h5ad" in also:
        from ..anndata import to_anndata

        adata, found = to_anndata(model, counts), read_stability(folder)
        if found is not None:
            adata.uns["threecpo"]["verdicts"] = found["verdict"][: model.n_clusters_]
        adata.write_h5ad(folder / "segments.h5ad")


def write_results(
    folder: Path,
    model: ThreeCPO,
    counts: CountTable | FileInBlocks | None,
    facts: dict[str, Any],
    *,
    with_report: bool,
    kept: Table | None = None,
    also: Sequence[str] = (),
) -> dict[str, Any]:
    """Write tables, model, run and report; return the content of run.json.

    ``kept`` is a table of the same rows, for what follows from counts alone.
    """
    from .. import results
    from .._plain import plain
    from ..results.figure_data import map_counts
    from ..results.label_comparison import label_columns

    if isinstance(counts, FileInBlocks):
        rows = counts.row_table(model)
    else:
        rows = results.row_table(model, counts)
    if kept is not None:
        found = {name: rows[name] for name in rows if not name.startswith("map_")}
        rows = {**rows, **kept, **found}
    if counts is not None:
        rows |= label_columns(counts.label_kinds, len(rows["row"]))
    # The report shows the same, now and when it is written again.
    rows = write_rounded(rows, folder / "labels.csv")
    if counts is not None and not isinstance(counts, FileInBlocks):
        colours = map_counts(model.record_, rows, counts.counts.matrix())
        if colours is not None:
            (folder / MAP_COUNTS).write_text(json.dumps(colours), encoding="utf-8")
    tables = {
        "columns.csv": results.column_table(model),
        "top_columns.csv": results.top_table(model),
        "clusters.csv": results.cluster_table(model, stability=read_stability(folder)),
    }
    path = None
    if hasattr(model, "k_path_"):
        tables["k_divisions.csv"] = model.k_path_.divisions()
        table = results.path_table(model.k_path_)
        path = write_rounded(table, folder / "k_path.csv")
    for name, table in tables.items():
        write_rounded(table, folder / name)
    _write_also(folder, model, rows, counts, also)
    model.save(folder / "model.npz")
    # What --force compares with before it replaces the folder.
    facts["files"] = {each.name: digest(each) for each in sorted(folder.iterdir())}
    facts = plain(facts)
    write_run(folder, facts)
    if with_report:
        write_report(folder, model, rows, path, facts)
    return facts


def _read_map_counts(folder: Path, model: ThreeCPO) -> dict[str, Any] | None:
    """Read the counts that colour the map of the report; others are refused."""
    path, n_columns = folder / MAP_COUNTS, model.record_.n_columns
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        places = [*found["columns"], *(j for row in found["strongest"] for j in row)]
        fits = all(type(j) is int and 0 <= j < n_columns for j in places)
        fits &= len(found["values"]) == len(found["columns"])
        fits &= {len(b64decode(text)) for text in found["values"]} <= {
            len(found["strongest"])
        }
    except (ValueError, TypeError, KeyError, RecursionError):
        fits = False
    if not fits:
        message = f"{path} is damaged. Delete it, or run `threecpo fit` again."
        raise ValueError(message)
    return {name: found[name] for name in ("columns", "values", "strongest")}


def write_stability(
    folder: Path, model: ThreeCPO, counts: CountTable
) -> dict[str, Any]:
    """Write stability.csv; return what run.json says of it."""
    with watched() as progress:
        found = model.stability(counts, progress=progress)
    table = {name: np.asarray(found[name]) for name in found}
    write_rounded(table, folder / STABILITY)
    verdicts, shares = table["verdict"], table["jaccard"]
    n = model.n_clusters_
    return {"verdicts": verdicts[:n], "jaccard": shares[:n]}


def read_stability(folder: Path) -> Table | None:
    """Read what ``write_stability`` wrote."""
    from ..results import read_table

    measured = folder / STABILITY
    return read_table(measured) if measured.exists() else None


def write_run(folder: Path, facts: dict[str, Any]) -> None:
    """Write run.json."""
    text = json.dumps(facts, indent=2, allow_nan=False)
    with replaced(folder / RUN_FILE) as beside:
        beside.write_text(text + "\n", encoding="utf-8")


def write_report(
    folder: Path,
    model: ThreeCPO,
    rows: Table,
    path: Table | None,
    facts: dict[str, Any],
) -> None:
    """Write report.html from what the other files hold."""
    from .. import report

    title = facts.get("title", facts["input"].get("name", ""))
    run = {name: facts[name] for name in REPORTED if facts.get(name)}
    summary = report.summarise(
        model,
        rows,
        path=path,
        run=run,
        title=title,
        **facts.get("nouns", {}),
        choice=facts.get("choice"),
        stability=read_stability(folder),
        map_counts=_read_map_counts(folder, model),
    )
    report.write_page(report.render(summary), folder / REPORT)


def open_report(folder: Path) -> None:
    """Open the report of a folder in a browser."""
    page = folder / REPORT
    if not webbrowser.open(page.absolute().as_uri()):
        print_note(f"No browser was found; open {page} yourself.")


def default_folder(path: Path) -> Path:
    """``atlas.h5ad`` and ``atlas.csv.gz`` give ``atlas.threecpo`` where we are."""
    name = path.absolute().name
    if not path.is_dir():
        packed = Path(name).suffix in (".gz", ".bz2", ".xz")
        name = Path(Path(name).stem).stem if packed else Path(name).stem
    return Path(f"{name}.threecpo")
