"""Paths of the Poisson clusterers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone

from .._validation import check_counts, warn_if_fractional
from . import _mdl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from ..cluster._base import PoissonClusterer


@dataclass(frozen=True)
class PoissonFit:
    """A fitted model and what the criteria need of it."""

    n_clusters: int
    estimator: PoissonClusterer
    seconds: float
    label_cost: float
    likelihoods: NDArray[np.float64] = field(repr=False)
    totals: NDArray[np.float64] = field(repr=False)
    dispersions: NDArray[np.float64] = field(repr=False)

    @property
    def n_found(self) -> int:
        return self.estimator.n_clusters_

    @property
    def loss(self) -> float:
        return self.estimator.loss_

    @property
    def groups(self) -> NDArray[np.int8]:
        return self.estimator._fitted.groups

    def prices_in(self, unit: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Price of every column in C1, its counts told in these units."""
        price = self.estimator._settings().price
        n_rows = self.estimator._fitted.sums.n_rows
        return price(self.totals / unit, self.n_found, n_rows)

    @classmethod
    def of(cls, model: PoissonClusterer, counts: Counts, seconds: float) -> PoissonFit:
        from .._core.codes import inner_labels
        from .._core.dispersion import dispersions
        from .._core.model import column_step
        from .._core.prices import free

        fitted, settings = model._fitted, model._settings()
        sums = fitted.sums.smoothed(fitted.prior)
        step = column_step(sums, fitted.groups, free, settings.groups)
        labels = model.nearest_labels_ if model.outliers == "final" else model.labels_
        labels = inner_labels(labels, sums.n_clusters)
        return cls(
            settings.n_clusters,
            model,
            seconds,
            _mdl.label_cost(sums.n_clusters, sums.n_rows),
            step.scores,
            sums.totals,
            dispersions(counts, labels, sums, fitted.groups),
        )


class PoissonFamily:
    """How 3CPO and its relatives are fitted for each K, and what is told of them."""

    criteria: ClassVar = {"mdl-dispersion": _mdl.mdl_dispersion, "mdl": _mdl.mdl}

    def __init__(self, estimator: PoissonClusterer) -> None:
        self.estimator = self.last = estimator
        if not isinstance(getattr(estimator, "init", ""), str):
            message = (
                "A path over the number of clusters needs init by name: labels and "
                "models have their own number."
            )
            raise ValueError(message)

    @property
    def largest_first(self) -> bool:
        """Merging comes down from one K to the next."""
        return getattr(self.estimator, "init", None) == "merge"

    def fit_each(
        self, X: Any, n_clusters: Sequence[int], on_run: Callable[[], None]
    ) -> Iterator[PoissonFit]:
        """Fit every K on the same threads; what does not depend on K is done once."""
        models = [clone(self.estimator).set_params(n_clusters=k) for k in n_clusters]
        counts = check_counts(X, models[0])
        warn_if_fractional(counts, type(self.estimator).__name__)
        about_columns = {
            name: value
            for name, value in vars(models[0]).items()
            if name in ("n_features_in_", "feature_names_in_")
        }
        for model in models:
            vars(model).update(about_columns)

        def report(
            _n_clusters: int,
            _run: int,
            _iteration: int,
            _line: object,
            finished: bool,  # noqa: FBT001
        ) -> None:
            if finished:
                on_run()

        before = time.perf_counter()
        for model, _ in zip(
            models, models[0]._fit_each(counts, models, report), strict=True
        ):
            now = time.perf_counter()
            yield PoissonFit.of(model, counts, now - before)
            before = now

    def finish(self, _: Any, fits: list[PoissonFit], __: str) -> list[PoissonFit]:
        """Nothing is left to be done for all K together."""
        return fits

    def table(self, fits: Sequence[PoissonFit]) -> dict[str, NDArray[Any]]:
        """Columns of the path's table that do not depend on the criterion."""
        prices = [fit.prices_in(1.0)[fit.groups == 1].sum() for fit in fits]
        return {
            "loss": np.array([fit.loss for fit in fits]),
            "price": np.array(prices),
            "v": np.array([fit.label_cost for fit in fits]),
            "relevant": np.array([(fit.groups == 1).sum() for fit in fits]),
        }
