"""Cells that are not there yet, run on several processes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .._progress import progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._cells import Cache, Cell, Values

    Outcome = tuple[Cell, Values | None, str]


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
    with progress(title, len(missing), shown=shown and bool(missing)) as advance:
        left = _Left(len(missing))
        for cell, values, error in _finished(missing, cache, jobs):
            advance(1, f"{cell.data.name} {cell.title}, {left.after_one_more()}")
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


class _Left:
    """Time left, where there is no bar that knows it."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._begin = total, 0, time.monotonic()

    def after_one_more(self) -> str:
        self._done += 1
        each = (time.monotonic() - self._begin) / self._done
        seconds = each * (self._total - self._done)
        return (
            f"{seconds / 60:.0f} min left" if seconds > 90 else f"{seconds:.0f} s left"
        )
