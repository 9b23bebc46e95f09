"""Checks of an estimator's parameters, and what their names stand for."""

from __future__ import annotations

import sys
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from sklearn.utils import check_random_state

from ._core import prices
from ._core.codes import GROUPS, RELEVANT
from ._fit.plan import check_enough_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._core.prices import Price

__all__ = [
    "check_choice",
    "check_enough_rows",
    "check_groups",
    "check_integer",
    "check_non_negative",
    "entropy_of",
    "fixed_seed",
    "resolve_n_jobs",
    "resolve_penalty",
    "restart_seeds",
]


# Values that are longer are cut in messages.
LONGEST = 60


def check_choice(name: str, value: Any, allowed: Iterable[Any]) -> None:
    """Refuse a value that is none of the allowed ones."""
    allowed = list(allowed)
    if not any(value is option or value == option for option in allowed):
        message = f"{name}={value!r} is not one of {', '.join(map(repr, allowed))}."
        raise ValueError(message)


def check_integer(name: str, value: Any, least: int) -> int:
    """Refuse what is no whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        given = " ".join(repr(value).split())
        given = given if len(given) <= LONGEST else f"{given[:LONGEST]}…"
        message = f"{name}={given} must be a whole number of {least} or more."
        raise ValueError(message)
    return int(value)


def check_n_init(value: Any) -> int | Literal["auto"]:
    """Refuse what is neither a number of runs nor "auto"."""
    if isinstance(value, str) and value == "auto":
        return "auto"
    if isinstance(value, str):
        message = f"n_init={value!r} must be a whole number of 1 or more, or 'auto'."
        raise ValueError(message)
    return check_integer("n_init", value, 1)


def check_non_negative(name: str, value: Any) -> float:
    """Refuse what is no finite number of 0 or more."""
    if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
        message = f"{name}={value!r} must be a finite number of 0 or more."
        raise ValueError(message)
    return float(value)


def check_limit(name: str, value: Any) -> float:
    """Refuse what is no finite number of 1 or more."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not 1 <= float(value) < np.inf
    ):
        message = f"{name}={value!r} must be None or a finite number of 1 or more."
        raise ValueError(message)
    return float(value)


def check_groups(groups: Any) -> tuple[int, ...]:
    """Return the groups a column may take; C1 must be one of them."""
    chosen = tuple(groups) if np.iterable(groups) else ()
    if any(group not in GROUPS for group in chosen) or RELEVANT not in chosen:
        message = f"groups={groups!r} must hold 1 (C1) and may hold 0 (C0) and -1 (C-)."
        raise ValueError(message)
    return chosen


def resolve_penalty(penalty: Any) -> Price:
    """Return the price of a C1 column as a function of totals, K and n."""
    if callable(penalty):
        return prices.UserPrice(penalty)
    check_choice("column_penalty", penalty, prices.NAMED)
    return prices.NAMED[penalty]


def fixed_seed(random_state: Any) -> int:
    """Return a whole number that stands for this seed in several fits."""
    if isinstance(random_state, Integral):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(_random(random_state).randint(2**31 - 1))


def entropy_of(random_state: Any) -> tuple[int, ...]:
    """Return four numbers that all runs of a fit draw from."""
    if isinstance(random_state, np.random.Generator):
        return tuple(random_state.integers(2**32, size=4).tolist())
    return tuple(_random(random_state).randint(2**31 - 1, size=4).tolist())


def _random(random_state: Any) -> np.random.RandomState:
    try:
        generator: np.random.RandomState = check_random_state(random_state)
    except (TypeError, ValueError):
        message = (
            f"random_state={random_state!r} is no seed: pass a whole number from 0 to "
            "2**32 - 1, a RandomState, a Generator or None."
        )
        raise ValueError(message) from None
    return generator


def restart_seeds(random_state: Any, n_init: int) -> list[np.random.SeedSequence]:
    """One seed a restart; the first ones do not depend on how many follow."""
    return np.random.SeedSequence(entropy_of(random_state)).spawn(n_init)


def resolve_n_jobs(n_jobs: Any) -> int:
    """Number of threads: None is all cores, or one inside a joblib or Dask worker."""
    if n_jobs is None:
        return 1 if _inside_a_worker() else joblib.cpu_count()
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        message = f"n_jobs={n_jobs!r} must be None or a whole number other than 0."
        raise ValueError(message)
    asked = int(n_jobs)
    # As in joblib: -1 is all cores, -2 all but one.
    return asked if asked > 0 else max(1, joblib.cpu_count() + 1 + asked)


def _inside_a_worker() -> bool:
    backend, _ = get_active_backend()
    if backend.nesting_level:
        return True
    if "distributed" not in sys.modules:
        return False
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True
