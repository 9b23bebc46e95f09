"""What a fitted model says of nuisance: batches, columns and rows downweighted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _options
from .._extras import frame
from ._base import PoissonClusterer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._fit.record import FitRecord


class NuisanceEffects(PoissonClusterer):
    """A clusterer with batches, whose columns and rows may be downweighted."""

    @property
    def column_weights_(self) -> NDArray[np.float64]:
        """How much the likelihood of each column counts, 1 or less."""
        check_is_fitted(self)
        weights = self.record_.sums.column_weights
        return np.ones(self.record_.n_columns) if weights is None else weights

    @property
    def row_weights_(self) -> NDArray[np.float64]:
        """How often each row counts by ``robust``, 1 or less."""
        check_is_fitted(self)
        rows = self.record_.rows
        if rows is None:
            message = "The results of the rows were written to files."
            raise AttributeError(message)
        weights = rows.row_weights
        return np.ones(len(rows.labels)) if weights is None else weights

    def batch_columns(self, n: int = 10) -> Any:
        """Columns that differ most between batches.

        Parameters
        ----------
        n : int, default=10
            Most columns to list.

        Returns
        -------
        pandas.DataFrame or dict of str to list
            ``column``; ``batch`` that has the most of it and ``effect``, how many times
            more than a mean batch; ``least_batch`` and ``least_effect``; ``evidence``,
            the likelihood in nats that the batches explain, by which they are ordered.

        Examples
        --------
        >>> from threecpo import ThreeCPO
        >>> X = [[9, 1, 5], [8, 2, 5], [1, 7, 5], [2, 9, 5]] * 5
        >>> X = [[a, b, c * (1 + i % 2)] for i, (a, b, c) in enumerate(X)]
        >>> model = ThreeCPO(2, random_state=0).fit(X, batch=["old", "new"] * 10)
        >>> model.batch_columns(1)["batch"][0]
        'new'
        """
        check_is_fitted(self)
        n = _options.check_integer("n", n, 1)
        return frame(batch_columns(self.record_, n))

    def downweighted_columns(self) -> Any:
        """Columns that ``robust`` downweights.

        Returns
        -------
        pandas.DataFrame or dict of str to list
            ``column``; ``group`` (1, 0 or -1); ``dispersion``, how many times more it
            varied in the first fit than Poisson counts; ``weight`` of its likelihood.
            The least weight comes first.

        Examples
        --------
        >>> from threecpo import ThreeCPO
        >>> from threecpo.datasets import make_synth
        >>> X, _ = make_synth(random_state=0)
        >>> model = ThreeCPO(3, robust={"columns": 10}, random_state=0).fit(X)
        >>> list(model.downweighted_columns())
        ['column', 'group', 'dispersion', 'weight']
        """
        check_is_fitted(self)
        return frame(_downweighted_columns(self.record_, self.column_weights_))

    def downweighted_rows(self) -> Any:
        """Rows that ``robust`` downweights.

        Returns
        -------
        pandas.DataFrame or dict of str to list
            ``row``, its ``label`` and ``weight``; the least weight comes first.
        """
        weights = self.row_weights_
        rows, names = self.record_.rows, self.record_.row_names
        assert rows is not None
        held = _lightest(weights)
        return frame(
            {
                "row": [int(i) if names is None else names[i] for i in held],
                "label": rows.labels[held].tolist(),
                "weight": weights[held].tolist(),
            }
        )


def _lightest(weights: NDArray[np.float64]) -> NDArray[np.intp]:
    """Places of weights below 1, the least first."""
    order = np.argsort(weights, kind="stable")
    return order[weights[order] < 1]


def _downweighted_columns(
    record: FitRecord, weights: NDArray[np.float64]
) -> dict[str, list[Any]]:
    held, names = _lightest(weights), record.column_names
    most = _options.check_robust(record.parameters.get("robust")).columns or np.nan
    return {
        "column": [int(j) if names is None else names[j] for j in held],
        "group": record.groups[held].tolist(),
        "dispersion": (most / weights[held]).tolist(),
        "weight": weights[held].tolist(),
    }


def batch_columns(record: FitRecord, n: int) -> dict[str, list[Any]]:
    """List the columns whose batches explain the most likelihood."""
    from .._core.model import log

    names, effects = record.batch_names, record.batch_effects
    if record.sums.n_batches == 1:
        keys = ("column", "batch", "effect", "least_batch", "least_effect", "evidence")
        return {key: [] for key in keys}
    evidence = (record.sums.batch_totals * log(effects)).sum(axis=0)
    best = np.argsort(-evidence, kind="stable")[:n]
    most, least = effects.argmax(axis=0), effects.argmin(axis=0)
    columns = record.column_names
    return {
        "column": [int(j) if columns is None else columns[j] for j in best],
        "batch": [names[most[j]] for j in best],
        "effect": [float(effects[most[j], j]) for j in best],
        "least_batch": [names[least[j]] for j in best],
        "least_effect": [float(effects[least[j], j]) for j in best],
        "evidence": [float(evidence[j]) for j in best],
    }
