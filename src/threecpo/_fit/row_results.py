"""What a fit says of rows: labels, scores, margins, scales; and files of these."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import FREE, OUTLIER, inner_labels, starting_code
from .._core.rows import NOTHING, RowInfo, read_only
from .._core.rules import describe, scores
from .._core.sums import sum_by_labels
from .._core.workers import SERIAL
from .._writing import new_folder, replaced

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from .._core.codes import Floats, Groups, Ints
    from .._core.counts import Counts
    from .._core.loops.records import Profile
    from .._core.sums import Sums
    from .._core.workers import Workers
    from .engine import Engine


@dataclass(frozen=True, eq=False)
class RowResults:
    """Results of each row; scores and margins are in nats.

    ``info`` is what belongs to the rows beside their counts; batches have the numbers
    of the fit, the one after the last is unknown. ``row_weights`` reduce long rows;
    None where they reduce none.
    """

    labels: Ints
    nearest_labels: Ints
    outlier_scores: Floats
    margins: Floats
    row_scales: Floats
    row_weights: Floats | None = None
    info: RowInfo = NOTHING

    def __post_init__(self) -> None:
        for name, array in self.results().items():
            object.__setattr__(self, name, read_only(array))

    def results(self) -> dict[str, NDArray[Any]]:
        """What was found of each row, by name."""
        named = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: array for name, array in named if isinstance(array, np.ndarray)}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What there is of each row, by name, as files have it."""
        return self.results() | self.info.arrays()

    @property
    def batches(self) -> Ints | None:
        """Number of each row's batch; None where there is one."""
        return self.info.batches

    @property
    def known(self) -> Ints | None:
        """Cluster that a row was held in, -1 for none; None where no row was."""
        known = self.info.known
        return None if known is None else np.maximum(known, FREE)

    def downweighted(self, reduced: Floats | None, given: Floats | None) -> RowResults:
        """Return the same of rows whose given weights a fit reduced by these."""
        info = replace(self.info, weights=given)
        return replace(self, row_weights=reduced, info=info)

    def renumbered(self, new: Ints) -> RowResults:
        """Return the same with other numbers of clusters; outliers stay."""
        # Label -1 takes the last entry.
        numbers = np.append(new, OUTLIER).astype(np.int32)
        info, known = self.info, self.info.known
        if known is not None:
            started = starting_code(numbers[starting_code(np.minimum(known, FREE - 1))])
            known = np.where(known < FREE, started, numbers[np.maximum(known, FREE)])
            # Names go by the numbers before.
            info = replace(info, known=known, known_names=())
        return replace(
            self,
            labels=numbers[self.labels],
            nearest_labels=numbers[self.nearest_labels],
            info=info,
        )

    @classmethod
    def stacked(cls, parts: Sequence[RowResults]) -> RowResults:
        """Results of the rows of several blocks below each other."""
        found = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in parts[0].results()
        }
        return cls(**found, info=RowInfo.stacked([part.info for part in parts]))


def in_batches_of(
    names: tuple[str, ...], column_weights: Floats | None, counts: Counts
) -> Counts:
    """Return counts in the batches of a fit; others are a mean one, after the last."""
    info = counts.row_info
    if not names:
        info = replace(info, batches=None, batch_names=())
    elif info.batches is None:
        codes = np.full(counts.n_rows, len(names), np.int32)
        info = replace(info, batches=codes, batch_names=(*names, ""))
    elif info.batch_names != (*names, ""):
        numbers = {name: b for b, name in enumerate(names)}
        new = [numbers.get(name, len(names)) for name in info.batch_names]
        codes = np.array(new, np.int32)[info.batches]
        info = replace(info, batches=codes, batch_names=(*names, ""))
    return counts.with_column_weights(column_weights).with_rows(info)


