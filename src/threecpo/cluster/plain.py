"""3CPO without scikit-learn, which takes longer to import than a small fit does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._changes import ChangedClusters
from ._described import DescribedClusters

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import ArrayLike

    from .._fit.record import FitRecord


class ThreeCPO(DescribedClusters, ChangedClusters):
    """What commands fit, change and read; of the same name, as messages have it."""

    _by_row = "labels_", "nearest_labels_", "outlier_scores_", "margins_", "row_scales_"

    def __init__(
        self,
        n_clusters: int | str = "auto",
        *,
        init: str | ArrayLike | ThreeCPO = "merge",
        column_init: str | ArrayLike = "information",
        n_init: int | str = 6,
        max_iter: int = 300,
        column_penalty: Any = "mdl",
        groups: tuple[int, ...] = (1, 0, -1),
        assignment: str = "exact",
        outliers: str | None = None,
        outlier_threshold: float = 0.0,
        prior: float = 1e-3,
        max_clusters: int = 30,
        criterion: str = "mdl-dispersion",
        robust: bool | dict[str, float] | None = None,
        seed_columns: dict[str, list[Any]] | None = None,
        fixed_groups: dict[Any, int] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.column_init = column_init
        self.n_init = n_init
        self.max_iter = max_iter
        self.column_penalty = column_penalty
        self.groups = groups
        self.assignment = assignment
        self.outliers = outliers
        self.outlier_threshold = outlier_threshold
        self.prior = prior
        self.max_clusters = max_clusters
        self.criterion = criterion
        self.robust = robust
        self.seed_columns = seed_columns
        self.fixed_groups = fixed_groups
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def save(self, path: str | PathLike[str], *, rows: bool = True) -> None:
        """Write the fitted model to one ``.npz`` file, to be read by ``threecpo.load``.

        The file holds arrays and text only, no code.

        Parameters
        ----------
        path : str or path-like
            File to write; an existing one is replaced once the new one is complete.
        rows : bool, default=True
            Whether to store what belongs to single rows: labels, scores, names,
            weights, batches, known clusters. Without them the file is small and tells
            nobody's cluster; the loaded model predicts, and ``refine(X)`` makes a fit
            with all results of it.
        """
        from ..persistence import save

        save(self, path, rows=rows)

    def _keep(self, record: FitRecord) -> None:
        super()._keep(record)
        self.column_groups_ = record.groups
        self.column_scores_ = record.column_scores
        sums = record.sums.unweighted
        totals, weight = sums.smoothed(record.settings.prior).totals, sums.total_weight
        self.shared_rates_ = totals
        self.noise_rates_ = totals / weight
