"""Results appear complete or not at all: written beside, then renamed into place."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUN_FORMAT = "threecpo-run"
RUN_FILE = "run.json"


@contextmanager
def new_folder(target: Path, *, force: bool) -> Iterator[Path]:
    """Yield a folder to fill, which takes the place of ``target`` in the end.

    With ``force`` an older folder of results is replaced, and stays as it is until
    the new one is complete.
    """
    target = _followed(target)
    _check_folder(target, force=force)
    with _beside(target) as beside:
        beside.mkdir()
        yield beside
        _check_folder(target, force=force)
        _replace(target, beside)


@contextmanager
def new_file(target: Path, *, force: bool) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of ``target`` in the end."""
    target = _followed(target)
    _check_file(target, force=force)
    with _beside(target) as beside:
        yield beside
        _check_file(target, force=force)
        beside.replace(target)


def is_results(folder: Path) -> bool:
    """Whether a folder is one that ``threecpo fit`` wrote."""
    try:
        told = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(told, dict) and told.get("format") == RUN_FORMAT


def _check_folder(target: Path, *, force: bool) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        message = f"{target} is a file; choose another folder with -o."
        raise FileExistsError(message)
    if not force:
        message = f"{target} exists; replace it with --force or choose another with -o."
        raise FileExistsError(message)
    if any(target.iterdir()) and not is_results(target):
        message = (
            f"{target} holds other files than results of threecpo and is not replaced; "
            "choose another folder with -o."
        )
        raise FileExistsError(message)


def _check_file(target: Path, *, force: bool) -> None:
    if target.is_dir():
        message = f"{target} is a folder; choose a file with -o."
        raise IsADirectoryError(message)
    if target.exists() and not force:
        message = f"{target} exists; replace it with --force or choose another with -o."
        raise FileExistsError(message)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Yield a hidden name beside the target; after an error nothing new is left."""
    missing = [parent for parent in target.absolute().parents if not parent.exists()]
    beside = _hidden(target, "part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield beside
    except BaseException:
        if beside.is_dir():
            import shutil

            shutil.rmtree(beside, ignore_errors=True)
        beside.unlink(missing_ok=True)
        for parent in missing:
            with suppress(OSError):
                parent.rmdir()
        raise


def _replace(target: Path, new: Path) -> None:
    import shutil

    old = _hidden(target, "old")
    try:
        if target.exists():
            target.rename(old)
        new.rename(target)
    except BaseException:
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _followed(target: Path) -> Path:
    """What a link leads to: the link itself stays."""
    return target.resolve() if target.is_symlink() else target


def _hidden(target: Path, kind: str) -> Path:
    from uuid import uuid4

    return target.with_name(f".{target.name}.{uuid4().hex}.{kind}")
