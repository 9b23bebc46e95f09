"""A fit that is asked for: its parameters, checked, without the data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._core.codes import all_held
from .given_columns import fixed_pairs, seed_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from .._core.rows import RowInfo
    from .._core.run import Settings
    from .given_columns import Fixed, GivenSeeds, Names, SeedColumns
    from .record import FitRecord

# Of all seeds that one plan makes, that of a sample of the rows.
SAMPLE_KEY = 2**31


@dataclass(frozen=True, eq=False)
class Plan:
    """Parameters of a fit after their checks; those that hang on data are still open.

    ``init`` and ``column_init`` are names, or labels and groups as they were given, or
    the record of a fit to start from; ``n_init`` of "auto" goes on until two runs
    agree. ``entropy`` is all that is random. ``parameters`` are those of the estimator
    as plain values, for files and reports. ``with_confidence`` asks how sure the fit
    is of its rows. Columns with a dispersion above ``max_dispersion`` are held back,
    unless ``column_weights`` are given; so are rows above ``max_row_size`` times the
    median. ``fixed_groups`` are columns, by name or number, that stay in their groups;
    ``hold_labels`` says whether rows of known clusters stay in them. ``given_seeds``
    are columns that clusters start from, ``seed_columns`` the same by number.
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
    column_weights: NDArray[np.float64] | None = None
    max_row_size: float | None = None
    with_confidence: bool = False
    fixed_groups: Fixed | None = None
    hold_labels: bool = True
    given_seeds: GivenSeeds | None = None
    seed_columns: SeedColumns = ()

    def for_columns(self, names: Names | None, n_columns: int) -> Plan:
        """Return the same plan for counts of these columns."""
        fixed = fixed_pairs(self.fixed_groups, names, n_columns)
        seeds = seed_numbers(self.given_seeds, names, n_columns)
        settings = replace(self.settings, fixed_groups=fixed)
        return replace(self, settings=settings, seed_columns=seeds)

    @property
    def by_name(self) -> Plan:
        """The plan without labels, groups or a fit to start from."""
        init = self.init if isinstance(self.init, str) else "merge"
        columns = self.column_init
        columns = columns if isinstance(columns, str) else "information"
        return replace(self, init=init, column_init=columns, parameters={})

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
        return np.random.SeedSequence(self.entropy, spawn_key=(SAMPLE_KEY,))

    def with_column_weights(self, weights: NDArray[np.float64] | None) -> Plan:
        """Return the same plan with these weights of the columns, measured or none."""
        return replace(self, column_weights=weights, max_dispersion=None)

    def with_known(self, n_known: int) -> Plan:
        """Return the same plan for counts with so many known clusters."""
        return replace(self, settings=replace(self.settings, n_known=n_known))

    def with_clusters(self, n_clusters: int) -> Plan:
        """Return the same plan for another number of clusters."""
        settings = replace(self.settings, n_clusters=n_clusters)
        parameters = {**self.parameters, "n_clusters": n_clusters}
        return replace(self, settings=settings, parameters=parameters)


def with_labels_of(plan: Plan, n_rows: int, kept: NDArray[np.intp]) -> Plan:
    """Return the plan of some rows, whose labels are all that it starts from."""
    from .starting import given_labels

    if not isinstance(plan.init, np.ndarray):
        return plan
    return replace(plan, init=given_labels(plan, n_rows)[kept])


def check_rows(
    plan: Plan, n_clusters: Sequence[int], info: RowInfo, n_rows: int
) -> None:
    """Refuse numbers of clusters, batches and known clusters that rows cannot have."""
    from .._core.rules import EXACT  # compiled loops, which checks need not load

    if info.n_batches > 1 and plan.settings.rule is not EXACT:
        message = (
            f"The rule {plan.settings.rule.name!r} does not support batches; with "
            "batch= use assignment='exact' (of PoissonC and PoissonL: PoissonL)."
        )
        raise ValueError(message)
    n_kept = n_rows if info.kept is None else len(info.kept)
    check_enough_rows(max(n_clusters), n_kept)
    if info.known is not None and isinstance(plan.init, str):
        known = info.known if info.kept is None else info.known[info.kept]
        for k in (min(n_clusters), max(n_clusters)):
            _check_known_clusters(k, all_held(known), info.known_names)


def check_enough_rows(n_clusters: int, n_rows: int) -> None:
    """Refuse more clusters than rows."""
    if n_clusters > n_rows:
        message = (
            f"n_samples={n_rows} should be >= n_clusters={n_clusters}: a cluster needs "
            "at least one row."
        )
        raise ValueError(message)


def _check_known_clusters(
    n_clusters: int, held: NDArray[np.int32], names: tuple[str, ...]
) -> None:
    """Refuse known clusters that a fit of so many clusters to these rows cannot have.

    ``held`` are those of the rows that the fit is made of, without rows of weight 0.
    """
    n_known = len(names)
    if n_known > n_clusters:
        row = int(np.flatnonzero(held == n_clusters)[0])
        message = (
            f"n_clusters={n_clusters}, but {n_known} clusters are known: "
            f"{_called(names, n_clusters)} has row {row}, for one."
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
