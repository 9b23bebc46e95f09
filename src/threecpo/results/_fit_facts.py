"""A fit in a few numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..cluster.naming import cluster_names_of
from . import figure_data
from .fitted import mean_confidence, record_of
from .known import known_facts
from .steering import separation

if TYPE_CHECKING:
    from ..cluster import ThreeCPO


def fit_facts(model: ThreeCPO) -> dict[str, Any]:
    """Parameters of a fit and what it found, as plain values.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.

    Returns
    -------
    dict
        ``parameters`` that the fit used and its ``seed``; numbers of ``rows``,
        ``columns``, ``clusters``, ``cluster_sizes``, ``outliers``,
        ``rows_without_counts`` (in relevant or shared columns), ``column_groups`` and
        ``iterations``; the ``loss``; the ``temperature`` T, the ``dispersion`` φ (the
        median of the columns) and the mean ``confidence`` in the rows of each cluster,
        None where they were not measured; ``known``, what was given before the fit
        (``rows`` held in clusters and how many of them are ``against`` the counts,
        ``clusters`` and ``fixed_groups``); ``cluster_names`` and ``separation`` (the
        columns, at most three, that make half of what separates the clusters, and
        their share of it).

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import fit_facts
    >>> X = [[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]]
    >>> fit_facts(ThreeCPO(2, random_state=0).fit(X))["cluster_sizes"]
    [2, 2]
    """
    record = record_of(model)
    rows, columns = (
        figure_data.cluster_sizes(record),
        figure_data.column_groups(record),
    )
    return {
        "parameters": dict(record.parameters),
        "seed": record.parameters["random_state"],
        "rows": record.n_rows,
        "columns": record.n_columns,
        "clusters": record.n_clusters,
        "cluster_sizes": rows["sizes"],
        "cluster_names": cluster_names_of(record).tolist(),
        "outliers": rows["outliers"],
        "rows_without_counts": rows["without_counts"],
        "column_groups": dict(zip(columns["groups"], columns["columns"], strict=True)),
        "loss": record.loss,
        "iterations": record.n_iter,
        "known": known_facts(record),
        "separation": separation(record),
        "temperature": record.confidence and record.confidence.temperature,
        "dispersion": record.confidence and record.confidence.dispersion,
        "confidence": mean_confidence(record),
    }
