"""Fits over the number of clusters, and the choice among them."""

from __future__ import annotations

from bisect import bisect
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _options
from .._core.codes import RELEVANT
from .._core.overlaps import shared_rows
from .._extras import frame
from .._fit.plan import FEW_RUNS
from .._progress import heard_by
from ..cluster.fitting import as_table, fitted
from ._poisson import CRITERIA, DEFAULT, scaled
from .choice import choice_of, difference, divided

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from .._core.search import FewRuns
    from .._fit.plan import Progress
    from .._fit.record import FitRecord
    from ._poisson import PoissonFit, PoissonFitter
    from .choice import KChoice

    # Takes numbers of clusters, ascending, and few runs (None: all of the estimator).
    FitEach = Callable[[Sequence[int], FewRuns | None], Iterable[PoissonFit]]

# Steps of the ladder that are tried beyond the best.
STEPS_AHEAD = 3


def ladder(smallest: int, largest: int) -> list[int]:
    """Numbers of clusters from the smallest to the largest, each a third above."""
    numbers = [largest]
    while numbers[-1] > smallest:
        numbers.append(max(smallest, (3 * numbers[-1] + 1) // 4))
    return numbers[::-1]


class KPath:
    """Fits of one estimator for several numbers of clusters, and the best of them.

    :func:`select_n_clusters` makes it. Totals are what the criterion minimises; ties go
    to the smaller K.

    Attributes
    ----------
    criterion : str
        How the best fit is chosen; :meth:`choose` gives the same fits another one.
    n_clusters : ndarray of shape (n_fits,)
        Numbers of clusters that were asked for, ascending.
    totals : ndarray of shape (n_fits,)
        Value of the criterion for each; the smallest is best.
    best_k : int
        Number of clusters that the best fit has.
    best_estimator : estimator
        The best fit.
    runner_up : int or None
        Number of clusters asked for of the second best fit; None where there is no
        other.
    choice : KChoice
        The best, the runner-up and how far the others are from it, as numbers.

    See Also
    --------
    select_n_clusters : Makes a path.

    Examples
    --------
    >>> from threecpo import select_n_clusters
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> path = select_n_clusters(X, range(1, 6), random_state=0)
    >>> path.best_k
    3
    >>> path.estimator(2).n_clusters_
    2
    >>> path.extend(X, [6])
    KPath of ThreeCPO, K = 1 to 6 by 'mdl-dispersion': 3 clusters.
    >>> path.runner_up
    4
    """

    def __init__(self, fitter: PoissonFitter, criterion: str) -> None:
        _options.check_choice("criterion", criterion, tuple(CRITERIA))
        self.fitter = fitter
        self._fits: dict[int, PoissonFit] = {}
        self.criterion = criterion
        # Whether the first division was tested, and is not distinct.
        self.undivided = False
        # Agreement of halves of the rows, of some numbers of clusters.
        self.agreements: dict[int, float] = {}
        # Numbers of clusters whose fits are those of the estimator alone.
        self._complete: set[int] = set()

    @property
    def n_clusters(self) -> NDArray[np.intp]:
        return np.array(sorted(self._fits), dtype=np.intp)

    @property
    def totals(self) -> NDArray[np.float64]:
        fits = self._ordered()
        if self.undivided and self.criterion == DEFAULT:
            # Then dispersions are those that one cluster leaves.
            return scaled(fits, fits[0].dispersions)
        return CRITERIA[self.criterion](fits)

    @property
    def best_k(self) -> int:
        return self._best().n_found

    @property
    def best_estimator(self) -> Any:
        return fitted(self.fitter.estimator, self._best().record)

    @property
    def best_record(self) -> FitRecord:
        """Record of the best fit."""
        return self._best().record

    @property
    def best_labels(self) -> NDArray[Any]:
        """Labels of the best fit."""
        return self._best().labels

    @property
    def choice(self) -> KChoice:
        criterion = np.array([self.criterion])
        return choice_of(self.to_table() | {"criterion": criterion})

    @property
    def runner_up(self) -> int | None:
        return self.choice.runner_up

    def sentence(self) -> str:
        """Say what was chosen, what fits as well, and what the runner-up changes.

        Returns
        -------
        str
            Two sentences; one where there is no runner-up.
        """
        choice = self.choice
        if choice.runner_up is None:
            return choice.sentence()
        best, other = (self._fits[k].labels for k in (choice.best, choice.runner_up))
        return f"{choice.sentence()} {difference(best, other, choice.runner_up)}"

    def divisions(self) -> dict[str, NDArray[Any]]:
        """Return how the clusters of each fit divide in the next one, as a table.

        Returns
        -------
        dict of str to ndarray
            A line for each pair of clusters of neighbouring fits that share rows:
            ``n_clusters`` and ``cluster``, ``next_n_clusters`` and ``next_cluster``,
            and the number of ``rows`` in both. Outliers are left out.
        """
        lines = []
        for fit, following in pairwise(self._ordered()):
            table = shared_rows(fit.labels, following.labels)
            numbers = fit.n_clusters, following.n_clusters
            for a, b in np.argwhere(table):
                lines.append((numbers[0], a, numbers[1], b, table[a, b]))
        names = ("n_clusters", "cluster", "next_n_clusters", "next_cluster", "rows")
        columns = np.array(lines, dtype=np.int64).reshape(-1, len(names)).T
        return dict(zip(names, columns, strict=True))

    def below(self) -> list[list[int]]:
        """Return what the next larger fit makes of each cluster of the best one.

        Returns
        -------
        list of list of int
            For each cluster the rows of its parts, the largest first, without parts of
            less than a twentieth; empty where the best fit is the last of the path.
        """
        if self.next_k is None:
            return []
        table = shared_rows(self._best().labels, self._fits[self.next_k].labels)
        return [divided(row) for row in table]

    @property
    def next_k(self) -> int | None:
        """Next larger number of clusters asked for; None if the best is the last."""
        best = self._best().n_clusters
        return min((k for k in self._fits if k > best), default=None)

    def estimator(self, n_clusters: int) -> Any:
        """Return the fit for this number of clusters.

        Parameters
        ----------
        n_clusters : int
            One of ``n_clusters``.

        Returns
        -------
        estimator
            The fitted model. What is done with it does not change the path.
        """
        if n_clusters not in self._fits:
            asked = ", ".join(map(str, self.n_clusters))
            message = f"K = {n_clusters} is not in this path; it has {asked}."
            raise ValueError(message)
        return fitted(self.fitter.estimator, self._fits[n_clusters].record)

    def choose(self, criterion: str) -> KPath:
        """Return the same fits with another criterion.

        Parameters
        ----------
        criterion : str
            As in :func:`select_n_clusters`.

        Returns
        -------
        KPath
            A path that shares the fits of this one, and the test of its first
            division.
        """
        path = KPath(self.fitter, criterion).add(self._fits.values())
        path.undivided = self.undivided
        path.agreements |= self.agreements
        return path

    def reproducibility(self, X: Any) -> dict[int, float]:
        """Measure how far halves of the rows agree on the clusters that fit best.

        The rows, or 20 000 of them, are divided at random into two halves. Each is
        clustered alone, and its model classifies the rows of the other half. The
        adjusted Rand index compares this with their own labels: 1 is perfect agreement,
        0 chance, for any number of clusters. Measured are the chosen number and up to
        four others that fit almost as well. Known labels and seed columns play no part.

        Parameters
        ----------
        X
            The counts that the path was made with, in memory.

        Returns
        -------
        dict of int to float
            Agreement for each number of clusters that was measured, also earlier. The
            sentence and tables of the path have it from now on.

        Examples
        --------
        >>> from threecpo import select_n_clusters
        >>> from threecpo.datasets import make_synth
        >>> X, _ = make_synth(300, random_state=0)
        >>> path = select_n_clusters(X, range(1, 6), random_state=0)
        >>> found = path.reproducibility(X)
        >>> found[3] > 0.9
        True
        """
        from .._core.workers import Workers
        from .._fit.driver import MemoryRows
        from .selection import measure_reproducibility

        if hasattr(X, "__dask_graph__"):
            message = (
                "reproducibility needs counts in memory; make a path of a sample of "
                "the rows."
            )
            raise TypeError(message)
        counts = self.fitter.with_own_info(as_table(X, self.fitter.estimator).counts)
        with Workers(self.fitter.plan(1).n_jobs) as workers:
            measure_reproducibility(self, MemoryRows(counts, workers), workers)
        return dict(sorted(self.agreements.items()))

    def extend(
        self,
        X: Any,
        n_clusters: Iterable[int],
        *,
        verbose: int = 0,
        progress: Progress | None = None,
    ) -> Self:
        """Add fits for other numbers of clusters.

        They are those that a longer path would have held. Fits that are finished when
        an interrupt (Ctrl-C) comes are kept.

        Parameters
        ----------
        X
            The counts that the path was made with.
        n_clusters : iterable of int
            Numbers of clusters to add; those that are there already are left alone.
        verbose : int, default=0
            1 shows a progress bar.
        progress : Progress or None, default=None
            Listens to the runs in place of the bar.

        Returns
        -------
        self
            The longer path.
        """
        asked = {_options.check_integer("n_clusters", k, 1) for k in n_clusters}
        wanted = sorted(asked - self._fits.keys())
        if not wanted:
            return self
        with heard_by(progress, verbose) as heard:
            return self.add(self.fitter.fit_each(X, wanted, heard))

    def add(self, fits: Iterable[PoissonFit], *, complete: bool = False) -> Self:
        """Take over fits that were made elsewhere, such as over blocks of rows.

        Of two with the same number of clusters the later is kept. They may be
        ``complete``: those of the estimator alone.
        """
        for fit in fits:
            self._fits[fit.n_clusters] = fit
            self._complete |= {fit.n_clusters} if complete else set()
        return self

    def taken(self, n_clusters: int) -> PoissonFit:
        """Take a fit out of the path."""
        return self._fits.pop(n_clusters)

    def search(
        self,
        n_clusters: Sequence[int],
        fit_each: FitEach,
        *,
        rough: bool = False,
    ) -> Self:
        """Fit the numbers of clusters that can be the best, and no others.

        Numbers further apart the larger they are, some beyond the best of them, and
        then halfway between the best and its neighbours, get few runs each. The best is
        fitted as the estimator alone would do it, until the best is such a fit; so are
        the first few numbers where the smallest is the best. ``n_clusters`` ascend
        without gaps. With ``rough``, fits of few runs are not those of the estimator,
        even with its own number of runs.
        """
        steps = ladder(n_clusters[0], n_clusters[-1])
        some, n_init = self._few(), self.fitter.estimator.n_init
        every = some.n_runs == n_init or len(steps) == len(n_clusters)
        few = None if every and not rough else some
        while True:
            runs, tried = few, self._fits.keys()
            todo = self._ahead(steps) or self._around_best() - tried
            if not todo:
                # No clusters at all is an answer only beside good fits of some.
                best = self._best().n_clusters
                least = {*steps[: 1 + STEPS_AHEAD]} if best == min(tried) else {best}
                todo, runs = least - self._complete, None
            if not todo:
                return self
            self.add(fit_each(sorted(todo), runs), complete=runs is None)

    def climb(self, steps: Sequence[int], fit_each: FitEach) -> int:
        """Fit steps of a ladder, some beyond the best of them; return that one."""
        few = self._few()
        while todo := self._ahead(steps):
            self.add(fit_each(sorted(todo), few))
        return self._best().n_clusters

    def _few(self) -> FewRuns:
        """Runs for numbers of clusters that need not be the best."""
        from .._core.search import FewRuns

        n_init = self.fitter.estimator.n_init
        return FewRuns(FEW_RUNS if n_init == "auto" else min(n_init, FEW_RUNS))

    def _ahead(self, steps: Sequence[int]) -> set[int]:
        """Steps up to some beyond the best that were not tried."""
        best = self._best().n_clusters if self._fits else steps[0]
        return {*steps[: bisect(steps, best) + STEPS_AHEAD]} - self._fits.keys()

    def _around_best(self) -> set[int]:
        """The best number of clusters, and numbers halfway to its neighbours."""
        tried, best = sorted(self._fits), self._best().n_clusters
        place = tried.index(best)
        below, above = tried[:place][-1:], tried[place + 1 :][:1]
        halfway = {best - max(1, (best - k) // 2) for k in below}
        return {best} | halfway | {best + max(1, (k - best) // 2) for k in above}

    def to_frame(self) -> Any:
        """Return the path as a frame, one row for each number of clusters.

        Returns
        -------
        pandas.DataFrame or dict of str to ndarray
            The columns of :meth:`to_table`; a dict where pandas is not installed.
        """
        return frame(self.to_table())

    def to_table(self) -> dict[str, NDArray[Any]]:
        """Return the path as a table, one row for each number of clusters.

        Returns
        -------
        dict of str to ndarray
            ``n_clusters`` asked for and ``found``, ``loss``, ``total`` (the criterion)
            and ``seconds``, the ``price`` of the relevant columns (a part of the loss),
            ``v`` = L0(K) + n log K, what labels of ambiguous rows have ``regained`` of
            that, the number of ``relevant`` columns, whether the fit has
            ``converged`` and ``reproducibility`` (NaN where it was not measured).
        """
        fits = self._ordered()
        numbers = self.n_clusters
        table: dict[str, Any] = {
            "n_clusters": numbers,
            "found": [fit.n_found for fit in fits],
            "loss": [fit.loss for fit in fits],
            "price": [fit.record.price for fit in fits],
            "v": [fit.label_cost for fit in fits],
            "regained": [fit.regained for fit in fits],
            "relevant": [np.sum(fit.record.groups == RELEVANT) for fit in fits],
            "converged": [fit.record.converged for fit in fits],
            "total": self.totals,
            "reproducibility": [self.agreements.get(k, np.nan) for k in numbers],
            "seconds": [fit.seconds for fit in fits],
        }
        return {name: np.asarray(values) for name, values in table.items()}

    def plot(self, ax: Any = None) -> Any:
        """Draw the criterion, and the number of relevant columns, over K.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib Axes
            The axes of the criterion.
        """
        from ..plot import k_path

        return k_path(self, ax)

    def _repr_html_(self) -> str:
        """Show the curve and the table in a notebook."""
        from ..report import path_html

        return path_html(self)

    def __repr__(self) -> str:
        name = type(self.fitter.estimator).__name__
        if not self._fits:
            return f"KPath of {name}, empty."
        first, last = self.n_clusters[[0, -1]]
        answer = f"{self.best_k} clusters" if self.best_k > 1 else "no clusters found"
        text = f"KPath of {name}, K = {first} to {last} by {self.criterion!r}: {answer}"
        if last > 2 and self._best().n_clusters == last:
            text += " (the end of the path: a larger K may be better)"
        return f"{text}."

    def _ordered(self) -> list[PoissonFit]:
        return [self._fits[k] for k in sorted(self._fits)]

    def _best(self) -> PoissonFit:
        totals = self.totals
        best = np.argmin(np.where(np.isnan(totals), np.inf, totals))
        return self._ordered()[best]
