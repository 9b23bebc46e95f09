"""Which clusters of a fit, and which joins of their tree, can be trusted."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _options
from .._extras import frame
from ._confidence import RowConfidence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .._fit.plan import Progress
    from .._fit.stability import Stability


class ClusterStability(RowConfidence):
    """Adds the question whether clusters are real."""

    def stability(
        self,
        X: ArrayLike | Any,
        *,
        n_resamples: int = 4,
        alpha: float = 0.05,
        random_state: Any = 0,
        progress: Progress | None = None,
    ) -> Any:
        """Measure how far each cluster, and each join of the tree, can be trusted.

        Half of the rows are clustered again, and each cluster and join is compared
        with the nearest one found there: ``jaccard`` is the share of rows in both among
        those in either. Above 0.75 a cluster is usually
        called stable, below 0.5 it dissolves (Hennig, 2007).

        Each division of the tree is also tested: does it gain more likelihood than the
        best division of tables that have no clusters, drawn from the joined rows with
        their measured dispersion? The tests go from the top of the tree down; the
        chance that *any* division is called real where there are no clusters is at
        most ``alpha``. A continuous gradient, or columns that vary together, count as
        structure: real does not mean separate.

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix of shape \
(n_rows, n_columns)
            The counts that the model was fitted on.
        n_resamples : int, default=4
            How often half of the rows are clustered; 0 leaves this out.
        alpha : float, default=0.05
            Level of all tests together.
        random_state : int, RandomState, Generator or None, default=0
            Seed. The same seed gives the same result for any ``n_jobs``.
        progress : Progress or None, default=None
            Listens to the halves and the tests.

        Returns
        -------
        pandas.DataFrame or dict of str to ndarray
            A line for each cluster and then each join, numbered by ``node`` as in
            ``tree_``: ``clusters`` below it, ``rows``, mean and deviation ``jaccard``
            and ``jaccard_sd`` over the halves; for joins the ``gain`` of their
            division, what is ``expected`` by chance, both in nats and in units of the
            dispersion, how many deviations ``z`` lie between, ``p_value`` and
            ``p_adjusted`` for the whole tree (nan where a division above is not
            real). ``real`` says whether the division below a join is, and for a
            cluster whether it is set apart by one that is.

        Examples
        --------
        >>> from threecpo import ThreeCPO
        >>> from threecpo.datasets import make_synth
        >>> X, _ = make_synth(300, random_state=0)
        >>> table = ThreeCPO(3, random_state=0).fit(X).stability(X)
        >>> table["real"].tolist()
        [True, True, True, True, True]
        """
        from .._fit.stability import measure

        check_is_fitted(self)
        _options.check_integer("n_resamples", n_resamples, 0)
        if not 0 < _options.check_non_negative("alpha", alpha) < 1:
            message = f"alpha={alpha!r} must be between 0 and 1."
            raise ValueError(message)
        if self.record_.rows is None:
            message = "This model has no labels of its rows; stability needs them."
            raise ValueError(message)
        counts = self._own_rows(X)
        # Held rows would be found again wherever they are.
        info = replace(counts.row_info, known=None, known_names=())
        counts = counts.with_rows(info)
        plan = replace(
            self._refit_plan(),
            init=self.record_.plan.init if self.record_.plan else "merge",
            entropy=_options.entropy_of(random_state),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of halves that lose a small cluster
            found = measure(
                self.record_,
                counts,
                plan,
                n_resamples=n_resamples,
                level=alpha,
                progress=progress,
            )
        return frame(stability_table(found))


def stability_table(found: Stability) -> dict[str, Any]:
    """Return what was measured as columns."""
    splits = found.splits
    missing = np.full(len(found.members), np.nan)
    mean, spread = missing, missing
    if len(found.jaccards):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # nodes in no half
            mean = np.nanmean(found.jaccards, axis=0)
            spread = np.nanstd(found.jaccards, axis=0)

    def of_splits(name: str) -> Any:
        return np.array([np.nan if s is None else getattr(s, name) for s in splits])

    return {
        "node": np.arange(len(found.members)),
        "clusters": np.array(
            [" ".join(map(str, sorted(below))) for below in found.members], dtype=object
        ),
        "rows": found.sizes,
        "jaccard": mean,
        "jaccard_sd": spread,
        "gain": of_splits("gain"),
        "expected": of_splits("null_mean"),
        "z": of_splits("z"),
        "p_value": of_splits("p_value"),
        "p_adjusted": found.adjusted,
        "real": found.real,
    }
