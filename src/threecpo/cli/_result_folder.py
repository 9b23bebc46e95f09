"""From counts to a folder of results, and what a terminal shows of it."""

from __future__ import annotations

import json
import platform
import shlex
import sys
import time
import warnings
import webbrowser
from base64 import b64decode
from collections import Counter
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .. import __version__
from .._extras import require
from .._labels import LABEL
from .._progress import RunBar
from .._writing import replaced
from ..report import words
from ._block_input import FileInBlocks
from ._options import given
from ._output_paths import (
    LIBRARIES,
    REPORT,
    RUN_FILE,
    RUN_FORMAT,
    RUN_VERSION,
    digest,
    new_folder,
    write_rounded,
)
from ._printing import (
    as_options,
    fail,
    number_of,
    print_json,
    print_line,
    print_note,
    print_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..cluster import ThreeCPO
    from ..results import Table
    from ..table import CountTable
    from ._input_file import GivenRows

STABILITY = "stability.csv"
# Counts that colour the map of the report.
MAP_COUNTS = "map_counts.json"
# Warnings of a fit that are printed; run.json has all.
MOST_SHOWN = 3


def watched() -> RunBar:
    """A bar on a terminal; elsewhere a line after every half minute."""
    return RunBar(quiet=not sys.stderr.isatty())


def fit_to_folder(
    read_rows: Callable[[], tuple[CountTable | FileInBlocks, GivenRows]],
    model: ThreeCPO,
    target: Path,
    *,
    about: Callable[[], dict[str, Any]] = dict,
    force: bool,
    with_report: bool = True,
    with_stability: bool = False,
    also: Sequence[str] = (),
    title: str | None = None,
    nouns: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Read, fit and write everything; return the content of run.json.

    ``about`` tells what a later reader needs to know about the source.
    """
    from ..results.input_checks import find_problems, problem_lines

    words.nouns(**nouns or {})  # what is wrong is said before a long fit
    if with_report:
        # A long fit should not end in an error that was there from the beginning.
        require("jinja2", "report", "The report (--no-report leaves it out)")
    if "xlsx" in also:
        require("xlsxwriter", "io", "--write xlsx")
    if "h5ad" in also:
        require("anndata", "anndata", "--write h5ad")
    with new_folder(target, force=force) as folder, remembered_warnings() as warned:
        started = time.perf_counter()
        counts, rows = read_rows()
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
        said = ("name", "description", "citation", "source")
        found = [(name, getattr(counts, name, "")) for name in said]
        facts = run_facts(model, counts.label_kinds) | {
            "input": about() | {name: text for name, text in found if text},
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


def run_facts(model: ThreeCPO, labels: Mapping[str, Any]) -> dict[str, Any]:
    """Facts about a fit and its labels, without those that only its caller knows."""
    from ..results import choice_facts, fit_facts, label_tables

    facts = {
        "format": RUN_FORMAT,
        "version": RUN_VERSION,
        "command": shlex.join(["threecpo", *click.get_current_context().obj]),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": {
            "threecpo": __version__,
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in LIBRARIES},
        },
        **fit_facts(model),
    }
    if hasattr(model, "k_path_"):
        facts["choice"] = choice_facts(model.k_path_)
    compared = label_tables(model, labels)
    known = {kind: each for kind, each in compared.items() if each.scores}
    if known:
        facts["agreement"] = {kind: each.scores for kind, each in known.items()}
        facts["label_shares"] = {kind: each.sentences for kind, each in known.items()}
        facts["main_labels"] = {
            kind: [each.made_of(k, 1) for k in range(model.n_clusters_)]
            for kind, each in known.items()
        }
    return facts


@contextmanager
def remembered_warnings() -> Iterator[list[str]]:
    """Show the first warnings as before, and keep the texts of all."""
    kept: list[str] = []
    before = warnings.showwarning

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        kept.append(str(message))
        if len(kept) <= MOST_SHOWN:
            before(message, *rest, **more)

    warnings.showwarning = show
    try:
        yield kept
    finally:
        warnings.showwarning = before
        if (hidden := len(kept) - MOST_SHOWN) > 0:
            print_note(f"note: {number_of(hidden, 'more note')} in run.json.")


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
    stability = read_stability(folder)
    tables = {
        "columns.csv": results.column_table(model),
        "top_columns.csv": results.top_table(model),
        "clusters.csv": results.cluster_table(model, stability=stability),
    }
    path = None
    if hasattr(model, "k_path_"):
        tables["k_divisions.csv"] = model.k_path_.divisions()
        table = results.path_table(model.k_path_)
        path = write_rounded(table, folder / "k_path.csv")
    for name, table in tables.items():
        write_rounded(table, folder / name)
    if "xlsx" in also:
        sheets = results.workbook(model, rows, counts, stability)
        results.write_workbook(sheets, folder / "segments.xlsx")
    if "h5ad" in also:
        from ..anndata import to_anndata

        assert counts is not None
        assert not isinstance(counts, FileInBlocks)
        adata = to_anndata(model, counts)
        if stability is not None:
            verdicts = stability["verdict"][: model.n_clusters_]
            adata.uns["threecpo"]["verdicts"] = verdicts
        adata.write_h5ad(folder / "segments.h5ad")
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
        fail(f"{path} is damaged. Delete it, or run `threecpo fit` again.")
    return {name: found[name] for name in ("columns", "values", "strongest")}


def write_stability(
    folder: Path, model: ThreeCPO, counts: CountTable
) -> dict[str, Any]:
    """Write stability.csv; return what run.json says of it."""
    with watched() as progress:
        found = model.stability(counts, progress=progress)
    table = {name: np.asarray(found[name]) for name in found}
    write_rounded(table, folder / STABILITY)
    n = model.n_clusters_
    return {"verdicts": table["verdict"][:n], "jaccard": table["jaccard"][:n]}


def read_stability(folder: Path) -> Table | None:
    from ..results import read_table

    measured = folder / STABILITY
    return read_table(measured) if measured.exists() else None


def write_run(folder: Path, facts: dict[str, Any]) -> None:
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
    # The rest of run.json the report knows from the model.
    used = ("command", "finished", "input", "agreement", "seconds", "warnings")
    run = {name: facts[name] for name in (*used, "versions") if facts.get(name)}
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


def print_summary(facts: dict[str, Any], target: Path, *, as_json: bool) -> None:
    """Print what was found and where it is, or all of it as JSON."""
    if as_json:
        print_json(facts | {"output": target.absolute()})
        return
    from ..results.facts import separation_line

    row, column = words.nouns(**facts.get("nouns", {}))
    relevant = facts["column_groups"]["relevant"]
    read = facts.get("input", {}).get("description")
    print_line(
        f"{row.count(facts['rows'], plain=True)} in "
        f"{number_of(len(facts['cluster_sizes']), 'cluster')}; {relevant} of "
        f"{column.count(facts['columns'], plain=True)} relevant"
        + (f" ({read})" if read else "")
    )
    print_table(_clusters(facts))
    if "choice" in facts:
        print_line(facts["choice"]["sentence"])
    if "agreement" in facts:
        agreement = "; ".join(
            f"with {'the labels' if kind == LABEL else kind}: "
            f"ARI {scores['ARI']:.2f}, purity {scores['purity']:.2f}"
            for kind, scores in facts["agreement"].items()
        )
        print_line(f"Agreement {agreement}")
    if line := separation_line(facts, column.many):
        print_line(f"{line[0].upper()}{line[1:]}")
    page = target / REPORT
    print_line(f"Report: {page}" if page.exists() else f"Results: {target}")


def _clusters(facts: dict[str, Any]) -> dict[str, list[Any]]:
    """A line for each cluster, and for rows that are in none."""
    sizes = facts["cluster_sizes"]
    changed = "changed_from" in facts
    first = "new" if changed else "cluster"
    columns: dict[str, list[Any]] = {first: [str(k) for k in range(len(sizes))]}
    if changed:
        found = facts["changed_from"]["origins"]
        times = Counter(old for members in found for old in members)
        columns["= old"] = [
            " + ".join(f"{'part of ' * (times[old] > 1)}{old}" for old in members)
            for members in found
        ]
    columns |= {"size": list(sizes), "name": list(facts["cluster_names"])}
    for kind, texts in list(facts.get("main_labels", {}).items())[:1]:
        columns["main label" if kind == LABEL else f"main {kind}"] = list(texts)
    if any(facts.get("stability", {}).get("verdicts", ())):
        columns["verdict"] = list(facts["stability"]["verdicts"])
    others = {"outliers": facts["outliers"], "empty": facts["rows_without_counts"]}
    for name, size in others.items():
        if size:
            for each, values in columns.items():
                values.append({first: name, "size": size}.get(each, ""))
    return columns
