"""What a fitted profile says about rows: scores, nearest clusters, outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .loops import rows as row_loops
from .loops.records import Workspace, loadable, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .counts import Counts
    from .loops.records import Profile
    from .workers import Workers


@dataclass(frozen=True)
class RowDescription:
    """Per row: nearest cluster, size r_i, margin, and excess of the background."""

    nearest: NDArray[np.int32]
    row_sizes: NDArray[np.float64]
    margins: NDArray[np.float64]
    outlier_scores: NDArray[np.float64]


def describe(
    counts: Counts,
    profile: Profile,
    workers: Workers,
    clusters: NDArray[np.int32] | None = None,
    row_scores: NDArray[np.float64] | None = None,
) -> RowDescription:
    """Describe every row by a profile that has a background.

    ``clusters`` is what each cluster of the profile is called; several may share one.
    ``row_scores`` takes the score of every row in every cluster, if it is given.
    """
    n_rows = counts.n_rows
    out = RowDescription(
        np.empty(n_rows, np.int32), *(np.empty(n_rows) for _ in range(3))
    )

    columns = out.nearest, out.row_sizes, out.margins, out.outlier_scores
    rows, profile = rows_of(counts), loadable(profile)
    names = np.arange(profile.n_clusters, dtype=np.int32)
    if clusters is not None:
        names = clusters.astype(np.int32)
    out_scores = np.empty((n_rows, 0)) if row_scores is None else row_scores

    def one(block: tuple[int, int]) -> None:
        how = profile, Workspace.of(counts.longest, profile), names
        row_loops.describe_rows(rows, block, *how, *columns, out_scores)

    for _ in workers.map(one, counts.blocks):
        pass
    return out


def scores(counts: Counts, profile: Profile, workers: Workers) -> NDArray[np.float64]:
    """Score of every row in every cluster."""
    out = np.empty((counts.n_rows, profile.n_clusters))
    rows, profile = rows_of(counts), loadable(profile)

    def one(block: tuple[int, int]) -> None:
        workspace = Workspace.of(counts.longest, profile)
        row_loops.score_rows(rows, block, profile, workspace, out)

    for _ in workers.map(one, counts.blocks):
        pass
    return out
