"""Results appear complete or not at all: written beside, then renamed into place."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Writer = Callable[[dict[str, Any]], None]

RUN_FORMAT = "threecpo-run"
RUN_FILE = "run.json"
# Only folders that hold nothing else are replaced.
RESULTS = r"(labels|columns|top_columns|k_path)\.csv|model\.npz|run\.json|report\.html"


@contextmanager
def new_folder(target: Path, *, force: bool) -> Iterator[Path]:
    """Yield a folder to fill, which takes the place of ``target`` in the end.

    With ``force`` an older folder of results is replaced, and stays as it is until
    the new one is complete.
    """
    if Path.cwd().is_relative_to(target.resolve()):
        message = f"{target} is where we are and stays; choose another folder with -o."
        raise FileExistsError(message)
    with _writing.new_folder(target, force=force, parts=RESULTS) as folder:
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
    """Yield a function that writes a table, if there is a target for one.

    Entered before the work begins, so that nobody waits for what may not be written.
    """
    if target is None:
        yield lambda _: None
        return
    with new_file(target, force=force) as path:

        def write(table: dict[str, Any]) -> None:
            from ..results import write_table

            write_table(table, path)

        yield write


def is_results(folder: Path) -> bool:
    """Whether a folder is one that ``threecpo fit`` wrote."""
    try:
        facts = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(facts, dict) and facts.get("format") == RUN_FORMAT
