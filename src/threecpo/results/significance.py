"""Whether groups of rows that somebody made are distinct from their neighbours."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _options
from .._extras import frame
from .._labels import encoded, label_texts
from .._validation import warn_if_fractional
from ._trust_tables import columns_of_tests
from .label_comparison import labels_by_kind
from .table_files import TEXT, column_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts
    from .._core.merging import Tree
    from .._core.split_test import SplitResult
    from .table_files import Table

DISTINCT, NOT_TESTED = "distinct", "not tested"
_IN_WORDS = {
    DISTINCT: "is distinct from",
    "not distinct": "is not distinct from",
    "too few counts": "has too few counts to tell it from",
    "no common batch": "has no batch in common with",
}
MOST_NAMES = 4


@dataclass(frozen=True, eq=False)
class LabelSignificance:
    """Groups of rows, the tree that joins them, and a p-value for each join.

    ``columns`` are those of the table, ``left_out`` numbers of rows by the reason.
    """

    name: str
    groups: tuple[str, ...]
    linkage: NDArray[np.float64] = field(repr=False)
    columns: Table = field(repr=False)
    sentences: list[str] = field(repr=False)
    left_out: dict[str, int]

    @property
    def table(self) -> Any:
        return frame(self.columns)

    @property
    def summary(self) -> str:
        n_groups = len(self.groups)
        n_distinct = self.columns["verdict"][:n_groups].tolist().count(DISTINCT)
        told = f"Distinct from their neighbours: {n_distinct} of {n_groups} groups."
        lost = [f"{n} {why}" for why, n in self.left_out.items() if n]
        return f"{told} Rows left out: {', '.join(lost)}." if lost else told


def p_text(p_value: float) -> str:
    """A p-value in a sentence, nothing if there is none."""
    if np.isnan(p_value):
        return ""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def label_significance(
    X: ArrayLike | Any,
    labels: ArrayLike | Any = None,
    *,
    independent: Any = False,
    alpha: float = 0.05,
    sample_weight: ArrayLike | None = None,
    batch: ArrayLike | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> LabelSignificance:
    """Test whether labelled groups of rows are distinct from their neighbours.

    The groups are joined as the clusters of a fit are, the most similar pair first.
    Divisions are tested from the top of the tree down; the chance that *any* of them is
    called distinct by mistake is at most ``alpha``.

    Parameters
    ----------
    X : CountTable, array-like, frame or sparse matrix of shape (n_rows, n_columns)
        Counts; all columns are used.
    labels : array-like of shape (n_rows,) or None, default=None
        Group of each row. None, NaN and empty text mean that a row has none. Such rows
        are left out, as are rows without counts or of weight 0. None takes the labels
        of a CountTable.
    independent : bool, default=False
        Whether the labels were made without looking at these counts, such as treatments
        or sites: divisions are compared with permutations of the labels, within
        batches. Labels made from the counts, such as clusters, must also gain more than
        the best division of tables without clusters, drawn from the joined rows with
        their measured dispersion. This is conservative.
    alpha : float, default=0.05
        Level of all tests together.
    sample_weight, batch : array-like of shape (n_rows,) or None, default=None
        How often each row counts and its batch, as in :meth:`ThreeCPO.fit`.
    random_state : int, RandomState, Generator or None, default=0
        Seed. The same seed gives the same result for any ``n_jobs``.
    n_jobs : int or None, default=None
        Threads; None is all cores.

    Returns
    -------
    LabelSignificance
        ``table`` (a frame, or a dict of arrays without pandas) has a line for each
        group and then each join, numbered by ``node``: the ``groups`` below it, their
        ``rows``, and for joins the ``gain`` of the division below and what is
        ``expected`` by chance, both in nats and in units of the dispersion, the
        distance ``z`` in standard deviations, the ``p_value``, and ``p_adjusted`` for
        the whole tree. The ``verdict`` is "distinct", "not distinct", "too few counts"
        (to tell), "no common batch", or "not tested" for joins below others that are
        not distinct. A group has the verdict of the lowest join above it that was
        tested. ``sentences`` says it for each group, ``summary`` for all of them, and
        ``linkage`` is the tree as scipy has it.

    See Also
    --------
    ThreeCPO.stability : The same test for the clusters of a fit.

    Examples
    --------
    >>> import numpy as np
    >>> from threecpo.results import label_significance
    >>> rng = np.random.default_rng(0)
    >>> rates = np.repeat([[9, 3, 3, 6], [3, 9, 3, 6]], 100, axis=0)
    >>> labels = np.repeat(["a", "b", "c"], [100, 50, 50])
    >>> found = label_significance(rng.poisson(rates), labels)
    >>> dict(zip(found.groups, found.table["verdict"]))
    {'a': 'distinct', 'b': 'not distinct', 'c': 'not distinct'}
    """
    from .._fit.stability import measure_labels
    from ..cluster.fitting import as_table, plan_of
    from ..cluster.plain import ThreeCPO

    if not isinstance(independent, bool | np.bool_):
        message = f"independent={independent!r} must be True or False."
        raise ValueError(message)
    _options.check_level("alpha", alpha)
    if hasattr(X, "__dask_graph__"):
        message = (
            "label_significance needs the counts in memory; pass a sample of the rows "
            "with their labels, such as X[:50_000].compute()."
        )
        raise TypeError(message)
    estimator = ThreeCPO(2, random_state=random_state, n_jobs=n_jobs)
    table = as_table(X, sample_weight=sample_weight, batch=batch)
    counts = table.counts
    warn_if_fractional(counts, "label_significance")
    kinds = labels_by_kind(table if labels is None else labels)
    if len(kinds) != 1:
        message = f"labels must be one label for each row, not {len(kinds)} kinds."
        raise ValueError(message)
    ((name, values),) = kinds.items()
    texts = label_texts(name, values, counts.n_rows)
    rows, left_out = _testable(counts, texts)
    coded = encoded(texts[rows])
    groups, codes = tuple(coded["label_names"]), coded["labels"].astype(np.int32)
    _check_groups(name, groups, len(codes))
    info = replace(counts.row_info, known=None, known_names=())
    counts = counts.with_rows(info).rows(rows)
    plan = plan_of(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of drawn tables that lose a cluster
        tree, splits, adjusted = measure_labels(
            counts, codes, plan, independent=bool(independent), level=alpha
        )
    verdicts, sentences = _verdicts_in_words(groups, tree, splits, adjusted, alpha)
    below, sizes = [sorted(each) for each in tree.members], np.bincount(codes)
    columns = {
        "node": np.arange(len(below)),
        "groups": column_of((_listed(groups, each) for each in below), TEXT),
        "rows": np.array([sizes[each].sum() for each in below]),
        **columns_of_tests(splits),
        "p_adjusted": adjusted,
        "verdict": column_of(verdicts, TEXT),
    }
    return LabelSignificance(name, groups, tree.linkage, columns, sentences, left_out)


def _verdicts_in_words(
    groups: tuple[str, ...],
    tree: Tree,
    splits: list[SplitResult | None],
    adjusted: NDArray[np.float64],
    level: float,
) -> tuple[list[str], list[str]]:
    """Verdict of each node, and a sentence for each group.

    A group has the verdict of the lowest join above it that was tested.
    """
    from .._core.split_test import NO_COMMON_BATCH  # loads compiled loops

    verdicts, sentences = [NOT_TESTED] * len(splits), [""] * len(groups)
    for join in range(len(splits) - 1, len(groups) - 1, -1):
        split, below = splits[join], sorted(tree.members[join])
        if split is None:
            continue
        verdict = DISTINCT if adjusted[join] <= level else "not distinct"
        if np.isnan(split.p_value):
            few = split is not NO_COMMON_BATCH
            verdict = "too few counts" if few else "no common batch"
        p = p_text(adjusted[join])
        for k in below:
            others = _listed(groups, [each for each in below if each != k], MOST_NAMES)
            told = f"{groups[k]} {_IN_WORDS[verdict]} {others}"
            sentences[k] = f"{told} ({p})." if p else f"{told}."
            verdicts[k] = verdict
        verdicts[join] = verdict
    return verdicts, sentences


def _listed(groups: tuple[str, ...], some: list[int], most: int | None = None) -> str:
    """Names of groups, those beyond the most counted."""
    names = ", ".join(groups[k] for k in some[:most])
    more = len(some) - (most or len(some))
    return f"{names} and {more} more" if more > 0 else names


def _testable(
    counts: Counts, texts: NDArray[np.object_]
) -> tuple[NDArray[np.intp], dict[str, int]]:
    """Rows that can be tested, and how many cannot, by the reason."""
    weights = np.ones(counts.n_rows) if counts.weights is None else counts.weights
    lacking = {
        "without a label": texts == "",
        "without counts": counts.row_lengths(1) == 0,
        "of weight 0": weights == 0,
    }
    kept, left_out = np.ones(counts.n_rows, dtype=bool), {}
    for why, lost in lacking.items():
        left_out[why] = int(np.count_nonzero(kept & lost))
        kept &= ~lost
    return np.flatnonzero(kept), left_out


def _check_groups(name: str, groups: tuple[str, ...], n_rows: int) -> None:
    """Refuse labels that do not divide rows into groups."""
    if not groups:
        problem = "no label for any row with counts"
    elif len(groups) == 1:
        problem = f"one group, {groups[0]!r}, so there is nothing to test"
    elif len(groups) == n_rows > 2:
        problem = "a different value in every row, so there are no groups to test"
    else:
        return
    message = f"labels {name!r} has {problem}."
    raise ValueError(message)
