"""Cells that are not there yet, run on several processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._progress_lines import ProgressLines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._measured_cells import Cache, Cell, Values

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
    with ProgressLines(title, len(missing), shown=shown) as progress:
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
