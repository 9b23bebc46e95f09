"""Names that parameters take, for checks, help texts and the command line alike.

No imports: the command line shows its help without loading any numerics.
"""

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
PENALTIES = ("mdl", "bic", None)
ASSIGNMENTS = ("exact", "printed")
OUTLIERS = (None, "iterative", "final")
# How columns that mark a cluster are ordered.
MARKER_ORDERS = ("marker", "excess")
# How K is chosen, the default first.
CRITERIA = ("mdl-dispersion", "mdl")
# Functions of counts that keep zeros, by their names in numpy.
SUBLINEAR = ("log1p", "sqrt")
