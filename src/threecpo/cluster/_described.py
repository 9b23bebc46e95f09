"""What a fitted model says of its clusters: names, and columns that mark them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .. import _options
from .._extras import frame
from .._parameters import MARKER_ORDERS
from ._base import PoissonClusterer
from .naming import cluster_names_of, given_names, names_array
from .tables import marker_table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray


class DescribedClusters(PoissonClusterer):
    """A clusterer whose clusters have names and marking columns."""

    @property
    def cluster_names_(self) -> NDArray[np.object_]:
        """Name of each cluster: one that was given, else made of its best columns."""
        check_is_fitted(self)
        return cluster_names_of(self.record_)

    @property
    def cluster_sizes_(self) -> NDArray[np.int64]:
        """Rows in each cluster, without outliers and rows that have no counts."""
        check_is_fitted(self)
        return self.record_.cluster_sizes

    def name_clusters(self, names: Any, X: Any = None) -> Self:
        """Return the same fitted model with other names of its clusters.

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
        from .fitting import keep

        check_is_fitted(self)
        given = given_names(self.record_, names, X)
        named = keep(clone(self), self.record_.with_cluster_names(given))
        if hasattr(self, "k_path_"):
            named.k_path_ = self.k_path_
        return named

    def top_columns(
        self,
        n: int = 10,
        *,
        order: str = "marker",
        feature_names: Iterable[Any] | None = None,
    ) -> Any:
        """Columns that mark each cluster, and the largest of the other groups.

        A cluster is marked by relevant columns that are more frequent in its rows than
        in all rows, never by others.

        Parameters
        ----------
        n : int, default=10
            Most columns to list for each.
        order : {"marker", "excess"}, default="marker"
            ``"marker"`` balances how many times more frequent a column is with the
            evidence for it (see docs/method.md); ``"excess"``, the paper's order,
            takes the difference of the expected counts, so large columns come first.
            Columns of C0 and C- come by their expected count.
        feature_names : sequence of str, default=None
            Names of the columns; None takes those of the fit, or numbers.

        Returns
        -------
        pandas.DataFrame or dict of str to list
            Columns ``group`` (1, 0 or -1), ``cluster`` (-1 outside C1), ``name`` (of
            the cluster or group), ``rank`` (from 1), ``column``; the counts expected in
            a row of mean size ``here``, in the cluster, and ``overall``; their
            ``ratio``; and its ``evidence``, the nats by which the cluster's own rate
            explains its counts better than the overall one. A dict of lists where
            pandas is not installed.
        """
        check_is_fitted(self)
        n = _options.check_integer("n", n, 1)
        _options.check_choice("order", order, MARKER_ORDERS)
        record, names = self.record_, None
        if feature_names is not None:
            names = names_array("feature_names", feature_names, record.n_columns)
        return frame(marker_table(record, n, order=order, column_names=names))
