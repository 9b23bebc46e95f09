"""What a fitted model says of clusters, batches and what was downweighted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._extras import frame
from .fitting import PoissonClusterer, renamed
from .naming import cluster_names_of, given_names

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from numpy.typing import NDArray


class DescribedClusters(PoissonClusterer):
    """A clusterer that describes what it found."""

    @property
    def cluster_names_(self) -> NDArray[np.object_]:
        """Name of each cluster: given, otherwise its best markers."""
        return cluster_names_of(self.record_)

    @property
    def cluster_sizes_(self) -> NDArray[np.int64]:
        """Rows in each cluster, without outliers and rows that have no counts."""
        return self.record_.cluster_sizes

    def name_clusters(self, names: Any, X: Any = None) -> Self:
        """Return the model with other names of its clusters.

        Parameters
        ----------
        names : sequence of str, dict or callable
            A name for each cluster; or the names to change, by the number or present
            name of the cluster; or a function that gets a
            :class:`~threecpo.cluster.ClusterDescription` of each cluster (its markers,
            typical rows and size) and returns its name. An empty name brings back the
            one made of the best columns.
        X : CountTable or sequence of str, default=None
            What typical rows are shown as to a function: the names of a table's rows,
            or a text for each row. None takes the names of the fit, or numbers.

        Returns
        -------
        ThreeCPO
            A new model with a new record; this one stays as it is.

        Examples
        --------
        >>> from threecpo import CountTable, ThreeCPO
        >>> X = [[90, 0, 50], [80, 1, 50], [0, 90, 50], [1, 80, 50], [2, 70, 40]]
        >>> table = CountTable(X, column_names=["ants", "bees", "worms"])
        >>> model = ThreeCPO(2, random_state=0).fit(table)
        >>> model.cluster_names_.tolist()
        ['bees', 'ants']
        >>> model.name_clusters({"ants": "forest"}).cluster_names_.tolist()
        ['bees', 'forest']
        >>> model.name_clusters(lambda c: f"{c.size} plots").cluster_names_.tolist()
        ['3 plots', '2 plots']
        """
        given = given_names(self.record_, names, X)
        return renamed(self, self.record_.with_cluster_names(given))

    def top_columns(
        self,
        n: int = 10,
        *,
        order: str = "marker",
        feature_names: Iterable[Any] | None = None,
    ) -> Any:
        """Return the markers of each cluster and the largest other columns.

        A cluster is marked by relevant columns that are more frequent in its rows than
        in all rows, never by others.

        Parameters
        ----------
        n : int, default=10
            Most columns to list for each.
        order : {"marker", "excess"}, default="marker"
            ``"marker"`` balances how many times more frequent a column is with the
            evidence for it; ``"excess"``, the paper's order, takes the difference of
            the expected counts, so large columns come first. Columns of C0 and C- are
            sorted by their expected count.
        feature_names : sequence of str, default=None
            Names of the columns; None takes those of the fit, or numbers.

        Returns
        -------
        pandas.DataFrame or dict of str to ndarray
            Columns ``group`` (1, 0 or -1), ``cluster`` (-1 outside C1), ``name`` (of
            the cluster or group), ``rank`` (from 1), ``column``; the counts expected in
            a row of mean size ``here``, in the cluster, and ``overall``; their
            ``ratio``; and its ``evidence``, the nats by which the cluster's own rate
            explains its counts better than the overall one. A dict where pandas
            is not installed.
        """
        from ..results import top_table

        return frame(top_table(self, n, order=order, feature_names=feature_names))

    @property
    def column_weights_(self) -> NDArray[np.float64]:
        """Weight of each column in the likelihood, at most 1."""
        weights = self.record_.sums.column_weights
        return np.ones(self.record_.n_columns) if weights is None else weights

    @property
    def row_weights_(self) -> NDArray[np.float64]:
        """Weight of each row by ``robust``, at most 1."""
        rows = self.record_.rows
        if rows is None:
            from .._fit.record import NO_ROWS

            raise AttributeError(NO_ROWS)
        weights = rows.row_weights
        return np.ones(len(rows.labels)) if weights is None else weights

    def batch_columns(self, n: int = 10) -> Any:
        """Return the columns that differ most between batches.

        Parameters
        ----------
        n : int, default=10
            Most columns to list.

        Returns
        -------
        pandas.DataFrame or dict of str to ndarray
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
        from ..results import batch_table

        return frame(batch_table(self, n))

    def downweighted_columns(self) -> Any:
        """Return the columns that ``robust`` downweights.

        Returns
        -------
        pandas.DataFrame or dict of str to ndarray
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
        from ..results import downweighted_columns

        return frame(downweighted_columns(self))

    def downweighted_rows(self) -> Any:
        """Return the rows that ``robust`` downweights.

        Returns
        -------
        pandas.DataFrame or dict of str to ndarray
            ``row``, its ``label`` and ``weight``; the least weight comes first.
        """
        from ..results import downweighted_rows

        return frame(downweighted_rows(self))
