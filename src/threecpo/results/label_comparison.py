"""Clusters compared with labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._labels import LABEL, label_texts
from ..cluster.naming import cluster_names_of
from ..table import CountTable
from .fitted import record_of, rows_of, shown_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from ..cluster import ThreeCPO
    from .table_files import Table


def agreement(truth: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Return scores of agreement between clusters and true labels.

    Parameters
    ----------
    truth : array-like of shape (n_rows,)
        True label of each row, from 0; rows with -1 are left out.
    labels : array-like of shape (n_rows,)
        Cluster of each row; outliers (-1) count as one more cluster.

    Returns
    -------
    dict of str to float
        ``ARI`` (adjusted Rand index), ``NMI`` (normalised mutual information), ``ACC``
        (accuracy) and ``purity``; ``homogeneity`` (clusters hold one class each) and
        ``completeness`` (classes lie in one cluster each). All are 1 at best. Where
        there are more clusters than classes, purity and homogeneity say whether
        clusters are parts of classes, which ARI and ACC count as failure.

    Examples
    --------
    >>> from threecpo.results import agreement
    >>> agreement([0, 0, 1, 1, -1], [1, 1, 0, 0, 0])["ARI"]
    1.0
    """
    true, found = np.asarray(truth), np.asarray(labels)
    if true.shape != found.shape:
        message = (
            f"truth has shape {true.shape}, labels {found.shape}: one of each for "
            "every row."
        )
        raise ValueError(message)
    known = true >= 0
    if not known.any():
        message = "truth has no labels of 0 or more, so there is nothing to compare."
        raise ValueError(message)
    from scipy.optimize import linear_sum_assignment
    from sklearn import metrics
    from sklearn.metrics.cluster import contingency_matrix

    both = true[known], found[known]
    table = contingency_matrix(*both)
    best = table[linear_sum_assignment(table, maximize=True)]
    scores = {
        "ARI": metrics.adjusted_rand_score(*both),
        "NMI": metrics.normalized_mutual_info_score(*both),
        "ACC": best.sum() / table.sum(),
        "purity": table.max(axis=0).sum() / table.sum(),
        "homogeneity": metrics.homogeneity_score(*both),
        "completeness": metrics.completeness_score(*both),
    }
    return {name: float(score) for name, score in scores.items()}


# Lines below those of the clusters, by the labels of their rows.
OTHERS = {-1: "outliers", -2: "rows without counts"}
# Labels of a smaller part of a cluster are not in its sentence.
LEAST_SHARE = 0.1
MOST_LABELS = 3


def percent(part: float) -> str:
    """A share as a percentage that never rounds something to nothing or to all."""
    value = 100 * part
    if 0 < value < 0.1:
        return "<0.1 %"
    if 99.5 <= value < 100:
        return ">99 %"
    return f"{value:.1f} %" if 0 < value < 9.95 else f"{value:.0f} %"


