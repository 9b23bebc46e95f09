"""One experiment at work: its data sets, its cells, its files."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..methods import methods
from .cells import Cache, Cell, run
from .data import Data, Library, paper_names
from .files import environment, write_csv, write_figure, write_json, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..methods import Factory
    from .cells import Values

Key = TypeVar("Key")


@dataclass(frozen=True)
class Options:
    """How much of the paper's protocol to run, and where things are."""

    executions: int = 10
    restarts: int = 10
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    jobs: int | None = None
    output: Path = Path("results")
    cache: Path | None = None
    data: tuple[Path, ...] = ()
    download: bool = False
    quiet: bool = False
    cached: bool = False


class NothingToDoError(ValueError):
    """An experiment has no data set to run on."""


class Study:
    """What an experiment is given: data, methods and cells in, files out."""

    def __init__(
        self, name: str, options: Options, library: Library, *, one_of_many: bool
    ) -> None:
        self.name = name
        self.options = options
        self.one_of_many = one_of_many
        self._library = library
        self._cache = Cache(options.cache or options.output / ".cells")
        self._begin = time.perf_counter()
        self._used: dict[str, Data] = {}
        self._cells: dict[str, Values] = {}
        self._written: list[str] = []
        self.notes: list[str] = []

    @property
    def seeds(self) -> range:
        return range(self.options.executions)

    def data(
        self, default: Sequence[str] | None = None, *, prepared: bool = False
    ) -> list[Data]:
        """Return the data sets that were asked for, or by default these of the paper.

        None is all of them; ``prepared`` adds the matrices that were given as files.
        An experiment that runs by itself takes any set that is asked for; one of many
        only its own.
        """
        names = paper_names() if default is None else list(default)
        if prepared:
            names += self._library.prepared
        if self.options.datasets:
            asked = self._library.resolve(self.options.datasets)
            own = [name for name in asked if name in names]
            names = own if self.one_of_many else asked
        found = self._library.load(names)
        left_out = {
            n: self._library.reasons[n] for n in names if n in self._library.reasons
        }
        if left_out:
            self.note(f"Not on this machine and left out: {', '.join(left_out)}.")
        if not found:
            message = f"{self.name} is left out: none of its data sets is here."
            raise NothingToDoError(message)
        return found

    def methods(self, default: Iterable[str]) -> dict[str, Factory]:
        """Return those of these methods that were asked for."""
        return {
            name: self.known(name) for name in self.chosen(default) if name in methods()
        }

    def known(self, name: str) -> Factory:
        return methods()[name]

    def chosen(self, variants: Iterable[str]) -> list[str]:
        """Return those of these variants that ``--methods`` names; all without it."""
        asked = self.options.methods
        return [name for name in variants if not asked or name in asked]

    def use(self, data: Data) -> None:
        """Name a data set in the manifest."""
        self._used[data.name] = data

    def measure(
        self, groups: Mapping[Key, Sequence[Cell]], *, jobs: int | None = None
    ) -> dict[Key, list[Values]]:
        """Values of groups of cells, from the cache or made now.

        With the option ``cached``, those that are there; groups without any are gone,
        and if all are, there is nothing to do.
        """
        cells = [cell for group in groups.values() for cell in group]
        values = run(
            cells,
            self._cache,
            title=self.name,
            jobs=jobs or self.options.jobs,
            shown=not self.options.quiet,
            cached=self.options.cached,
        )
        for cell, value in zip(cells, values, strict=True):
            if value is not None:
                self._cells[cell.digest] = value
                self.use(cell.data)
        done = len(cells) - values.count(None)
        if not done:
            message = (
                f"{self.name} is left out: none of its methods was asked for, or none "
                "of its cells is finished."
            )
            raise NothingToDoError(message)
        if done < len(cells):
            self.note(f"{done} of {len(cells)} cells are finished and shown.")
        each = iter(values)
        found = {
            key: [value for _ in group if (value := next(each)) is not None]
            for key, group in groups.items()
        }
        return {key: group for key, group in found.items() if group}

    def note(self, text: str) -> None:
        """Tell readers of the results something, once."""
        if text not in self.notes:
            self.notes.append(text)

    def write_csv(self, columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
        write_csv(self._path("csv"), columns, rows)

    def write_page(self, title: str, *parts: str) -> None:
        """Write Markdown: a title, parts, and the notes at the end."""
        notes = "\n".join(f"- {note}" for note in self.notes)
        command = f"Made by `python -m paper {self.name}`."
        content = [f"# {title}", command, *parts, *([notes] if notes else [])]
        write_text(self._path("md"), "\n\n".join(content) + "\n")

    def write_figure(self, figure: Any) -> str:
        """Write SVG and PNG; returns the Markdown that shows them."""
        write_figure(self._path("svg"), figure)
        self._path("png")
        return f"![{self.name}]({self.name}.svg)"

    def finish(self) -> None:
        """Write the manifest."""
        path = self._path("json")
        spent = [value.get("seconds") for value in self._cells.values()]
        manifest = {
            "experiment": self.name,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "executions": self.options.executions,
            "restarts": self.options.restarts,
            "seeds": list(self.seeds),
            "seconds": round(time.perf_counter() - self._begin, 1),
            "cells": len(self._cells),
            "seconds_of_cells": round(sum(s for s in spent if s is not None), 1),
            "data": {
                name: {"shape": list(data.X.shape), "fingerprint": data.fingerprint}
                for name, data in sorted(self._used.items())
            },
            "notes": self.notes,
            "files": sorted(self._written),
            **environment(),
        }
        write_json(path, manifest)

    def _path(self, suffix: str) -> Path:
        name = f"{self.name}.{suffix}"
        if name not in self._written:
            self._written.append(name)
        return self.options.output / name


def say(text: str) -> None:
    """Tell how things are, beside the results."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201
