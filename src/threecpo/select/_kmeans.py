"""Paths of k-means, spherical k-means and both behind a transformation."""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize

from .._fit.progress import Step
from ..cluster import SphericalKMeans
from ..preprocessing import CanonicalCounts
from ._elbow import elbow
from ._silhouette import silhouettes
from ._xmeans import x_means_bic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .._fit.progress import Progress


def last_step(estimator: Any) -> Any:
    """The k-means of a pipeline, or the estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


@dataclass(frozen=True)
class KMeansFit:
    """A fitted k-means and what the criteria need of it."""

    n_clusters: int
    estimator: Any
    seconds: float
    n_columns: int
    silhouette: float | None = None

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Labels of other rows."""
        return self.estimator.predict(X)

    @property
    def labels(self) -> NDArray[np.int32]:
        return last_step(self.estimator).labels_

    @property
    def n_found(self) -> int:
        return len(np.unique(self.labels))

    @property
    def loss(self) -> float:
        return float(last_step(self.estimator).inertia_)

    @property
    def bic(self) -> float:
        sizes = np.unique(self.labels, return_counts=True)[1]
        return x_means_bic(self.loss, sizes, self.n_columns)


def _by_elbow(fits: Sequence[KMeansFit]) -> NDArray[np.float64]:
    """0 at the elbow and 1 elsewhere; a curve without one goes on to its largest K."""
    n_clusters = np.array([fit.n_clusters for fit in fits])
    found = elbow(n_clusters, np.array([fit.loss for fit in fits]))
    return (n_clusters != (n_clusters[-1] if found is None else found)).astype(float)


def _by_silhouette(fits: Sequence[KMeansFit]) -> NDArray[np.float64]:
    if any(fit.silhouette is None for fit in fits):
        message = (
            "This path has no silhouettes, which take the distances of all rows: make "
            "it with criterion='silhouette'; the other criteria come with it."
        )
        raise ValueError(message)
    return np.array([-fit.silhouette for fit in fits])  # type: ignore[operator]


def _by_bic(fits: Sequence[KMeansFit]) -> NDArray[np.float64]:
    return np.array([-fit.bic for fit in fits])


class KMeansFamily:
    """How k-means is fitted for each K, and what a path lists."""

    criteria: ClassVar = {
        "silhouette": _by_silhouette,
        "elbow": _by_elbow,
        "bic": _by_bic,
    }

    largest_first = False

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.last = last_step(estimator)
        if not isinstance(self.last, SphericalKMeans | KMeans | MiniBatchKMeans):
            message = (
                f"{type(self.last).__name__} is none of the Poisson family, no k-means "
                "and no pipeline that ends in k-means."
            )
            raise ValueError(message)

    def fit_each(
        self, X: Any, n_clusters: Sequence[int], progress: Progress | None
    ) -> Iterator[KMeansFit]:
        """Fit every K on counts that are transformed once."""
        first, Z = self._transformed(X)
        if progress is not None:
            progress.start(len(n_clusters) * self.last.n_init)
        for k in n_clusters:
            before = time.perf_counter()
            model = clone(self.last).set_params(n_clusters=k).fit(Z)
            if progress is not None:
                # Runs of scikit-learn are heard of when all of them have ended.
                line = {"loss": float(model.inertia_)}
                for run in range(model.n_init):
                    progress.step(Step(k, run, model.n_iter_, line, finished=True))
            seconds = time.perf_counter() - before
            yield KMeansFit(k, self._joined(first, model), seconds, Z.shape[1])

    def finish(
        self, X: Any, fits: Sequence[KMeansFit], criterion: str
    ) -> Sequence[KMeansFit]:
        """Add silhouettes where they are asked for, all from the same distances."""
        if criterion != "silhouette":
            return fits
        _, Z = self._transformed(X)
        if isinstance(self.last, SphericalKMeans):
            Z = normalize(Z)
        values = silhouettes(Z, [fit.labels for fit in fits])
        return [
            replace(fit, silhouette=float(value))
            for fit, value in zip(fits, values, strict=True)
        ]

    def estimator_of(self, fit: KMeansFit) -> Any:
        """Return a copy of the fitted estimator."""
        return deepcopy(fit.estimator)

    def table(self, fits: Sequence[KMeansFit]) -> dict[str, NDArray[Any]]:
        """Columns of the path's table that do not depend on the criterion."""
        columns = {
            "loss": np.array([fit.loss for fit in fits]),
            "bic": np.array([fit.bic for fit in fits]),
        }
        if all(fit.silhouette is not None for fit in fits):
            columns["silhouette"] = np.array([fit.silhouette for fit in fits])
        return columns

    def _transformed(self, X: Any) -> tuple[Pipeline | None, Any]:
        """What stands before k-means, fitted, and what comes out of it."""
        if not isinstance(self.estimator, Pipeline) or len(self.estimator) == 1:
            return None, CanonicalCounts().fit_transform(X)
        first = clone(self.estimator[:-1])
        return first, first.fit_transform(X)

    def _joined(self, first: Pipeline | None, model: Any) -> Any:
        if not isinstance(self.estimator, Pipeline):
            return model
        name = self.estimator.steps[-1][0]
        before = [] if first is None else first.steps
        return type(self.estimator)([*before, (name, model)])
