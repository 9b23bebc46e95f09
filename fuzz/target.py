"""What is fuzzed: inputs by number, and the door that they are passed to."""

from __future__ import annotations

import shutil
import traceback
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

import threecpo

if TYPE_CHECKING:
    from collections.abc import Iterator

# Files by their path below the folder of an input.
Tree = dict[str, bytes]
PACKAGE = str(Path(threecpo.__file__).parent)


class Target(ABC):
    """A door, and how to make the input of any number for it."""

    name: str
    # Share of the inputs.
    weight: int = 3

    @abstractmethod
    def warm_up(self, folder: Path) -> None:
        """Use the door on valid inputs, so that all is imported and compiled."""

    @abstractmethod
    def make(self, number: int, seed: int) -> Tree:
        """Make the input of this number, the same whenever it is asked for."""

    @abstractmethod
    def use(self, folder: Path) -> None:
        """Pass the input in this folder to the door."""

    @abstractmethod
    def is_own(self, error: Exception, folder: Path) -> bool:
        """Whether this is the error that the door promises for a bad input."""


def write(tree: Tree, folder: Path) -> None:
    """Replace what a folder holds by the files of an input."""
    clear(folder)
    for name, content in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def clear(folder: Path) -> None:
    """Remove everything in a folder."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def tree_of(folder: Path) -> Tree:
    """Return the files of a folder as an input."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def frames_of(error: BaseException) -> Iterator[tuple[str, str]]:
    """File and place of each frame of an error, the innermost first."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        yield frame.filename, f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"


def raised_by_us(error: BaseException) -> bool:
    """Whether the statement that raised an error is one of threecpo's."""
    file, _ = next(frames_of(error), ("", ""))
    return file.startswith(PACKAGE)


def described(error: BaseException) -> str:
    """One line: the error, and the last places in threecpo that it came through."""
    places = [place for file, place in frames_of(error) if file.startswith(PACKAGE)]
    text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return f"{text} [{' < '.join(places[:3])}]"
