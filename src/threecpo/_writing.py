"""Files appear complete or not at all, one writer at a time."""

from __future__ import annotations

import errno
import gzip
import shutil
import sys
from contextlib import contextmanager, nullcontext, suppress
from typing import IO, TYPE_CHECKING, Any, cast
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    IsOurs = Callable[[Path], bool]

if sys.platform != "win32":
    import fcntl


PREFIX = ".lock-"


@contextmanager
def locked(path: Path, number: str) -> Iterator[None]:
    """Hold the lock of what is written beside a target under this number."""
    if sys.platform == "win32":
        yield
        return
    place = path.with_name(PREFIX + number)
    with place.open("x", encoding="utf-8", errors="surrogateescape") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.write(path.name)
        file.flush()
        try:
            yield
        finally:
            place.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove what processes that are gone have left; put back what they moved away."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        for place in folder.glob(f"{PREFIX}*"):
            _remove_if_unused(place)


def _remove_if_unused(place: Path) -> None:
    assert sys.platform != "win32"
    number = place.name.removeprefix(PREFIX)
    if len(number) != 32:
        return
    with place.open(encoding="utf-8", errors="surrogateescape") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # somebody is writing
            return
        name = file.read()
        for old in place.parent.glob(f".old-{number}*"):
            target = place.with_name(name)
            if name and not target.exists():
                old.rename(target)
            else:
                remove(old)
        for part in place.parent.glob(f".part-{number}*"):
            remove(part)
        place.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


_LONGEST_SUFFIX = 10


@contextmanager
def replaced(path: Path, *, alone: bool = False) -> Iterator[Path]:
    """Yield a name beside another, to take its place; ``alone`` in a folder of ours."""
    path, number = behind_link(path), uuid4().hex
    if not path.parent.is_dir():  # else an error would name a hidden file in it
        why = "There is no such folder"
        raise FileNotFoundError(errno.ENOENT, why, f"{path.parent}")
    if not alone:
        remove_leftovers(path.parent)
    with nullcontext() if alone else locked(path, number):
        beside = _hidden(path, "part", number)
        try:
            yield beside
            _rename(beside, path, _hidden(path, "old", number))
        finally:
            remove(beside)


@contextmanager
def put_in_place(
    path: Path, *, force: bool = False, is_ours: IsOurs | None = None
) -> Iterator[Path]:
    """Yield a name beside the target; what is written there gets the target's name.

    What exists is replaced with ``force`` only. With ``is_ours`` the target is a
    folder, and one that is replaced must be ours by its content.
    """
    path = behind_link(path)
    refuse_existing(path, is_ours, force=force)
    with replaced(path) as beside:
        yield beside
        refuse_existing(path, is_ours, force=force)


@contextmanager
def new_folder(
    path: Path, *, force: bool = False, is_ours: IsOurs = lambda _: False
) -> Iterator[Path]:
    """Yield a folder to fill, which gets its name when all is in it."""
    with (
        folders_above(path),
        put_in_place(path, force=force, is_ours=is_ours) as beside,
    ):
        beside.mkdir()
        yield beside


@contextmanager
def folders_above(path: Path) -> Iterator[None]:
    """Make the folders that a target is to lie in; an error leaves nothing new."""
    place = behind_link(path).absolute()
    missing = [parent for parent in place.parents if not parent.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for parent in missing:
            with suppress(OSError):
                parent.rmdir()
        raise


@contextmanager
def open_new(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file for writing, compressed if its name ends in .gz."""
    with path.open("xb") as file:
        if path.suffix != ".gz":
            yield file
            return
        # Without name and time the same counts are the same bytes.
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            yield cast("IO[bytes]", packed)


def write_arrays(
    file: IO[bytes], arrays: Mapping[str, Any], *, packed: bool = False
) -> None:
    """Write arrays as npz, none of them of objects: those would be pickled."""
    import numpy as np

    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            message = f"{name} holds objects, which no file may hold."
            raise TypeError(message)
    # The oldest numpy that is allowed takes allow_pickle for the name of an array.
    save = np.savez_compressed if packed else np.savez
    save(file, **arrays)


def behind_link(path: Path) -> Path:
    """Return what a link leads to, so that this is replaced and not the link."""
    return path.resolve() if path.is_symlink() else path


def refuse_existing(path: Path, is_ours: IsOurs | None, *, force: bool) -> None:
    """Refuse to replace what is there, unless forced to, and what is something else."""
    if not path.exists():
        return
    if is_ours is None:
        replaceable = path.is_file()
    else:
        replaceable = path.is_dir() and (not any(path.iterdir()) or is_ours(path))
    if not replaceable:
        message = f"{path} is not a threecpo result and is kept; choose another name."
        raise FileExistsError(message)
    if not force:
        message = f"{path} exists; pass force=True to replace it."
        raise FileExistsError(message)


def _hidden(path: Path, kind: str, number: str) -> Path:
    """Name in the same folder, of limited length, with the suffixes of the format."""
    ending = "".join(s for s in path.suffixes[-2:] if len(s) <= _LONGEST_SUFFIX)
    return path.with_name(f".{kind}-{number}{ending}")


def _rename(new: Path, path: Path, old: Path) -> None:
    """Rename over another; at an interrupt or kill one of the two keeps the name."""
    try:
        if not (new.is_dir() and path.is_dir()):
            new.replace(path)
            return
        try:
            path.rename(old)
            new.rename(path)
        finally:
            if path.exists():
                remove(old)
            else:
                old.rename(path)
    except PermissionError as error:
        reason = (
            "cannot be replaced; if it, or a file in it, is open in another program "
            "such as Excel, close that and try again"
        )
        raise PermissionError(errno.EACCES, reason, f"{path}") from error