@dataclass(frozen=True, eq=False)
class RowDescriber:
    """All that it takes to describe rows: small enough to be sent to other processes.

    ``clusters`` is the cluster that each of the profile is, or has become part of.
    ``row_factors`` is λ^R_i / r_i for a row of each cluster and, last, for an outlier,
    in each batch and, last, in an unknown one. ``in_batches`` gives counts the batches
    and the column weights of the fit.
    """

    profile: Profile
    clusters: Ints
    outliers: str | None
    threshold: float
    row_factors: Floats
    with_sizes: bool
    in_batches: Callable[[Counts], Counts]

    def __call__(
        self,
        counts: Counts,
        workers: Workers = SERIAL,
        row_scores: Floats | None = None,
    ) -> RowResults:
        counts = self.in_batches(counts)
        rows = describe(counts, self.profile, workers, self.clusters, row_scores)
        batches, known = counts.batches, counts.known
        labels = rows.nearest
        if self.outliers is not None:
            outlier = rows.outlier_scores > self.threshold
            outlier &= True if known is None else known <= FREE
            labels = np.where(outlier, np.int32(OUTLIER), rows.nearest)
        # Label -1 takes the last factor, which is the outliers'.
        own = rows.nearest if self.outliers == "final" else labels
        factors = self.row_factors[own, 0 if batches is None else batches]
        return RowResults(
            labels,
            rows.nearest,
            rows.outlier_scores,
            rows.margins,
            rows.row_sizes * factors if self.with_sizes else factors,
            info=counts.row_info,
        )

    def results(self, counts: Counts) -> dict[str, NDArray[Any]]:
        """All that is said of rows, by name."""
        return self(counts).results()

    def labels(self, counts: Counts, workers: Workers = SERIAL) -> Ints:
        return self(counts, workers).labels

    def nearest(self, counts: Counts, workers: Workers = SERIAL) -> Ints:
        return self(counts, workers).nearest_labels

    def rated(self, counts: Counts, workers: Workers = SERIAL) -> Ints:
        """Cluster of each row whose rates it belongs to."""
        return self.labels_of_rates(self(counts, workers))

    def labels_of_rates(self, rows: RowResults) -> Ints:
        """Labels that the rates belong to: outliers decided at the end are in it."""
        return rows.nearest_labels if self.outliers == "final" else rows.labels

    def without_counts(self, rows: RowResults) -> NDArray[np.bool_]:
        """Which of rows described here have no counts in C1 and C0."""
        if not self.with_sizes:
            return np.zeros(len(rows.labels), dtype=bool)
        factors = self.row_factors[self.labels_of_rates(rows)]
        # The size of such a row is that of the prior alone, to the last bit, in the
        # batch that is its own.
        sizes = self.profile.prior_size * factors
        return (rows.row_scales[:, None] == sizes).any(axis=1)


def score_rows(
    profile: Profile, clusters: Ints, counts: Counts, workers: Workers = SERIAL
) -> Floats:
    """Exact score of every row in every cluster; joined ones: of the best part."""
    found = scores(counts, profile, workers)
    if np.array_equal(clusters, np.arange(len(clusters))):
        return found
    out = np.full((counts.n_rows, int(clusters.max()) + 1), -np.inf)
    for column, cluster in zip(found.T, clusters.tolist(), strict=True):
        np.maximum(out[:, cluster], column, out=out[:, cluster])
    return out


def sum_placed(
    place: Callable[..., Ints],
    n_clusters: int,
    groups: Groups,
    prior: float,
    counts: Counts,
    workers: Workers = SERIAL,
) -> Sums:
    """Sums of rows in the clusters where a fit places them."""
    labels = inner_labels(place(counts, workers), n_clusters)
    return sum_by_labels(counts, labels, n_clusters, groups, prior)


def written(
    engine: Engine, target: Path, results: Callable[[Counts], Mapping[str, Any]]
) -> None:
    """Write results of all rows to a new folder, where the blocks are read."""
    with new_folder(target) as folder:
        engine.fold(partial(_write_results, folder, results), int.__add__)


def _write_results(
    folder: Path,
    results: Callable[[Counts], Mapping[str, Any]],
    index: int,
    counts: Counts,
) -> int:
    write_block(folder, index, results(counts))
    return counts.n_rows


def write_block(folder: Path, index: int, results: Mapping[str, NDArray[Any]]) -> None:
    for name, values in results.items():
        # A block that is worked on a second time writes the same again.
        path = folder / f"{name}-{index:06d}.npy"
        try:
            with replaced(path, alone=True) as beside, beside.open("xb") as file:
                np.save(file, values, allow_pickle=False)
        except OSError as error:
            message = (
                f"The results of the rows could not be written to {folder.parent}: "
                f"{error.strerror or error}. Nothing is left of them; the model is "
                "fitted."
            )
            raise OSError(error.errno, message) from error


def target_of(write_to: str | os.PathLike[str] | None) -> Path | None:
    """The folder that ``write_to`` names, which must be new."""
    if write_to is None:
        return None
    path = Path(write_to)
    if path.exists():
        message = f"write_to={str(path)!r} exists; name a new folder."
        raise FileExistsError(message)
    return path


def read_rows(folder: str | os.PathLike[str], name: str = "labels") -> NDArray[Any]:
    """Read the row results that ``fit(..., write_to=folder)`` wrote.

    Parameters
    ----------
    folder : str or path-like
        The folder. It holds files such as ``labels-000007.npy``, one for each block.
    name : str, default="labels"
        One of "labels", "nearest_labels", "outlier_scores", "margins", "row_scales";
        "probabilities" in a folder of :func:`predict_proba`.

    Returns
    -------
    ndarray of shape (n_rows,) or, of probabilities, (n_rows, n_clusters)
        The values in the order of the rows.

    Examples
    --------
    >>> import tempfile
    >>> from threecpo import ThreeCPO, distributed
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = ThreeCPO(3, random_state=0)
    ...     model = distributed.fit(model, X, write_to=f"{folder}/rows")
    ...     labels = distributed.read_rows(f"{folder}/rows", "labels")
    >>> bool((labels == model.predict(X)).all())
    True
    """
    paths = sorted(Path(folder).glob(f"{name}-*.npy"))
    if not paths:
        message = (
            f"{folder} does not contain {name}; fit(write_to=) writes such a folder."
        )
        raise FileNotFoundError(message)
    return np.concatenate([np.load(path, allow_pickle=False) for path in paths])
