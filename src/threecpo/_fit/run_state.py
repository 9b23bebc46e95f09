"""One run of a fit over blocks as a checkpoint holds it: facts, and arrays beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.run import HISTORY, Running
from . import stored
from .shared_pass import PendingRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.run import Settings
    from .._core.sums import Sums

# Of finite numbers above 0, in absolute value.
_LARGEST_LOGARITHM = 746.0


def facts_of(run: PendingRun) -> dict[str, Any]:
    """What JSON holds of a run."""
    facts: dict[str, Any] = {
        "loss": run.loss if np.isfinite(run.loss) else None,
        "ended": run.ended,
        "same_as": run.same_as,
    }
    if run.start is not None:
        facts["n_start_rows"] = run.start.n_rows
    if run.running is not None:
        facts |= {
            "history": run.running.lines,
            "finished": run.running.finished,
            "converged": bool(run.running.converged),
            "numbers": run.running.numbers.tolist(),
        }
    return facts


def arrays_of(run: PendingRun) -> dict[str, NDArray[Any]] | None:
    """Sums of a run, None for one that has none any more."""
    if run.running is not None:
        running = run.running
        return stored.sums_to_arrays(running.sums, running.behind, running.groups)
    if run.start is None:
        return None
    arrays = stored.sums_to_arrays(run.start, run.start, run.groups)
    return arrays | {"totals": run.start.totals}


def run_from(
    number: int,
    facts: dict[str, Any],
    arrays: dict[str, NDArray[Any]] | None,
    settings: Settings,
    data: Sums,
) -> PendingRun:
    """A run as it was; what does not fit together is refused."""
    loss = facts["loss"]
    state: dict[str, Any] = {
        "loss": np.inf if loss is None else stored.finite("loss", loss),
        "ended": _flag("ended", facts["ended"]),
        "same_as": _earlier(facts["same_as"], number),
    }
    if arrays is None:
        if not state["ended"]:
            message = f"run {number} goes on but has no sums"
            raise stored.DamagedFieldError(message)
        return PendingRun(np.empty(0, np.int8), **state)
    n_clusters = len(arrays["members"]) - 1
    if not 1 <= n_clusters <= settings.n_clusters:
        message = f"run {number} has {n_clusters} clusters"
        raise stored.DamagedFieldError(message)
    sizes = {"m": len(data.totals), "k": n_clusters, "o": n_clusters + 1}
    if "n_start_rows" in facts:
        sizes["n"] = int(stored.finite("n_start_rows", facts["n_start_rows"], 1))
        return _pending(arrays, sizes, state)
    sizes["n"] = data.n_rows
    return _running(facts, arrays, sizes, settings, data, state)


def _pending(
    arrays: dict[str, NDArray[Any]], sizes: dict[str, int], state: dict[str, Any]
) -> PendingRun:
    fields = stored.OF_SUMS | stored.OF_DATA | stored.fields_of_rows(arrays, sizes)
    arrays = stored.checked(arrays, fields, sizes)
    stored.check_totals(arrays, arrays["totals"])
    start, _ = stored.sums_from_arrays(arrays, arrays["totals"], sizes["n"])
    return PendingRun(arrays["groups"], start=start, **state)


def _running(
    facts: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    sizes: dict[str, int],
    settings: Settings,
    data: Sums,
    state: dict[str, Any],
) -> PendingRun:
    fields = stored.OF_SUMS | stored.fields_of_rows(arrays, sizes)
    arrays = stored.checked(arrays, fields, sizes)
    stored.check_totals(arrays, data.totals)
    stored.check_log_sizes(arrays, settings.prior)
    _check_sizes(arrays, data)
    sums, behind = stored.sums_from_arrays(arrays, data.totals, data.n_rows)
    running = Running(sums, arrays["groups"], settings)
    if running.sums.n_clusters < sums.n_clusters:
        message = "members has an empty cluster"
        raise stored.DamagedFieldError(message)
    running.behind = behind
    running.numbers = _numbers(facts["numbers"], sums.n_clusters, settings)
    running.lines = [_line(line) for line in facts["history"]]
    running.finished = _flag("finished", facts["finished"])
    running.converged = _flag("converged", facts["converged"])
    if running.finished and not running.lines:
        message = "history is empty"
        raise stored.DamagedFieldError(message)
    return PendingRun(arrays["groups"], running=running, **state)


def _check_sizes(arrays: dict[str, NDArray[Any]], data: Sums) -> None:
    """Refuse sums of logarithms that are larger than those of any finite sizes."""
    for name, most in (("log_sizes", data.totals), ("log_size_total", data.mass)):
        values = np.where(np.isinf(arrays[name]), 0.0, arrays[name])
        total = np.abs(values).sum(axis=-1)
        if not (total <= _LARGEST_LOGARITHM * np.asarray(most) + 1).all():
            message = f"{name} must hold sums of logarithms of row sizes"
            raise stored.DamagedFieldError(message)


def _numbers(given: Any, n_clusters: int, settings: Settings) -> NDArray[np.intp]:
    """Numbers that clusters had at the start."""
    numbers = np.array(given)
    if (
        numbers.shape != (n_clusters,)
        or numbers.dtype.kind != "i"
        or numbers[0] < 0
        or (np.diff(numbers) <= 0).any()
        or numbers[-1] >= settings.n_clusters
    ):
        message = f"numbers is {given!r}"
        raise stored.DamagedFieldError(message)
    return numbers.astype(np.intp)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        message = f"{name} is {value!r}"
        raise stored.DamagedFieldError(message)
    return value


def _earlier(value: Any, number: int) -> int | None:
    """The run that another came to share sums with: one before it."""
    if value is not None and not (type(value) is int and 0 <= value < number):
        message = f"same_as of run {number} is {value!r}"
        raise stored.DamagedFieldError(message)
    return value


def _line(line: dict[str, Any]) -> dict[str, float]:
    """One line of a history: the numbers that every iteration has."""
    if set(line) != set(HISTORY):
        message = f"history has {sorted(line)}"
        raise stored.DamagedFieldError(message)
    for name, value in line.items():
        stored.finite(name, value)
        if name != "loss" and type(value) is not int:
            message = f"history has {name} {value!r}"
            raise stored.DamagedFieldError(message)
    return line
