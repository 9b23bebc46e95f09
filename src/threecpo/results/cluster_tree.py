"""The tree of clusters in words and numbers: its joins, and what is drawn of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import RELEVANT
from .._plain import plain
from ..cluster.naming import SEPARATOR, cluster_names_of
from .fitted import column_names_of, record_of, sizes_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from .._fit.record import FitRecord
    from ..cluster.fitting import PoissonClusterer

IN_A_NAME = 3


def tree_table(model: PoissonClusterer) -> dict[str, Any]:
    """Joins of a model's clusters, the cheapest first: ``ThreeCPO.tree_table``."""
    record = record_of(model)
    tree, n = record.tree, record.n_clusters
    left, right = tree.linkage[:, :2].astype(np.int64).T
    below = tree.members
    sizes, sure = sizes_of(record), record.confidence
    dispersion, temperature = (
        (np.nan, np.nan) if sure is None else (sure.dispersion, sure.temperature)
    )
    return {
        "node": n + np.arange(n - 1),
        "left": left,
        "right": right,
        "height": tree.heights,
        "lost": tree.lost,
        "height_over_dispersion": tree.heights / (dispersion or np.nan),
        "height_over_temperature": tree.heights / temperature,
        "net": tree.lost - _price_given_back(record),
        "rows": np.array([sizes[each].sum() for each in below[n:]], dtype=np.int64),
        "clusters": below[n:],
    }


def _price_given_back(record: FitRecord) -> NDArray[np.float64]:
    """How much less C1 costs after each join, its columns held; NaN if not known."""
    from .._fit.record_files import lost_price

    if record.settings.price is lost_price:
        return np.full(record.n_clusters - 1, np.nan)
    totals = record.totals[record.groups == RELEVANT]
    price, n_rows = record.settings.price, record.sums.total_weight
    each = [price(totals, k, n_rows).sum() for k in range(record.n_clusters, 0, -1)]
    return -np.diff(np.array(each))


def tree_nodes(
    model: PoissonClusterer, n: int = 5, *, column_names: Iterable[Any] | None = None
) -> list[dict[str, Any]]:
    """Joins of a model's tree, the cheapest first, with what marks and divides them."""
    record = record_of(model)
    columns = column_names_of(record, column_names)
    names = cluster_names_of(record, None if column_names is None else columns).tolist()
    table = plain(tree_table(model))
    below = record.tree.members
    nodes = []
    for i, node in enumerate(table["node"]):
        line = {key: values[i] for key, values in table.items()}
        left, right = below[line["left"]], below[line["right"]]
        inside = record.markers_of(left + right, among_all=True)
        apart = record.markers_of(left, right)
        best = columns[inside.clear(0, IN_A_NAME)].tolist()
        names.append(SEPARATOR.join(best) if best else f"node {node}")
        nodes.append(
            line
            | {
                "name": names[-1],
                "markers": columns[inside.clear(0, n)].tolist(),
                "left_name": names[line["left"]],
                "right_name": names[line["right"]],
                "left_markers": columns[apart.clear(0, n)].tolist(),
                "right_markers": columns[apart.clear(1, n)].tolist(),
            }
        )
    return nodes


def tree_figure(
    model: PoissonClusterer, *, column_names: Iterable[Any] | None = None
) -> dict[str, Any]:
    """Numbers of a drawn tree, as plain lists."""
    record = record_of(model)
    given = None if column_names is None else column_names_of(record, column_names)
    leaves = record.tree.leaves
    places: list[float] = np.argsort(leaves).astype(float).tolist()
    heights = [0.0] * record.n_clusters
    nodes = tree_nodes(model, column_names=given)
    for node in nodes:
        ends = node["left"], node["right"]
        (a, b), (low, high) = (
            [values[end] for end in ends] for values in (places, heights)
        )
        height = node["height"]
        node["place"] = (a + b) / 2
        node["path"] = [[a, low], [a, height], [b, height], [b, high]]
        places.append(node["place"])
        heights.append(height)
    return {
        "leaves": leaves,
        "names": cluster_names_of(record, given)[leaves].tolist(),
        "nodes": nodes,
    }
