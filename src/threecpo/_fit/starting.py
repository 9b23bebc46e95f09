"""Where the runs of a plan start: what its ``init`` and ``column_init`` stand for.

A start of the rows makes, from the counts inside the first C1, a function from a random
generator and a number of clusters to labels.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import seeding
from .._core.codes import (
    FREE,
    NOISE,
    OUTLIER,
    RELEVANT,
    SHARED,
    all_held,
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
from .engine import of_each
from .plan import report_to
from .record import FitRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from .._core.codes import Floats, Groups, Ints
    from .._core.counts import Counts
    from .._core.rows import RowInfo
    from .._core.run import Settings
    from .._core.search import FewRuns, FirstColumns, Found, MakeStart
    from .._core.workers import Workers
    from .driver import FitRows
    from .plan import Plan, Progress, SeedColumns


MERGE = "merge"
# Starts that leave known clusters where they are, and seed others.
STARTS_WITH_KNOWN = (MERGE, "poisson-k-means++", "random-centers")


def runs_of(
    plans: Sequence[Plan],
    counts: Counts,
    workers: Workers,
    progress: Progress | None = None,
    few: FewRuns | None = None,
    *,
    heard: bool = True,
) -> Found:
    """Yield the runs of plans that differ in K alone.

    ``few`` runs start from each other where merging ones are of several K. Unless
    ``heard``, progress is told only how many there are.
    """
    plan = plans[0]
    n_runs, find = _search(plan, counts, workers, few)
    if progress is not None:
        progress.start(len(plans) * n_runs)
    report = report_to(progress) if heard else None
    settings = [each.settings for each in plans]
    return find(settings, plan.seeds(n_runs), workers, report)


def _search(
    plan: Plan, counts: Counts, workers: Workers, few: FewRuns | None
) -> tuple[int, Callable[..., Found]]:
    """How many runs there are at most, and what makes them."""
    settings, init, n_columns = plan.settings, plan.init, counts.n_columns
    record = init if isinstance(init, FitRecord) else None
    named = isinstance(plan.column_init, str)

    def information(used: NDArray[np.bool_]) -> Floats:
        return seeding.column_information(counts.columns(used), settings.prior)

    def of_one_cluster() -> Groups:
        groups = all_used(settings, n_columns)
        if NOISE not in settings.groups or not isinstance(init, str):
            return groups
        fixed = [j for j, _ in settings.fixed_groups]
        return columns_of_one_cluster(counts, groups, fixed)

    columns: FirstColumns | Groups
    if record is None:
        columns = first_columns(plan, n_columns, information)
    else:
        columns = groups_of_record(plan, n_columns)
    options: dict[str, Any] = {"fixed_groups": settings.fixed_groups}
    options["of_one_cluster"] = of_one_cluster if named and record is None else None
    if not isinstance(init, str):
        if record is None:
            labels = given_labels(plan, counts.n_rows)
        else:
            labels = place_of(record, settings)(counts, workers)
        given = Starts(counts, columns, lambda _: lambda *_: labels, **options)
        return 1, partial(restarts, given)
    if counts.n_known and init not in STARTS_WITH_KNOWN:
        known = ", ".join(map(repr, STARTS_WITH_KNOWN))
        message = f"init={init!r} does not support known_labels; use one of {known}."
        raise ValueError(message)
    merging = init == MERGE
    start = make_start("poisson-k-means++" if merging else init, settings.prior)
    options["also_all_columns"] = named and plan.column_init == "information"
    starts = Starts(counts, columns, start, **options)
    if plan.n_init == "auto":
        adaptive = adaptive_merges if merging else adaptive_restarts
        return MOST_RUNS, partial(adaptive, starts)
    if merging and few is not None and not counts.n_known:
        return plan.n_init, partial(few_merges, few, starts)
    return plan.n_init, partial(merges if merging else restarts, starts)


def all_used(settings: Settings, n_columns: int) -> Groups:
    """Groups with every column in C1 that is not held elsewhere."""
    return with_fixed(all_relevant(n_columns), settings.fixed_groups)


def place_of(record: FitRecord, settings: Settings) -> Callable[..., Ints]:
    """What gives rows the labels of a record; outliers only where they are marked."""
    describer = record.describer
    return describer.labels if settings.marks_outliers else describer.nearest


def with_labels_of(plan: Plan, n_rows: int, kept: NDArray[np.intp] | None) -> Plan:
    """Return the plan of some rows, whose labels are all that it starts from."""
    if kept is None or not isinstance(plan.init, np.ndarray):
        return plan
    return replace(plan, init=given_labels(plan, n_rows)[kept])


def given_labels(plan: Plan, n_rows: int) -> Ints:
    """Labels that are the start, checked."""
    least = OUTLIER if plan.settings.marks_outliers else 0
    return check_labels(plan.init, n_rows, plan.settings.n_clusters, least)


def check_labels(given: Any, n_rows: int, n_clusters: int, least: int = 0) -> Ints:
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


def groups_of_record(plan: Plan, n_columns: int) -> Groups:
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
    plan: Plan, n_columns: int, information: Callable[[NDArray[np.bool_]], Floats]
) -> FirstColumns | Groups:
    """First groups of the columns, or how to draw them.

    ``information`` gives that of chosen columns, as if there were no others.
    """
    settings, column_init = plan.settings, plan.column_init
    if not isinstance(column_init, str):
        return _checked_groups(column_init, n_columns, settings)
    if NOISE not in settings.groups:
        return all_relevant(n_columns)
    if column_init == "random":
        return partial(_random_columns, n_columns)
    used = np.ones(n_columns, dtype=bool)
    used[[j for j, group in settings.fixed_groups if group == NOISE]] = False
    found = np.full(n_columns, -np.inf)
    found[used] = information(used)
    found[[j for j, group in settings.fixed_groups if group == SHARED]] = -np.inf
    return seeding.most_informative(found)


def _random_columns(n_columns: int, rng: np.random.Generator) -> Groups:
    """A fair coin for each column, at least one of them in C1."""
    groups = rng.choice(np.array([NOISE, RELEVANT], dtype=np.int8), size=n_columns)
    groups[rng.integers(n_columns)] = RELEVANT
    return groups


def _checked_groups(given: Any, n_columns: int, settings: Settings) -> Groups:
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
    for name, columns in seeds:
        empty = [str(j) for j in columns if totals[j] == 0]
        if empty:
            listed = ", ".join(empty)
            message = f"seed_columns: column {listed} of {name!r} has no counts."
            warnings.warn(message, UserWarning, stacklevel=2)
    parts = zip(*of_each(rows, partial(seed_evidence, seeds, totals)), strict=True)
    best, clear = map(np.concatenate, parts)
    known = _with_seeds(seeds, best, clear, info)
    # Clusters of columns come first; known ones have their names already.
    names = info.known_names or tuple(name for name, _ in seeds)
    return replace(info, known=known, known_names=names)


def seed_evidence(
    seeds: SeedColumns, totals: Floats, counts: Counts
) -> tuple[Ints, Floats]:
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


def _with_seeds(seeds: SeedColumns, best: Ints, clear: Floats, info: RowInfo) -> Ints:
    """Known clusters of rows, with the clearest rows of each cluster of columns."""
    known = info.known
    codes = np.full(len(best), FREE, dtype=np.int32) if known is None else known.copy()
    usable = (clear > 0) & (codes == FREE)
    if info.weights is not None:
        usable &= info.weights > 0
    most = max(1, len(best) // (ROWS_PER_SEED * len(seeds)))
    for k, (name, _) in enumerate(seeds):
        rows = np.flatnonzero(usable & (best == k))
        rows = rows[np.argsort(-clear[rows], kind="stable")[:most]]
        there = known is not None and bool((all_held(known) == k).any())
        if not len(rows) and not there:
            message = (
                f"seed_columns: no row has more of the columns of {name!r} than of the "
                "others; name columns that some rows have much of."
            )
            raise ValueError(message)
        codes[rows] = starting_code(np.array(k))
    return codes
