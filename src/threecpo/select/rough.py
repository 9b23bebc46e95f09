"""Numbers of clusters compared after one pass over rows beyond memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._core.search import FewRuns
from .._fit.driver import MemoryRows
from ._path import KPath, ladder
from ._poisson import PoissonFitter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .._core.workers import Workers
    from .._fit.block_rows import BlockRows
    from .._fit.plan import Progress
    from ._path import FitEach
    from ._poisson import PoissonFit


@dataclass
class RoughFits:
    """Makes fits of a sample and takes them through one pass over all rows.

    Without ``few`` the fits are complete. ``sketch`` is the path of the sample,
    without the fits that have had their pass.
    """

    path: KPath
    rows: BlockRows
    names: dict[str, Any]
    complete: FitEach
    progress: Progress | None
    workers: Workers

    def __post_init__(self) -> None:
        fitter = PoissonFitter(self.path.fitter.estimator)
        self.sketch = KPath(fitter, self.path.criterion)

    def numbers(self, wanted: range) -> range:
        """Numbers to search in: from one step below the best of the sample.

        With more rows a cluster gains more, while its price hardly grows.
        """
        if self.path.fitter.plan(1).max_dispersion is not None:
            # Columns have the weights that all rows give them.
            self.path.add(self.complete(wanted[:1], None), complete=True)
            self.sketch.fitter.take_weights(self.path.fitter)
        steps = ladder(wanted[0], wanted[-1])
        best = self.sketch.climb(steps, self._sampler(steps))
        least = steps[max(0, steps.index(best) - 1)]
        return range(least, wanted[-1] + 1)

    def __call__(
        self, n_clusters: Sequence[int], few: FewRuns | None
    ) -> Iterable[PoissonFit]:
        if few is None:
            return self.complete(n_clusters, None)
        sketch, fitter = self.sketch, self.path.fitter
        if not len(self.path.n_clusters):
            n_clusters = sorted({int(sketch.n_clusters[0]), *n_clusters})
        missing = [k for k in n_clusters if k not in sketch.n_clusters]
        if missing:
            sketch.add(self._sampler(missing)(missing, FewRuns(few.n_runs)))
        fits = [sketch.taken(k) for k in n_clusters]
        plan = fitter.plan(max(n_clusters))
        place = self.rows, self.names, self.progress
        return list(fitter.after_one_pass(plan, fits, *place))

    def _sampler(self, n_clusters: Sequence[int]) -> FitEach:
        """Draw a sample, and return what fits it for these numbers of clusters."""
        plan = self.sketch.fitter.plan(max(n_clusters))
        sample = MemoryRows(self.rows.sample(plan, n_clusters), self.workers)
        names = self.names | {"rows": None}

        def fit_each(ks: Sequence[int], few: FewRuns | None) -> list[PoissonFit]:
            asked = plan, ks, sample, names, self.progress, few
            return [fit.slim() for fit in self.sketch.fitter.fits(*asked)]

        return fit_each
