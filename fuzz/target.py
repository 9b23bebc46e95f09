"""What is fuzzed: inputs by number, made of seeds by mutations, and their door."""

from __future__ import annotations

import shutil
import traceback
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from random import Random
from typing import TYPE_CHECKING

import threecpo
from threecpo.io import DataFormatError

from .mutations import arrays, digests, hdf5, json_values, packed, parquet, plain, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .mutations.plain import Mutation

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


# By the last suffix of a file; the chunks of zarr have none.
MUTATIONS: dict[str, Mutation] = {
    ".csv": text.mutated,
    ".tsv": text.mutated,
    ".txt": text.mutated,
    ".mtx": text.mutated,
    ".jsonl": json_values.mutated_lines,
    ".json": json_values.mutated,
    ".npz": arrays.mutated,
    ".parquet": parquet.mutated,
    ".xlsx": packed.inside_zip(text.mutated),
    ".ods": packed.inside_zip(text.mutated),
    ".h5ad": hdf5.mutated,
    ".h5": hdf5.mutated,
    ".gz": packed.inside_gzip(text.mutated),
}
# Metadata of zarr 2.
_JSON_NAMES = (".zarray", ".zgroup", ".zattrs", ".zmetadata")


def of_reader(error: Exception) -> bool:
    """Whether this is the error of everything that reads tables."""
    return isinstance(error, DataFormatError)


def of_fits(error: Exception) -> bool:
    """Whether models and checkpoints may end in this error."""
    return isinstance(error, ValueError | OSError) and raised_by_us(error)


@dataclass
class FileTarget(Target):
    """Files that are mutated, and read by a function that takes their path."""

    name: str
    # What is opened, below the folder of an input.
    opened: str
    seeds: Callable[[], list[Tree]]
    door: Callable[[Path], None]
    own: Callable[[Exception], bool] = of_reader
    mutations: dict[str, Mutation] = field(default_factory=dict)
    weight: int = 3
    with_digests: bool = False

    @cached_property
    def _seeds(self) -> list[Tree]:
        return self.seeds()

    def warm_up(self, folder: Path) -> None:
        for tree in self._seeds:
            write(tree, folder)
            self.door(folder / self.opened)

    def make(self, number: int, seed: int) -> Tree:
        rng = Random(f"{seed} {self.name} {number}")
        seeds = self._seeds
        old = rng.choice(seeds)
        tree = dict(old)
        name = self._chosen_file(rng, tree)
        others = [each[name] for each in seeds if name in each and each is not old]
        if len(tree) > 1 and rng.random() < 0.06:
            self._change_files(rng, tree, name)
        else:
            change: Mutation = plain.mutated
            if rng.random() < 0.85:
                change = self._mutation(name)
            try:
                tree[name] = change(rng, tree[name], others)
            except Exception:  # noqa: BLE001 - one edit can make the next impossible
                tree[name] = plain.mutated(rng, tree[name], others)
        if self.with_digests and rng.random() < 0.8:
            tree = digests.refreshed(old, tree)
        return tree

    def use(self, folder: Path) -> None:
        self.door(folder / self.opened)

    def is_own(self, error: Exception, folder: Path) -> bool:
        message = str(error)
        named = str(folder / self.opened) in message
        return self.own(error) and named and "\n" not in message

    def _mutation(self, name: str) -> Mutation:
        path = PurePosixPath(name)
        if path.name in _JSON_NAMES:
            return json_values.mutated
        return {**MUTATIONS, **self.mutations}.get(path.suffix, plain.mutated)

    @staticmethod
    def _chosen_file(rng: Random, tree: Tree) -> str:
        """A file; of many small ones those that say something more often."""
        names = sorted(tree)
        if len(names) < 12 or rng.random() < 0.2:
            return rng.choice(names)
        telling = [name for name in names if "/X/" in name or "/var/" in name]
        return rng.choice([*telling, *(n for n in names if n.count("/") == 1)])

    @staticmethod
    def _change_files(rng: Random, tree: Tree, name: str) -> None:
        """Remove, empty, rename or swap files."""
        other = rng.choice(sorted(tree))
        change = rng.randrange(5)
        if change == 0:
            del tree[name]
        elif change == 1:
            tree[name] = b""
        elif change == 2:
            tree[name], tree[other] = tree[other], tree[name]
        elif change == 3:
            tree[f"{name}.part"] = tree.pop(name)
        else:
            tree[f"{PurePosixPath(name).parent}/more-{PurePosixPath(name).name}"] = (
                tree[other]
            )
