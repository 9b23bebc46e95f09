"""Where the runs of a plan start: what its ``init`` and ``column_init`` stand for.

A start of the rows makes, from the counts inside the first C1, a function from a random
generator and a number of clusters to labels.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import seeding
from .._core.codes import (
    FREE,
    NOISE,
    OUTLIER,
    RELEVANT,
    SHARED,
    all_relevant,
    starting_code,
    with_fixed,
)
from .._core.one_cluster import columns_of_one_cluster
from .._core.search import (
    MOST_RUNS,
    Starts,
    adaptive_merges,
    adaptive_restarts,
    few_merges,
    merges,
    restarts,
)
from .record import FitRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.rows import RowInfo
    from .._core.run import Settings
    from .._core.search import FewRuns, FirstColumns, Found, MakeStart
    from .._core.workers import Workers
    from .driver import FitRows
    from .plan import Plan, SeedColumns

    Evidence = tuple[NDArray[np.int32], NDArray[np.float64]]


MERGE = "merge"
# Starts that leave known clusters where they are, and seed others.
STARTS_WITH_KNOWN = (MERGE, "poisson-k-means++", "random-centers")


class Search(NamedTuple):
    """How many runs there are at most, and the search that makes them."""

    n_runs: int
    find: Callable[..., Found]


def search_for(
    plan: Plan, counts: Counts, workers: Workers, few: FewRuns | None = None
) -> Search:
    """Return the search that a plan asks for on these counts.

    ``few`` runs start from each other where merging ones are of several K.
    """
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

    def of_one_cluster() -> NDArray[np.int8]:
        groups = all_used(settings, counts.n_columns)
        if NOISE not in settings.groups or not isinstance(init, str):
            return groups
        fixed = [j for j, _ in settings.fixed_groups]
        return columns_of_one_cluster(counts, groups, fixed)

    columns = first_columns(plan, counts.n_columns, information)
    named = isinstance(plan.column_init, str)
    alone = of_one_cluster if named else None
    if not isinstance(init, str):
        labels = given_labels(plan, counts.n_rows)
        return _one_run(plan, counts, columns, labels, alone)
    merging = init == MERGE
    if counts.n_known and init not in STARTS_WITH_KNOWN:
        known = ", ".join(map(repr, STARTS_WITH_KNOWN))
        message = f"init={init!r} does not support known_labels; use one of {known}."
        raise ValueError(message)
    start = make_start("poisson-k-means++" if merging else init, settings.prior)
    chosen = named and plan.column_init == "information"
    starts = Starts(
        counts,
        columns,
        start,
        also_all_columns=chosen,
        fixed_groups=settings.fixed_groups,
        of_one_cluster=alone,
    )
    if plan.n_init == "auto":
        find = adaptive_merges if merging else adaptive_restarts
        return Search(MOST_RUNS, partial(find, starts))
    if merging and few is not None and not counts.n_known:
        return Search(plan.n_init, partial(few_merges, few, starts))
    return Search(plan.n_init, partial(merges if merging else restarts, starts))


def _one_run(
    plan: Plan,
    counts: Counts,
    columns: FirstColumns | NDArray[np.int8],
    labels: NDArray[np.int32],
    of_one_cluster: Callable[[], NDArray[np.int8]] | None = None,
) -> Search:
    """Search that makes one run, from these labels."""

    def always(_: Counts) -> Callable[..., NDArray[np.int32]]:
        return lambda *_: labels

    fixed = plan.settings.fixed_groups
    starts = Starts(
        counts, columns, always, fixed_groups=fixed, of_one_cluster=of_one_cluster
    )
    return Search(1, partial(restarts, starts))


def may_be_used(settings: Settings, n_columns: int) -> NDArray[np.bool_]:
    """Columns that are not held in C-."""
    used = np.ones(n_columns, dtype=bool)
    used[[j for j, group in settings.fixed_groups if group == NOISE]] = False
    return used


def all_used(settings: Settings, n_columns: int) -> NDArray[np.int8]:
    """Groups with every column in C1 that is not held elsewhere."""
    return with_fixed(all_relevant(n_columns), settings.fixed_groups)


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
            f"init must be a name, a fitted model or one integer from {least} to "
            f"{n_clusters - 1} for each of the {n_rows} rows."
        )
        raise ValueError(message)
    return labels.astype(np.int32)


def groups_of_record(plan: Plan, n_columns: int) -> NDArray[np.int8]:
    """First groups: those of a record, or given ones; what is forbidden becomes C1."""
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


# Clusters together start from one row in so many.
ROWS_PER_SEED = 10


def with_seed_rows(plan: Plan, info: RowInfo, rows: FitRows) -> RowInfo:
    """Return what belongs to rows, those known that the plan's columns make seeds."""
    seeds = plan.seed_columns
    if not seeds or not isinstance(plan.init, str):
        return info
    totals = rows.totals
    _warn_of_empty(seeds, totals)
    found = rows.fold(partial(seed_evidence, seeds, totals), _chained)
    known = _with_seeds(seeds, found, info.known, info.weights)
    # Clusters of columns come first; known ones have their names already.
    names = info.known_names or tuple(name for name, _ in seeds)
    return replace(info, known=known, known_names=names)


