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

    name: str
    kind: Kind
    default: Any
    sentence: str
    choices: tuple[str | None, ...] = ()
    least: float | None = None
    also: str = ""


_ALL = (
    Parameter(
        *("n_clusters", "integer", "auto"),
        "Number of clusters, or auto to choose it.",
        choices=("auto",),
        least=1,
    ),
    Parameter(
        *("init", "choice", "merge"),
        "How runs start; poisson-k-means++ is the paper's start.",
        choices=INITS,
        also="array-like of shape (n_rows,) or fitted ThreeCPO",
    ),
    Parameter(
        *("column_init", "choice", "information", "How columns start."),
        choices=COLUMN_INITS,
        also="array-like of shape (n_columns,)",
    ),
    Parameter(
        *("n_init", "integer", 6),
        "Restarts (per K if K is chosen); auto: stop when two agree.",
        choices=("auto",),
        least=1,
    ),
    Parameter("max_iter", "integer", 300, "Maximum number of iterations.", least=1),
    Parameter(
        *("column_penalty", "choice", "mdl", "Price of a relevant column."),
        choices=("mdl", "bic", None),
        also="callable",
    ),
    Parameter("groups", "groups", (1, 0, -1), "Groups that a column may take."),
    Parameter(
        *("assignment", "choice", "exact"),
        "Row rule: exact, or as the paper prints it.",
        choices=("exact", "paper"),
    ),
    Parameter(
        *("outliers", "choice", None),
        "Mark rows that fit no cluster: in every iteration, or once at the end.",
        choices=(None, "iterative", "final"),
    ),
    Parameter(
        *("outlier_threshold", "number", 0.0),
        "How clear an outlier must be, in nats.",
        least=0,
    ),
    Parameter("prior", "number", 1e-3, "Added to every count.", least=0),
    Parameter(
        *("max_clusters", "integer", 30),
        "Largest number of clusters that auto tries.",
        least=1,
    ),
    Parameter(
        *("criterion", "choice", CRITERIA[0]),
        "Criterion for the number of clusters.",
        choices=CRITERIA,
    ),
    Parameter(
        *("robust", "limits", None),
        "Limit the influence of wildly varying columns and of very long rows.",
        also='True or a dict such as {"columns": 10, "rows": 5}',
    ),
    Parameter(
        *("seed_columns", "columns", None, "Columns that clusters start from."),
        also="dict of str to list",
    ),
    Parameter(
        *("fixed_groups", "columns", None),
        "Columns whose group is known: relevant, shared or noise.",
        also="dict of column to group",
    ),
    Parameter("random_state", "seed", None, "Seed; the same seed gives the same bits."),
    Parameter("n_jobs", "jobs", None, "Threads; the default is all cores."),
    Parameter(
        "verbose", "integer", 0, "1 prints every run, 2 every iteration.", least=0
    ),
)
PARAMETERS = {parameter.name: parameter for parameter in _ALL}
