"""Checks of an estimator's parameters, and what their names stand for."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._core.codes import GROUPS, PRICES, RELEVANT, UserPrice
from ._errors import Given, ParameterError
from ._parameters import PARAMETERS, ROBUST

if TYPE_CHECKING:
    from ._core.codes import Price


def check_parameters(given: Mapping[str, Any]) -> None:
    """Refuse numbers and names that parameters of the table do not take."""
    for name, value in given.items():
        parameter = PARAMETERS[name]
        if parameter.kind == "choice":
            if not parameter.also or isinstance(value, str):
                check_choice(name, value, parameter.choices)
        elif parameter.kind == "integer":
            check_integer(name, value, int(parameter.least or 0), parameter.choices)
        elif parameter.kind == "number":
            check_non_negative(name, value)


def check_choice(name: str, value: Any, allowed: Iterable[Any]) -> None:
    """Refuse a value that is not one of the allowed ones."""
    allowed = list(allowed)
    if not any(value is option or value == option for option in allowed):
        choices = ", ".join(map(repr, allowed))
        raise ParameterError(Given(name, value), f" is not one of {choices}.")


def check_integer(
    name: str, value: Any, least: int, choices: tuple[str | None, ...] = ()
) -> Any:
    """Refuse what is neither an integer of at least ``least`` nor a choice."""
    if isinstance(value, str) and value in choices:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        others = "".join(f", or {choice!r}" for choice in choices)
        problem = f" must be an integer of {least} or more{others}."
        raise ParameterError(Given(name, value), problem)
    return int(value)


def check_non_negative(name: str, value: Any) -> float:
    """Refuse what is not a finite number of 0 or more."""
    if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
        raise ParameterError(Given(name, value), " must be a finite number, 0 or more.")
    return float(value)


def check_level(name: str, value: Any) -> float:
    """Refuse what is not a number between 0 and 1."""
    if not 0 < check_non_negative(name, value) < 1:
        raise ParameterError(Given(name, value), " must be between 0 and 1.")
    return float(value)


class Limits(NamedTuple):
    """Most dispersion of a column, and most median rows in a row; None: no limit."""

    columns: float | None = None
    rows: float | None = None


def check_robust(value: Any) -> Limits:
    """Return the limits that ``robust`` stands for."""
    if value is None:
        return Limits()
    if value is True:
        return Limits(**ROBUST)
    if not isinstance(value, Mapping) or not value or not {*value} <= {*ROBUST}:
        example = '{"columns": 10, "rows": 5}'
        problem = f" must be None, True or a dict of limits such as {example}."
        raise ParameterError(Given("robust", value), problem)
    for key, limit in value.items():
        number = isinstance(limit, Real) and not isinstance(limit, bool)
        if not number or not 1 <= float(limit) < np.inf:
            problem = f": the limit of {key!r} must be a finite number, 1 or more."
            raise ParameterError(Given("robust", value), problem)
    return Limits(**{key: float(limit) for key, limit in value.items()})


def check_groups(groups: Any) -> tuple[int, ...]:
    """Return the groups a column may take; C1 must be one of them."""
    chosen = tuple(groups) if np.iterable(groups) else ()
    if any(group not in GROUPS for group in chosen) or RELEVANT not in chosen:
        problem = " must hold 1 (C1) and may hold 0 (C0) and -1 (C-)."
        raise ParameterError(Given("groups", groups), problem)
    return chosen


def resolve_penalty(penalty: Any) -> Price:
    """Return the price of a C1 column as a function of totals, K and n."""
    if callable(penalty):
        return UserPrice(penalty)
    check_choice("column_penalty", penalty, PRICES)
    return PRICES[penalty]


def fixed_seed(random_state: Any) -> int:
    """Return an integer that stands for this seed in several fits."""
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
    if random_state is None or random_state is np.random:
        return np.random.mtrand._rand  # as scikit-learn does
    if isinstance(random_state, np.random.RandomState):
        return random_state
    try:
        generator = np.random.RandomState(operator.index(random_state))
    except (TypeError, ValueError):
        problem = (
            " is not a seed: pass an integer from 0 to 2**32 - 1, a RandomState, "
            "a Generator or None."
        )
        given = Given("random_state", random_state)
        raise ParameterError(given, problem) from None
    return generator


def resolve_n_jobs(n_jobs: Any) -> int:
    """Number of threads: None is all cores, or one inside a joblib or Dask worker."""
    import joblib

    if n_jobs is None:
        return 1 if _inside_a_worker() else joblib.cpu_count()
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        problem = " must be None or an integer other than 0."
        raise ParameterError(Given("n_jobs", n_jobs), problem)
    asked = int(n_jobs)
    # As in joblib: -1 is all cores, -2 all but one.
    return asked if asked > 0 else max(1, joblib.cpu_count() + 1 + asked)


def _inside_a_worker() -> bool:
    from joblib.parallel import get_active_backend

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
