"""A fit that is asked for: its checked parameters, and who listens to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._core.codes import GROUPS, RELEVANT, all_held
from .._errors import Given, ParameterError

if TYPE_CHECKING:
    from .._core.codes import Floats, Ints
    from .._core.rows import RowInfo
    from .._core.run import Settings
    from .._core.search import Report
    from .record import FitRecord


class Step(NamedTuple):
    """An iteration of a run of so many clusters, and its entry in the history."""

    n_clusters: int
    run: int
    iteration: int
    line: dict[str, float]
    finished: bool


class Progress(Protocol):
    """Listens to a fit. Steps come from any of its threads."""

    def start(self, n_runs: int) -> None:
        """Hear how many runs are to come, over all numbers of clusters."""
        ...

    def step(self, step: Step) -> None: ...


def report_to(progress: Progress | None) -> Report | None:
    """Return what a search calls after each iteration."""
    if progress is None:
        return None
    return lambda *step: progress.step(Step(*step))


# Names of columns.
Names = Sequence[Any] | NDArray[Any]
# Groups of columns by number or name, as they are given.
Fixed = Mapping[Any, int]
# Columns of clusters, by name or number, as they are given; and by number.
GivenSeeds = Mapping[str, Sequence[Any]]
SeedColumns = tuple[tuple[str, tuple[int, ...]], ...]
_MOST_NAMED = 5


def column_finder(
    parameter: str, names: Names | None, n_columns: int
) -> Callable[[Any], int]:
    """Return what finds columns of X for a parameter; anything else is an error.

    A whole number is that of a column. A text is a name, or where no column has that
    name and it is a number, as in files, a number.
    """
    listed = [] if names is None else [str(name) for name in names]
    numbers, times = {name: j for j, name in enumerate(listed)}, Counter(listed)

    def number(given: Any) -> int:
        is_text = isinstance(given, str)
        whole = isinstance(given, Integral) and not isinstance(given, bool)
        if is_text and given in numbers:
            if times[given] == 1:
                return numbers[given]
            what = f"{given!r} is the name of {times[given]} columns"
        elif whole or (is_text and given.isdecimal()):
            if 0 <= int(given) < n_columns:
                return int(given)
            last = n_columns - 1
            what = f"{given!r} is not a column; they are numbered from 0 to {last}"
        elif not is_text:
            what = f"{given!r} is neither the name nor the number of a column"
        elif names is None:
            what = f"{given!r} is a name, but the columns of X have none"
        else:
            first = ", ".join(map(repr, list(numbers)[:_MOST_NAMED]))
            more = ", …" if len(numbers) > _MOST_NAMED else ""
            what = f"{given!r} is not a column of X; its columns are {first}{more}"
        message = f"{parameter}: {what}."
        raise ValueError(message)

    return number


def check_fixed(given: Any, allowed: tuple[int, ...]) -> Fixed | None:
    """Refuse unknown groups of columns, or those that ``groups`` does not allow."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        message = (
            "fixed_groups must be a dict from columns (names or numbers) to groups "
            f"(1, 0 or -1), not {type(given).__name__}."
        )
        raise ValueError(message)
    for column, group in given.items():
        if isinstance(group, bool) or group not in GROUPS:
            message = f"fixed_groups: {column!r} is in {group!r}, not in 1, 0 or -1."
            raise ValueError(message)
        if group not in allowed:
            message = (
                f"fixed_groups: {column!r} is in {group}, which groups={allowed!r} "
                "does not allow."
            )
            raise ValueError(message)
    return given


def fixed_pairs(
    given: Fixed | None, names: Names | None, n_columns: int
) -> tuple[tuple[int, int], ...]:
    if not given:
        return ()
    find = column_finder("fixed_groups", names, n_columns)
    found: dict[int, int] = {}
    for column, group in given.items():
        number = find(column)
        if found.setdefault(number, int(group)) != int(group):
            message = (
                f"fixed_groups: column {number} is in {found[number]} and, as "
                f"{column!r}, in {int(group)}."
            )
            raise ValueError(message)
    if len(found) == n_columns and RELEVANT not in found.values():
        message = (
            "fixed_groups: no column is left that may be relevant (1); without one no "
            "clusters can be told apart."
        )
        raise ValueError(message)
    return tuple(sorted(found.items()))


