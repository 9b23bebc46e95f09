"""Where the runs of a plan start: what its ``init`` and ``column_init`` stand for.

A start of the rows makes, from the counts inside the first C1, a function from a random
generator and a number of clusters to labels.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import seeding
from .._core.codes import NOISE, OUTLIER, RELEVANT, SHARED, all_relevant, with_fixed
from .._core.search import (
    MOST_RUNS,
    Starts,
    merges,
    merges_until_agreed,
    restarts,
    restarts_until_agreed,
)
from .record import FitRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.run import Settings
    from .._core.search import FirstColumns, Found, MakeStart
    from .._core.workers import Workers
    from .plan import Plan

MERGE = "merge"
# Starts that leave known clusters where they are, and seed others.
STARTS_WITH_KNOWN = (MERGE, "poisson-k-means++", "random-centers")


class Search(NamedTuple):
    """How many runs there are at most, and the search that makes them."""

    n_runs: int
    find: Callable[..., Found]


def search_for(plan: Plan, counts: Counts, workers: Workers) -> Search:
    """Return the search that a plan asks for on these counts."""
    settings, init = plan.settings, plan.init
    if isinstance(init, FitRecord):
        groups = groups_of_record(plan, counts.n_columns)
        labels = placed_by(init, counts, settings, workers)
        return _one_run(plan, counts, groups, labels)

    def information() -> NDArray[np.float64]:
        used = may_be_used(settings, counts.n_columns)
        found = np.full(counts.n_columns, -np.inf)
        some = counts.columns(used)
        found[used] = seeding.column_information(some, settings.prior)
        return found

    columns = first_columns(plan, counts.n_columns, information)
    if not isinstance(init, str):
        return _one_run(plan, counts, columns, given_labels(plan, counts.n_rows))
    merging = init == MERGE
    if counts.n_known and init not in STARTS_WITH_KNOWN:
        known = ", ".join(map(repr, STARTS_WITH_KNOWN))
        message = f"init={init!r} knows no known clusters; use one of {known}."
        raise ValueError(message)
    start = make_start("poisson-k-means++" if merging else init, settings.prior)
    chosen = isinstance(plan.column_init, str) and plan.column_init == "information"
    starts = Starts(
        counts,
        columns,
        start,
        also_all_columns=chosen,
        fixed_groups=settings.fixed_groups,
    )
    if plan.n_init == "auto":
        find = merges_until_agreed if merging else restarts_until_agreed
        return Search(MOST_RUNS, partial(find, starts))
    return Search(plan.n_init, partial(merges if merging else restarts, starts))


def _one_run(
    plan: Plan,
    counts: Counts,
    columns: FirstColumns | NDArray[np.int8],
    labels: NDArray[np.int32],
) -> Search:
    """Search that makes one run, from these labels."""

    def always(_: Counts) -> Callable[..., NDArray[np.int32]]:
        return lambda *_: labels

    fixed = plan.settings.fixed_groups
    starts = Starts(counts, columns, always, fixed_groups=fixed)
    return Search(1, partial(restarts, starts))


def may_be_used(settings: Settings, n_columns: int) -> NDArray[np.bool_]:
    """Columns that are not held in C-."""
    used = np.ones(n_columns, dtype=bool)
    used[[j for j, group in settings.fixed_groups if group == NOISE]] = False
    return used


def placed_by(
    record: FitRecord, counts: Counts, settings: Settings, workers: Workers
) -> NDArray[np.int32]:
    """Labels that a record gives these rows; outliers only where they are marked."""
    results = record.describe(counts, workers)
    return results.labels if settings.marks_outliers else results.nearest_labels


def given_labels(plan: Plan, n_rows: int) -> NDArray[np.int32]:
    """Labels that are the start, checked."""
    least = OUTLIER if plan.settings.marks_outliers else 0
    return check_labels(plan.init, n_rows, plan.settings.n_clusters, least)


def check_labels(
    given: Any, n_rows: int, n_clusters: int, least: int = 0
) -> NDArray[np.int32]:
    """Return labels given as a start: one of the clusters for each row."""
    labels = np.asarray(given)
    if (
        labels.shape != (n_rows,)
        or labels.dtype.kind not in "iu"
        or not ((labels >= least) & (labels < n_clusters)).all()
        or not (labels >= 0).any()
    ):
        message = (
            f"init must be a name, a fitted model or one whole number from {least} to "
            f"{n_clusters - 1} for each of the {n_rows} rows."
        )
        raise ValueError(message)
    return labels.astype(np.int32)


def groups_of_record(plan: Plan, n_columns: int) -> NDArray[np.int8]:
    """First groups where the start is a record: its own, unless others are given.

    A group that the settings forbid becomes C1.
    """
    record, settings = plan.init, plan.settings
    assert isinstance(record, FitRecord)
    if record.n_columns != n_columns:
        message = f"init was fitted on {record.n_columns} columns; X has {n_columns}."
        raise ValueError(message)
    if record.n_clusters > settings.n_clusters:
        message = (
            f"init has {record.n_clusters} clusters, more than "
            f"n_clusters={settings.n_clusters}."
        )
        raise ValueError(message)
    if not isinstance(plan.column_init, str):
        return _checked_groups(plan.column_init, n_columns, settings)
    allowed = np.isin(record.groups, settings.groups)
    groups = np.where(allowed, record.groups, np.int8(RELEVANT))
    return with_fixed(groups, settings.fixed_groups)


def first_columns(
    plan: Plan, n_columns: int, information: Callable[[], NDArray[np.float64]]
) -> FirstColumns | NDArray[np.int8]:
    """First groups of the columns, or how to draw them."""
    settings, column_init = plan.settings, plan.column_init
    if not isinstance(column_init, str):
        return _checked_groups(column_init, n_columns, settings)
    if NOISE not in settings.groups:
        return all_relevant(n_columns)
    if column_init == "random":
        return partial(_random_columns, n_columns)
    found = information()
    found[[j for j, group in settings.fixed_groups if group == SHARED]] = -np.inf
    return seeding.most_informative(found)


def _random_columns(n_columns: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """A fair coin for each column, at least one of them in C1."""
    groups = rng.choice(np.array([NOISE, RELEVANT], dtype=np.int8), size=n_columns)
    groups[rng.integers(n_columns)] = RELEVANT
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
    if not (groups == RELEVANT).any():
        message = "column_init must put at least one column in C1 (group 1)."
        raise ValueError(message)
    for column, held in settings.fixed_groups:
        if groups[column] != held:
            message = (
                f"column_init puts column {column} in {groups[column]}, fixed_groups "
                f"in {held}."
            )
            raise ValueError(message)
    return groups.astype(np.int8)


def make_start(name: str, prior: float) -> MakeStart:
    """Return the start of this name."""
    if name == "poisson-k-means++":
        return partial(seeding.poisson_plus_plus, prior=prior)
    if name == "random-labels":
        return seeding.random_labels
    if name == "random-centers":
        return seeding.random_centers
    shares, full = name.startswith("rf-"), not name.endswith("++")
    return partial(seeding.k_means, shares=shares, full=full)