@dataclass(frozen=True, eq=False)
class LabelComparison:
    """Clusters against one kind of labels.

    ``counts`` has a line for each of ``clusters`` (below them outliers and rows without
    counts, if there are any) and a column for each of ``labels``; rows without a label
    are in none.
    ``of_rows`` is the label of each row as text, empty where there is none.
    """

    name: str
    clusters: tuple[str, ...]
    labels: tuple[str, ...]
    counts: NDArray[np.int64]
    scores: dict[str, float]
    of_rows: NDArray[np.object_]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of each label in the labelled rows of each cluster."""
        totals = self.counts.sum(axis=1, keepdims=True)
        return self.counts / np.maximum(totals, 1)

    @property
    def sentences(self) -> list[str]:
        """What each cluster is made of, in words."""
        return [
            f"{called if called in OTHERS.values() else f'cluster {k}'}: "
            f"{self.made_of(k) or 'no row with a label'}"
            for k, called in enumerate(self.clusters)
        ]

    def made_of(self, k: int, most: int | None = None) -> str:
        """The largest labels of a cluster: ``59 % NK cells, 32 % CD8 T cells``."""
        shares = self.shares[k]
        order = np.argsort(-shares, kind="stable")[:MOST_LABELS].tolist()
        told = [j for j in order if shares[j] >= LEAST_SHARE]
        told = told or [j for j in order[:1] if shares[j]]
        return ", ".join(
            f"{percent(shares[j])} {_quoted(self.labels[j])}" for j in told[:most]
        )


def _quoted(label: str) -> str:
    """A label that starts with a number would be taken for one."""
    return label if label[:1].isalpha() else f'"{label}"'


def label_tables(
    model: ThreeCPO, labels: Mapping[str, Sequence[Any]] | ArrayLike | CountTable
) -> dict[str, LabelComparison]:
    """Compare the clusters of a model with one or several sets of labels.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    labels : dict of str to sequence, frame, sequence or CountTable
        A label for each row of the fit, such as its cell type, batch or habitat, by the
        name of the kind; a single sequence without a name is called ``"label"``. A
        table gives all its ``label_kinds``. None, NaN and empty text mean that a row
        has no label.

    Returns
    -------
    dict of str to LabelComparison
        For each kind the cross table ``counts`` of ``clusters`` and ``labels``, the
        ``scores`` (see :func:`agreement`; of few labels and many clusters read purity
        and homogeneity) and one of the ``sentences`` for each cluster.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import label_tables
    >>> X = [[90, 0, 50], [80, 1, 50], [0, 90, 50], [1, 80, 50], [2, 70, 40]]
    >>> model = ThreeCPO(2, random_state=0).fit(X)
    >>> habitats = ["wood", "wood", "field", "field", "wood"]
    >>> compared = label_tables(model, {"habitat": habitats})["habitat"]
    >>> compared.sentences
    ['cluster 0: 67 % field, 33 % wood', 'cluster 1: 100 % wood']
    """
    record = record_of(model)
    names = cluster_names_of(record).tolist()
    found, _ = shown_labels(record, rows_of(record))
    return compared_labels(labels, found, names)


def compared_labels(
    labels: Any, found: NDArray[np.integer], names: Sequence[str]
) -> dict[str, LabelComparison]:
    """Compare the same with clusters of these names that rows were found in."""
    clusters, lines = list(names), found.copy()
    for label, called in OTHERS.items():
        if (found == label).any():
            lines[found == label] = len(clusters)
            clusters.append(called)
    out = {}
    for name, values in labels_by_kind(labels).items():
        texts = label_texts(name, values, len(found))
        kinds = sorted(set(texts) - {""})
        number = {kind: i for i, kind in enumerate(kinds)} | {"": -1}
        codes = np.array([number[text] for text in texts], dtype=np.int64)
        known = codes >= 0
        counts = np.zeros((len(clusters), len(kinds)), dtype=np.int64)
        np.add.at(counts, (lines[known], codes[known]), 1)
        scores = agreement(codes, found) if known.any() else {}
        out[name] = LabelComparison(
            name, tuple(clusters), tuple(kinds), counts, scores, texts
        )
    return out


def labels_by_kind(labels: Any) -> dict[str, Iterable[Any]]:
    """Labels by name: of a table, a frame or a dict all kinds, else a single one."""
    if isinstance(labels, CountTable):
        return dict(labels.label_kinds)
    if isinstance(labels, Mapping):
        return {str(name): values for name, values in labels.items()}
    if hasattr(labels, "columns"):
        return {str(name): labels[name] for name in labels.columns}
    name = getattr(labels, "name", None)
    return {name if isinstance(name, str) and name else LABEL: labels}


def label_columns(labels: Any, n_rows: int) -> Table:
    """Columns of ``labels.csv`` with the labels of all kinds.

    That of a kind is called ``label_`` and its name, that of labels without a name
    ``label``.
    """
    return {
        LABEL if kind == LABEL else f"{LABEL}_{kind}": label_texts(kind, values, n_rows)
        for kind, values in labels_by_kind(labels).items()
    }


def labels_in(rows: Table) -> dict[str, NDArray[Any]]:
    """Labels of all kinds that a table of rows has, the reverse of the above."""
    before = f"{LABEL}_"
    return {
        name.removeprefix(before): values
        for name, values in rows.items()
        if name == LABEL or (name.startswith(before) and name != before)
    }
