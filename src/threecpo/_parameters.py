"""The table of parameters: names, kinds, defaults and one sentence for each.

The checks of the estimator, the command line and the reference read it. No imports of
other modules: the command line shows its help without loading any numerics.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

INITS = (
    "merge",
    "poisson-k-means++",
    "random-labels",
    "random-centers",
    "k-means++",
    "k-means",
    "rf-k-means++",
    "rf-k-means",
)
COLUMN_INITS = ("information", "random")
# How columns that mark a cluster are ordered.
MARKER_ORDERS = ("marker", "excess")
# How K is chosen, the default first.
CRITERIA = ("mdl-dispersion", "mdl")
# Functions of counts that keep zeros, by their names in numpy.
SUBLINEAR = ("log1p", "sqrt")
# What robust=True stands for: the most dispersion of a column, the most median rows.
ROBUST = {"columns": 10.0, "rows": 5.0}

Kind = Literal[
    "integer", "number", "choice", "groups", "limits", "columns", "seed", "jobs"
]


class Parameter(NamedTuple):
    """One parameter of a fit.

    ``choices`` are the names that it takes, beside numbers of at least ``least`` where
    it is a number; ``also`` says what else Python may pass.
    """

    kind: Kind
    default: Any
    sentence: str
    choices: tuple[str | None, ...] = ()
    least: float | None = None
    also: str = ""


PARAMETERS = {
    "n_clusters": Parameter(
        "integer", "auto", "Number of clusters, or auto to choose it.", ("auto",), 1
    ),
    "init": Parameter(
        *("choice", "merge", "How runs start; poisson-k-means++ is the paper's start."),
        *(INITS, None, "array-like of shape (n_rows,) or fitted ThreeCPO"),
    ),
    "column_init": Parameter(
        *("choice", "information", "How columns start.", COLUMN_INITS),
        also="array-like of shape (n_columns,)",
    ),
    "n_init": Parameter(
        *("integer", 6, "Restarts (per K if K is chosen); auto: stop when two agree."),
        *(("auto",), 1),
    ),
    "max_iter": Parameter("integer", 300, "Maximum number of iterations.", least=1),
    "column_penalty": Parameter(
        *("choice", "mdl", "Price of a relevant column.", ("mdl", "bic", None)),
        also="callable",
    ),
    "groups": Parameter("groups", (1, 0, -1), "Groups that a column may take."),
    "assignment": Parameter(
        *("choice", "exact", "Row rule: exact, or as the paper prints it."),
        choices=("exact", "paper"),
    ),
    "outliers": Parameter(
        *("choice", None),
        "Mark rows that fit no cluster: in every iteration, or once at the end.",
        choices=(None, "iterative", "final"),
    ),
    "outlier_threshold": Parameter(
        "number", 0.0, "How clear an outlier must be, in nats.", least=0
    ),
    "prior": Parameter("number", 1e-3, "Added to every count.", least=0),
    "max_clusters": Parameter(
        "integer", 30, "Largest number of clusters that auto tries.", least=1
    ),
    "criterion": Parameter(
        "choice", CRITERIA[0], "Criterion for the number of clusters.", CRITERIA
    ),
    "robust": Parameter(
        *("limits", None),
        "Limit the influence of wildly varying columns and of very long rows.",
        also='True or a dict such as {"columns": 10, "rows": 5}',
    ),
    "seed_columns": Parameter(
        "columns", None, "Columns that clusters start from.", also="dict of str to list"
    ),
    "fixed_groups": Parameter(
        *("columns", None),
        "Columns whose group is known: relevant, shared or noise.",
        also="dict of column to group",
    ),
    "random_state": Parameter("seed", None, "Seed; the same seed gives the same bits."),
    "n_jobs": Parameter("jobs", None, "Threads; the default is all cores."),
    "verbose": Parameter(
        "integer", 0, "1 prints every run, 2 every iteration.", least=0
    ),
}
