"""Where the runs of an estimator start: its ``init`` and ``column_init``.

A start of the rows makes, from the counts inside the first C1, a function from a random
generator and a number of clusters to labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._options import check_choice, check_integer, check_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.run import Settings
    from .._core.search import FirstColumns, Found, MakeStart

MERGE = "merge"
ROWS = (
    MERGE,
    "poisson-k-means++",
    "random-labels",
    "random-centers",
    "k-means++",
    "k-means",
    "rf-k-means++",
    "rf-k-means",
)
COLUMNS = ("information", "random")


@dataclass(frozen=True)
class Plan:
    """How many runs there are, and the search that makes them."""

    n_runs: int
    search: Callable[..., Found]


def plan(estimator: Any, counts: Counts, settings: Settings) -> Plan:
    """Check ``init``, ``column_init`` and ``n_init`` and say how to search."""
    from .._core import seeding
    from .._core.search import Starts, merges, restarts

    init = estimator.init
    n_init = check_integer("n_init", estimator.n_init, 1)
    if isinstance(init, BaseEstimator):
        groups = groups_of_model(estimator, counts.n_columns, settings)
        description = init._describe(counts)
        labels = init._fitted.labels(description)
        if not settings.marks_outliers:
            labels = description.nearest
        return Plan(1, partial(restarts, Starts(counts, groups, _always(labels))))
    columns = first_columns(
        estimator,
        counts.n_columns,
        settings,
        lambda: seeding.column_information(counts, settings.prior),
    )
    if not isinstance(init, str):
        labels = given_labels(init, counts.n_rows, settings)
        return Plan(1, partial(restarts, Starts(counts, columns, _always(labels))))
    check_choice("init", init, ROWS)
    merging = init == MERGE
    start = make_start("poisson-k-means++" if merging else init, settings.prior)
    search = merges if merging else restarts
    column_init = getattr(estimator, "column_init", None)
    chosen = isinstance(column_init, str) and column_init == "information"
    starts = Starts(counts, columns, start, also_all_columns=chosen)
    return Plan(n_init, partial(search, starts))


def given_labels(init: Any, n_rows: int, settings: Settings) -> NDArray[np.int32]:
    """Labels that are the start, checked."""
    least = -1 if settings.marks_outliers else 0
    return check_labels(init, n_rows, settings.n_clusters, least)


def _always(labels: NDArray[np.int32]) -> MakeStart:
    return lambda _: lambda *_: labels


def groups_of_model(
    estimator: Any, n_columns: int, settings: Settings
) -> NDArray[np.int8]:
    """First groups where the start is a fitted model: its own, unless others are given.

    A group that the settings forbid becomes C1.
    """
    model = estimator.init
    check_is_fitted(model)
    if not hasattr(model, "_fitted"):
        message = f"init={model!r} is no model of the Poisson family."
        raise ValueError(message)
    if model.n_features_in_ != n_columns:
        message = (
            f"init was fitted on {model.n_features_in_} columns; X has {n_columns}."
        )
        raise ValueError(message)
    if model.n_clusters_ > settings.n_clusters:
        message = (
            f"init has {model.n_clusters_} clusters, more than "
            f"n_clusters={settings.n_clusters}."
        )
        raise ValueError(message)
    column_init = _column_init(estimator)
    if not isinstance(column_init, str):
        return _checked_groups(column_init, n_columns, settings)
    groups = model._fitted.groups
    return np.where(np.isin(groups, settings.groups), groups, np.int8(1))


def _column_init(estimator: Any) -> Any:
    return getattr(estimator, "column_init", "information")


def first_columns(
    estimator: Any,
    n_columns: int,
    settings: Settings,
    information: Callable[[], NDArray[np.float64]],
) -> FirstColumns | NDArray[np.int8]:
    """First groups of the columns, or how to draw them."""
    from .._core import seeding

    column_init = _column_init(estimator)
    if not isinstance(column_init, str):
        return _checked_groups(column_init, n_columns, settings)
    check_choice("column_init", column_init, COLUMNS)
    if -1 not in settings.groups:
        return np.ones(n_columns, dtype=np.int8)
    if column_init == "random":
        return partial(_random_columns, n_columns)
    return seeding.most_informative(information())


def _random_columns(n_columns: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """A fair coin for each column, at least one of them in C1."""
    groups = rng.choice(np.array([-1, 1], dtype=np.int8), size=n_columns)
    groups[rng.integers(n_columns)] = 1
    return groups


def _checked_groups(given: Any, n_columns: int, settings: Settings) -> NDArray[np.int8]:
    groups = np.asarray(given)
    allowed = ", ".join(map(str, settings.groups))
    if groups.shape != (n_columns,) or not np.isin(groups, settings.groups).all():
        message = (
            f"column_init must be 'information', 'random' or one of {allowed} for each "
            f"of the {n_columns} columns."
        )
        raise ValueError(message)
    if not (groups == 1).any():
        message = "column_init must put at least one column in C1 (group 1)."
        raise ValueError(message)
    return groups.astype(np.int8)


def make_start(name: str, prior: float) -> MakeStart:
    """Return the start of this name."""
    from .._core import seeding

    if name == "poisson-k-means++":
        return partial(seeding.poisson_plus_plus, prior=prior)
    if name == "random-labels":
        return seeding.random_labels
    if name == "random-centers":
        return seeding.random_centers
    shares, full = name.startswith("rf-"), not name.endswith("++")
    return partial(seeding.k_means, shares=shares, full=full)
