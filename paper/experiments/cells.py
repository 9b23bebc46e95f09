"""Cells: one measurement each, made on several processes and kept on disk."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import sklearn

from threecpo import __version__

from .files import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from .data import Data

    Values = dict[str, Any]
    Measure = Callable[..., Values]
    Outcome = tuple["Cell", Values | None, str]

# Counted up whenever a measure or the form of its values changes.
FORMAT = 1
SECONDS_SHOWN = 90


@dataclass(frozen=True, eq=False)
class Cell:
    """A measure of one estimator, seed included, on one data set.

    ``title`` is for people; whatever decides the value is in ``identity``, so that
    tables with the same cell share it.
    """

    measure: Measure
    data: Data
    estimator: Any
    options: dict[str, Any] = field(default_factory=dict)
    title: str = ""

    @cached_property
    def identity(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "threecpo": __version__,
            "scikit-learn": sklearn.__version__,
            "measure": self.measure.__name__,
            "data": self.data.name,
            "fingerprint": self.data.fingerprint,
            "estimator": _parameters(self.estimator),
            "options": self.options,
        }

    @cached_property
    def digest(self) -> str:
        text = json.dumps(self.identity, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def run(self) -> Values:
        return self.measure(self.data, self.estimator, **self.options)


class Cache:
    """A folder of cells, one small file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, cell: Cell) -> Values | None:
        """Return the values of a cell, or None if there are none that can be read."""
        try:
            kept = json.loads(self._path(cell).read_text(encoding="utf-8"))
            # Through JSON, as tuples come back as lists.
            same = kept["identity"] == json.loads(json.dumps(cell.identity))
            return kept["values"] if same else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, cell: Cell, values: Values) -> None:
        """Write beside and rename: a file that is there is whole."""
        kept = {"identity": cell.identity, "values": values}
        write_text(self._path(cell), json.dumps(kept, indent=1))

    def _path(self, cell: Cell) -> Path:
        name = f"{cell.measure.__name__}-{cell.digest}.json"
        return self._folder / cell.data.name / name


def _parameters(estimator: Any) -> dict[str, str]:
    """Every parameter, and the class of everything that has parameters."""
    if estimator is None:
        return {}
    parameters = {"": type(estimator).__name__}
    for name, value in sorted(estimator.get_params(deep=True).items()):
        if name in ("n_jobs", "verbose") or name.endswith(("__n_jobs", "__verbose")):
            continue
        nested = hasattr(value, "get_params")
        parameters[name] = type(value).__name__ if nested else repr(value)
    parameters.pop("steps", None)
    return parameters


def run(
    cells: Sequence[Cell],
    cache: Cache,
    *,
    title: str,
    jobs: int | None = None,
    shown: bool,
    cached: bool = False,
) -> list[Values | None]:
    """Return the values of the cells, running those that the cache does not have.

    With ``cached`` none is run, and what is not there is None. Each is kept by the
    process that made it as soon as it is finished, so a run that is killed goes on
    where it was.
    """
    known = {cell.digest: cache.get(cell) for cell in cells}
    if cached:
        return [known[cell.digest] for cell in cells]
    # Digests are as good as random, so the estimate of the time left is fair.
    missing = sorted(
        {c.digest: c for c in cells if known[c.digest] is None}.values(),
        key=lambda cell: cell.digest,
    )
    failed = []
    with Progress(title, len(missing), shown=shown) as progress:
        for cell, values, error in _finished(missing, cache, jobs):
            progress.one_more(f"{cell.data.name} {cell.title}")
            known[cell.digest] = values
            if error:
                failed.append(f"{cell.data.name} {cell.title}: {error}")
    if failed:
        message = f"{title}: {len(failed)} cells failed. " + "; ".join(failed)
        raise RuntimeError(message)
    return [known[cell.digest] for cell in cells]


def _finished(
    cells: Sequence[Cell], cache: Cache, jobs: int | None
) -> Iterator[Outcome]:
    from joblib import Parallel, cpu_count, delayed, parallel_config
    from threadpoolctl import threadpool_limits

    jobs = min(jobs or cpu_count(), len(cells))
    if jobs <= 1:
        for cell in cells:
            # Small fits lose more by waiting for threads than they gain.
            with threadpool_limits(1):
                outcome = _kept(cell, cache)
            yield outcome
        return
    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        yield from parallel(delayed(_kept)(cell, cache) for cell in cells)


def _kept(cell: Cell, cache: Cache) -> Outcome:
    """Run a cell and keep its values; one that fails must not stop the others."""
    try:
        values = cell.run()
    except Exception as error:  # noqa: BLE001 - told when all others are done
        return cell, None, f"{type(error).__name__}: {error}"
    cache.put(cell, values)
    return cell, values, ""


class Progress:
    """One line for each step on stderr; on a terminal it replaces the last."""

    def __init__(self, title: str, total: int, *, shown: bool) -> None:
        self._title, self._total, self._shown = title, total, shown
        self._done, self._begin = 0, time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._done and sys.stderr.isatty():
            print(file=sys.stderr)  # noqa: T201

    def one_more(self, step: str) -> None:
        """Count a finished step."""
        self._done += 1
        if not self._shown:
            return
        count = f"{self._done}/{self._total}"
        line = f"{self._title}: {count} {step}, {self._time_left()}"
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            line, end = f"\r\x1b[K{line[:width]}", ""
        else:
            end = "\n"
        print(line, end=end, file=sys.stderr, flush=True)  # noqa: T201

    def _time_left(self) -> str:
        each = (time.monotonic() - self._begin) / self._done
        seconds = each * (self._total - self._done)
        if seconds > SECONDS_SHOWN:
            return f"{seconds / 60:.0f} min left"
        return f"{seconds:.0f} s left"
