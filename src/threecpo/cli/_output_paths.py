"""Results appear complete or not at all: written beside, then renamed into place."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Writer = Callable[[dict[str, Any]], Any]

RUN_FORMAT = "threecpo-run"
RUN_FILE = "run.json"
# At the start of every report.
REPORT_MARK = b'<meta name="generator" content="threecpo'
REPORT = "report.html"
SIGNIFICANT_DIGITS = 6


@contextmanager
def new_folder(target: Path, *, force: bool) -> Iterator[Path]:
    """Yield a folder to fill, which takes the place of ``target`` in the end."""
    if Path.cwd().is_relative_to(target.resolve()):
        message = (
            f"{target} is the current folder and is not replaced; choose another "
            "folder with -o."
        )
        raise FileExistsError(message)
    with _writing.new_folder(target, force=force, is_ours=is_unchanged) as folder:
        yield folder


@contextmanager
def new_file(target: Path, *, force: bool) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of ``target`` in the end."""
    with (
        _writing.folders_above(target),
        _writing.put_in_place(target, force=force) as path,
    ):
        yield path


@contextmanager
def table_file(target: Path | None, *, force: bool) -> Iterator[Writer]:
    """Yield a function that writes a table; its target is checked before the work."""
    if target is None:
        yield lambda _: None
        return
    with new_file(target, force=force) as path:
        yield lambda table: write_rounded(table, path)


def write_rounded(table: dict[str, Any], path: Path) -> dict[str, Any]:
    """Write a table with six significant digits; return what was written."""
    from ..results import rounded_table, write_table

    table = rounded_table(table, SIGNIFICANT_DIGITS)
    write_table(table, path)
    return table


def is_results(folder: Path) -> bool:
    """Whether a folder is one that ``threecpo fit`` wrote."""
    return bool(_run_facts(folder))


def read_run(folder: Path) -> dict[str, Any]:
    """Content of run.json; other folders are refused."""
    facts = _run_facts(folder)
    if not facts:
        message = f"{folder} is not a results folder; `threecpo fit` writes one."
        raise ValueError(message)
    return facts


def is_unchanged(folder: Path) -> bool:
    """Whether a folder holds just what ``threecpo fit`` wrote, so that it may go."""
    digests = _run_facts(folder).get("files")
    if not isinstance(digests, dict):
        return False
    entries = {entry.name: entry for entry in folder.iterdir()}
    if not all(entry.is_file() for entry in entries.values()):
        return False
    report = entries.pop(REPORT, None)
    if report is not None and REPORT_MARK not in report.read_bytes()[:2000]:
        return False
    del entries[RUN_FILE]
    return {name: digest(entry) for name, entry in entries.items()} == digests


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _run_facts(folder: Path) -> dict[str, Any]:
    """Content of run.json if it is one of ours, else nothing."""
    try:
        facts = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    ours = isinstance(facts, dict) and facts.get("format") == RUN_FORMAT
    return facts if ours else {}