def seed_evidence(
    seeds: SeedColumns, totals: NDArray[np.float64], _: int, counts: Counts
) -> Evidence:
    """Which cluster's columns a row has more of than its size tells, and how clearly.

    Of x counts where e are expected, x log(x / e) - (x - e) nats speak for the cluster
    if x is above e; how clearly is what the second best falls short.
    """
    matrix, sizes = counts.matrix(), counts.row_lengths(1)
    scores = np.zeros((counts.n_rows, len(seeds) + 1))
    for k, (_name, columns) in enumerate(seeds):
        x = matrix[:, list(columns)].sum(axis=1)
        expected = sizes * (totals[list(columns)].sum() / max(totals.sum(), 1.0))
        above = x > expected
        ratio = np.divide(x, expected, out=np.ones_like(sizes), where=above)
        scores[above, k] = (x * np.log(ratio) - (x - expected))[above]
    best = scores.argmax(axis=1).astype(np.int32)
    top_two = np.sort(scores, axis=1)[:, -2:]
    return best, top_two[:, 1] - top_two[:, 0]


def _chained(a: Evidence, b: Evidence) -> Evidence:
    return np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])


def _with_seeds(
    seeds: SeedColumns,
    found: Evidence,
    known: NDArray[np.int32] | None,
    weights: NDArray[np.float64] | None,
) -> NDArray[np.int32]:
    """Known clusters of rows, with the clearest rows of each cluster of columns."""
    best, clear = found
    codes = np.full(len(best), FREE, dtype=np.int32) if known is None else known.copy()
    usable = (clear > 0) & (codes == FREE)
    if weights is not None:
        usable &= weights > 0
    most = max(1, len(best) // (ROWS_PER_SEED * len(seeds)))
    for k, (name, _) in enumerate(seeds):
        rows = np.flatnonzero(usable & (best == k))
        rows = rows[np.argsort(-clear[rows], kind="stable")[:most]]
        there = known is not None and bool(((known == k) | (known == -2 - k)).any())
        if not len(rows) and not there:
            message = (
                f"seed_columns: no row has more of the columns of {name!r} than of the "
                "others; name columns that some rows have much of."
            )
            raise ValueError(message)
        codes[rows] = starting_code(np.array(k))
    return codes


def _warn_of_empty(seeds: SeedColumns, totals: NDArray[np.float64]) -> None:
    """Warn of columns that start nothing, as no row has counts there."""
    for name, columns in seeds:
        empty = [j for j in columns if totals[j] == 0]
        if empty:
            listed = ", ".join(map(str, empty))
            message = f"seed_columns: column {listed} of {name!r} has no counts."
            warnings.warn(message, UserWarning, stacklevel=2)
