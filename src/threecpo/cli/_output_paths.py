"""Results appear complete or not at all: written beside, then renamed into place."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _writing
from ._printing import fail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Writer = Callable[[dict[str, Any]], Any]

RUN_FORMAT, RUN_VERSION = "threecpo-run", 1
# What every fit needs; run.json has their versions.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
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
def table_file(target: Path | None, *, force: bool) -> Iterator[Writer]:
    """Yield a function that writes a table; its target is checked before the work."""
    if target is None:
        yield lambda _: None
        return
    with (
        _writing.folders_above(target),
        _writing.put_in_place(target, force=force) as path,
    ):
        yield lambda table: write_rounded(table, path)


def write_rounded(table: dict[str, Any], path: Path) -> dict[str, Any]:
    """Write a table with six significant digits; return what was written."""
    from ..results import rounded_table, write_table

    table = rounded_table(table, SIGNIFICANT_DIGITS)
    write_table(table, path)
    return table


def read_run(folder: Path) -> dict[str, Any]:
    """Content of run.json; other folders are refused."""
    facts = run_of(folder)
    if not facts:
        fail(f"{folder} is not a results folder; `threecpo fit` writes one.")
    return facts


def is_unchanged(folder: Path) -> bool:
    """Whether a folder holds just what ``threecpo fit`` wrote, so that it may go."""
    digests = run_of(folder).get("files")
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
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def run_of(folder: Path) -> dict[str, Any]:
    """Content of run.json if it is one of ours, else nothing."""
    try:
        facts = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    ours = isinstance(facts, dict) and facts.get("format") == RUN_FORMAT
    return facts if ours else {}
