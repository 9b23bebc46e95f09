"""What chooses the cluster of a row: the profile of the fit, or that before a join."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from .._core.loops.records import Profile
    from .._core.rules import Rule
    from .._core.sums import Sums


@dataclass(frozen=True, eq=False)
class Chooser:
    """Clusters among which rows choose, and the cluster that each is now part of.

    ``ranks`` break ties. ``into`` is None where no clusters were joined; otherwise
    sums and groups are those of the fit before, by which rows go on to be placed.
    """

    sums: Sums
    groups: NDArray[np.int8]
    ranks: NDArray[np.int32]
    into: NDArray[np.int32] | None = None

    def profile(self, rule: Rule, prior: float, threshold: float) -> Profile:
        """Profile by a rule, with a background."""
        return rule.profile(
            self.sums.smoothed(prior),
            self.groups,
            background=True,
            threshold=threshold,
            ranks=self.ranks,
        )

    @property
    def clusters(self) -> NDArray[np.int32]:
        """Cluster that each choice leads to."""
        if self.into is None:
            return np.arange(self.sums.n_clusters, dtype=np.int32)
        return self.into

    def leading_to(self, new: NDArray[np.int32]) -> Chooser:
        """Return the same choices, each cluster become part of a new one."""
        return replace(self, into=new[self.clusters].astype(np.int32))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays of clusters that were joined; none if they were not."""
        if self.into is None:
            return {}
        more: dict[str, NDArray[Any]] = {}
        if self.sums.total_mass is not None:
            more["fine_masses"] = self.sums.masses
        if self.sums.batches is not None:
            more["fine_cells"] = self.sums.batches.cells
            more["fine_cell_members"] = self.sums.batches.members
            more["fine_cell_masses"] = self.sums.batches.masses
        return more | {
            "fine_table": self.sums.table,
            "fine_members": self.sums.members,
            "fine_groups": self.groups,
            "fine_ranks": self.ranks,
            "fine_into": self.into,
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, Any], sums: Sums, sizes: Mapping[str, int]
    ) -> Chooser | None:
        """Chooser of joined clusters again, None where there is none."""
        if not any(name in arrays for name in stored.OF_FINE):
            return None
        n_fine = len(arrays["fine_ranks"])
        sizes = {**sizes, "f": n_fine, "g": n_fine + 1}
        fields = dict(stored.OF_FINE)
        if sums.total_mass is not None:
            fields |= stored.OF_FINE_WEIGHTS
        if sums.batches is not None:
            sizes["h"] = sizes["g"] * sizes["b"]
            fields |= stored.OF_FINE_BATCHES
        found = stored.checked(arrays, fields, sizes)
        stored.check_totals(found, sums.totals)
        fine = replace(
            sums,
            table=found["fine_table"],
            members=found["fine_members"],
            masses=found.get("fine_masses", found["fine_members"].astype(np.float64)),
            batches=sums.batches
            and replace(
                sums.batches,
                cells=found["fine_cells"],
                members=found["fine_cell_members"],
                masses=found["fine_cell_masses"],
            ),
        )
        named = (found[f"fine_{name}"] for name in ("groups", "ranks", "into"))
        return cls(fine, *named)
