"""A fitted model as its file holds it: named, merged and saved without an estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _options
from .naming import cluster_names_of, given_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from .._core.merging import Tree
    from .._fit.record import FitRecord


@dataclass(frozen=True)
class StoredModel:
    """What commands need of a model; scikit-learn is not imported for it."""

    record_: FitRecord
    parameters: dict[str, Any]

    @property
    def n_clusters_(self) -> int:
        return self.record_.n_clusters

    @property
    def labels_(self) -> NDArray[np.int32]:
        from .._fit.record import NO_ROWS

        if self.record_.rows is None:
            raise ValueError(NO_ROWS)
        return self.record_.rows.labels

    @property
    def cluster_names_(self) -> NDArray[np.object_]:
        return cluster_names_of(self.record_)

    def get_params(self, *, deep: bool = False) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters as they were given."""
        return dict(self.parameters)

    def name_clusters(self, names: Any) -> StoredModel:
        """Return the model with these names, as ``ThreeCPO.name_clusters`` does."""
        given = given_names(self.record_, names, None)
        return replace(self, record_=self.record_.with_cluster_names(given))

    def cut(self, n_clusters: int | None, height: float | None) -> StoredModel:
        """Return the model cut along its tree, as ``ThreeCPO.cut`` does."""
        return self._joined(cut_into(self.record_.tree, n_clusters, height))

    def merge(self, clusters: Sequence[Iterable[int]]) -> StoredModel:
        """Return the model with these clusters merged, as ``ThreeCPO.merge`` does."""
        return self._joined(merged_into(clusters, self.n_clusters_))

    def _joined(self, into: NDArray[np.int32]) -> StoredModel:
        from .._fit.updates import joined

        record, parameters = joined(self.record_, into), dict(self.parameters)
        parameters["n_clusters"] = record.settings.n_clusters
        if not isinstance(parameters["init"], str):
            parameters["init"] = "merge"
        return StoredModel(record, parameters)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, as ``ThreeCPO.save`` does."""
        from ..persistence import save

        save(self, path)


def cut_into(
    tree: Tree, n_clusters: int | None, height: float | None
) -> NDArray[np.int32]:
    """Where each cluster goes where a tree is cut."""
    if (n_clusters is None) == (height is None):
        message = "cut needs either n_clusters or height."
        raise ValueError(message)
    if height is not None:
        height = _options.check_non_negative("height", height)
        below = int(np.searchsorted(tree.heights, height, side="right"))
        n_clusters = tree.n_clusters - below
    n_left = _options.check_integer("n_clusters", n_clusters, 1)
    if n_left > tree.n_clusters:
        message = (
            f"n_clusters={n_left} is more than the {tree.n_clusters} clusters of "
            "this model; split divides a cluster."
        )
        raise ValueError(message)
    return tree.cut(n_left)


def checked_clusters(clusters: Iterable[Any], n_clusters: int) -> list[int]:
    """Numbers of clusters, each once."""
    numbers = []
    for given in clusters:
        number = int(given) if isinstance(given, Integral) else -1
        if not 0 <= number < n_clusters:
            message = f"{given!r} is not a cluster; they are 0 to {n_clusters - 1}."
            raise ValueError(message)
        numbers.append(number)
    return numbers


def merged_into(clusters: Sequence[Any], n_clusters: int) -> NDArray[np.int32]:
    """Where each cluster goes; one that is in two unions is refused."""
    from .._core.merging import without_gaps

    if any(not np.iterable(union) or isinstance(union, str) for union in clusters):
        message = f"clusters={clusters!r} must be lists of clusters, as in [[0, 3]]."
        raise ValueError(message)
    into = np.arange(n_clusters)
    seen: set[int] = set()
    for union in clusters:
        members = checked_clusters(union, n_clusters)
        if seen.intersection(members) or len(set(members)) < len(members):
            message = f"clusters={clusters!r} names a cluster twice."
            raise ValueError(message)
        seen.update(members)
        if members:
            into[members] = min(members)
    return without_gaps(into)
