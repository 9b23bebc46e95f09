"""What tasks do on the workers: get a request, fold a share of blocks, combine."""

from __future__ import annotations

from copy import deepcopy
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from .._fit.engine import Reader, Work

T = TypeVar("T")


def pickled(value: Any) -> NDArray[np.uint8]:
    """Bytes of a value, as an array, which Dask sends without copies."""
    from distributed.protocol import pickle

    return np.frombuffer(pickle.dumps(value), dtype=np.uint8)


def unpickled(content: NDArray[np.uint8]) -> Any:
    """The value, made on the worker that the scheduler chooses.

    The scheduler keeps the bytes as long as the value is wanted, and has it made again
    where a worker takes it along.
    """
    from distributed.protocol import pickle

    return pickle.loads(content)


def fold_share(
    readers: Sequence[Reader],
    first: int,
    persisted: Sequence[Any],
    work: Work[T],
    combine: Callable[[T, T], T],
) -> T:
    """Work on the blocks of a share, one by one."""
    values = iter(persisted)
    results = (
        work(first + i, read(*islice(values, getattr(read, "n_values", 0))))
        for i, read in enumerate(readers)
    )
    return reduce(combine, results)


def combined(combine: Callable[[T, T], T], parts: Sequence[T]) -> T:
    """Combine results of shares; they stay as they are.

    Combining may add to its first argument. A worker keeps it for this task to be run
    again, if the result is lost with another worker.
    """
    first, *others = parts
    return reduce(combine, others, deepcopy(first))