def check_seeds(given: Any) -> GivenSeeds | None:
    """Refuse what is not a dict of clusters and columns."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        message = (
            "seed_columns must be a dict from names of clusters to lists of columns, "
            f"not {type(given).__name__}."
        )
        raise ValueError(message)
    for name, columns in given.items():
        listed = isinstance(columns, Iterable) and not isinstance(columns, str)
        if not listed or not list(columns):
            message = (
                f"seed_columns: {name!r} needs a list of columns, not {columns!r}."
            )
            raise ValueError(message)
    return {str(name): list(columns) for name, columns in given.items()}


def seed_numbers(
    given: GivenSeeds | None, names: Names | None, n_columns: int
) -> SeedColumns:
    """Return columns of clusters by number; no column may be in two clusters."""
    if not given:
        return ()
    find = column_finder("seed_columns", names, n_columns)
    owners: dict[int, str] = {}
    for cluster, columns in given.items():
        for column in columns:
            owner = owners.setdefault(find(column), cluster)
            if owner != cluster:
                message = (
                    f"seed_columns: {column!r} is in {owner!r} and in {cluster!r}."
                )
                raise ValueError(message)
    return tuple(
        (cluster, tuple(j for j, owner in owners.items() if owner == cluster))
        for cluster in given
    )


# Runs of a fit that only shows the way; with merging the third starts from all columns.
FEW_RUNS = 3
# Of all seeds that one plan makes, that of a sample of the rows.
SAMPLE_KEY = 2**31


@dataclass(frozen=True, eq=False)
class Plan:
    """Parameters of a fit after their checks; those that hang on data are still open.

    ``init`` and ``column_init`` are names, or labels and groups as they were given, or
    the record of a fit to start from; ``n_init`` of "auto" goes on until two runs
    agree. ``entropy`` is all that is random. ``parameters`` are those of the estimator
    as plain values, for files and reports. ``with_confidence`` asks how sure the fit
    is of its rows, ``calibrated`` that drawn tables tell how sure. Columns with a
    dispersion above ``max_dispersion`` are downweighted, unless ``column_weights`` are
    given; so are rows above ``max_row_size`` times the median. ``fixed_groups`` are
    columns, by name or number, that stay in their groups. ``given_seeds`` are columns
    that clusters start from, ``seed_columns`` the same by number.
    """

    name: str
    settings: Settings
    init: str | NDArray[Any] | FitRecord
    column_init: str | NDArray[Any]
    n_init: int | Literal["auto"]
    entropy: tuple[int, ...]
    n_jobs: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    max_dispersion: float | None = None
    column_weights: Floats | None = None
    max_row_size: float | None = None
    with_confidence: bool = False
    calibrated: bool = False
    fixed_groups: Fixed | None = None
    given_seeds: GivenSeeds | None = None
    seed_columns: SeedColumns = ()

    def for_columns(self, names: Names | None, n_columns: int) -> Plan:
        """Return the same plan for counts of these columns."""
        started = getattr(self.init, "column_names", None)
        here, there = ([] if n is None else list(map(str, n)) for n in (names, started))
        if here != there and sorted(here) == sorted(there):
            message = (
                "init was fitted on the same columns in another order; put the columns "
                "of X in the order of the model's feature_names_in_."
            )
            raise ValueError(message)
        fixed = fixed_pairs(self.fixed_groups, names, n_columns)
        seeds = seed_numbers(self.given_seeds, names, n_columns)
        settings = replace(self.settings, fixed_groups=fixed)
        return replace(self, settings=settings, seed_columns=seeds)

    @property
    def by_name(self) -> Plan:
        """The plan without labels, groups or a fit to start from."""
        init, columns = self.init, self.column_init
        init = init if isinstance(init, str) else "merge"
        columns = columns if isinstance(columns, str) else "information"
        return replace(self, init=init, column_init=columns, parameters={})

    def alone(self, n_clusters: int, n_init: Any, **settings: Any) -> Plan:
        """Return the plan of a fit of parts, or of drawn tables, for the labels alone.

        Nothing is known of their rows, and no seed columns or given starts are used.
        """
        plan = self.by_name.with_known(0).with_clusters(n_clusters)
        return replace(
            plan,
            settings=replace(plan.settings, **settings),
            n_init=n_init,
            n_jobs=1,
            given_seeds=None,
            seed_columns=(),
            with_confidence=False,
            calibrated=False,
        )

    @property
    def seed_names(self) -> tuple[str, ...]:
        """Names of clusters that start from columns."""
        return tuple(self.given_seeds or ())

    def seeds(self, n_runs: int) -> list[np.random.SeedSequence]:
        """One seed for each run; the first ones do not depend on how many follow."""
        return np.random.SeedSequence(self.entropy).spawn(n_runs)

    @property
    def sample_seed(self) -> np.random.SeedSequence:
        """Seed of the rows that a fit over blocks starts from."""
        return self.seed_of(SAMPLE_KEY)

    def seed_of(self, key: int) -> np.random.SeedSequence:
        """Seed of something beside the runs, by its key."""
        return np.random.SeedSequence(self.entropy, spawn_key=(key,))

    def with_column_weights(self, weights: Floats | None) -> Plan:
        """Return the same plan with these weights of the columns, measured or none."""
        return replace(self, column_weights=weights, max_dispersion=None)

    def with_known(self, n_known: int) -> Plan:
        return replace(self, settings=replace(self.settings, n_known=n_known))

    def with_clusters(self, n_clusters: int) -> Plan:
        settings = replace(self.settings, n_clusters=n_clusters)
        parameters = {**self.parameters, "n_clusters": n_clusters}
        return replace(self, settings=settings, parameters=parameters)


def check_rows(
    plan: Plan, n_clusters: Sequence[int], info: RowInfo, n_rows: int
) -> None:
    """Refuse numbers of clusters, batches and known clusters that rows cannot have."""
    from .._core.rules import EXACT  # compiled loops, which checks need not load

    if info.n_batches > 1 and plan.settings.rule is not EXACT:
        message = (
            f"The rule {plan.settings.rule.name!r} does not support batches; with "
            "batch= use assignment='exact'."
        )
        raise ValueError(message)
    n_kept = n_rows if info.kept is None else len(info.kept)
    check_enough_rows(max(n_clusters), n_kept)
    if info.known is not None and isinstance(plan.init, str):
        known = info.known if info.kept is None else info.known[info.kept]
        for k in (min(n_clusters), max(n_clusters)):
            _check_known_clusters(k, all_held(known), info.known_names)


def check_enough_rows(n_clusters: int, n_rows: int) -> None:
    if n_clusters > n_rows:
        few = f"n_samples={n_rows} should be >= "
        why = ": a cluster needs at least one row."
        raise ParameterError(few, Given("n_clusters", n_clusters), why)


def _check_known_clusters(n_clusters: int, held: Ints, names: tuple[str, ...]) -> None:
    """Refuse known clusters that a fit of so many clusters cannot have."""
    n_known = len(names)
    if n_known > n_clusters:
        row = int(np.flatnonzero(held == n_clusters)[0])
        message = (
            f"n_clusters={n_clusters}, but {n_known} clusters are known; for example, "
            f"row {row} is in {_called(names, n_clusters)}."
        )
        raise ValueError(message)
    sizes = np.bincount(held[held >= 0], minlength=n_known)
    if not sizes.all():
        lost = int(np.flatnonzero(sizes == 0)[0])
        message = (
            f"All known rows of {_called(names, lost)} have weight 0; "
            "a known cluster needs a row that counts."
        )
        raise ValueError(message)
    n_free, n_new = len(held) - int(sizes.sum()), n_clusters - n_known
    if n_new > n_free:
        message = (
            f"{n_new} new clusters need at least {n_new} unlabelled rows; there "
            f"{'is' if n_free == 1 else 'are'} {n_free}."
        )
        raise ValueError(message)


def _called(names: tuple[str, ...], cluster: int) -> str:
    name = names[cluster]
    return f"cluster {name!r}" if name else f"cluster {cluster}"
