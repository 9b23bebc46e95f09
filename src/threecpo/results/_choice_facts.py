"""How a number of clusters was chosen, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..select import KPath


def choice_facts(path: KPath) -> dict[str, Any]:
    """Say how a path chose, and what lies one level below the clusters.

    Parameters
    ----------
    path : KPath
        What :func:`threecpo.select_n_clusters` returns, or ``k_path_`` of a model.

    Returns
    -------
    dict
        ``criterion``, ``best`` and ``runner_up``, K of totals like the best in
        ``flat``, whether the path ``falls_at_end``, the ``sentence`` that says so;
        and what the fit with ``next_k`` clusters makes of each cluster in ``below``
        (see ``KPath.below``).

    Examples
    --------
    >>> from threecpo import select_n_clusters
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.results import choice_facts
    >>> X, _ = make_synth(300, random_state=0)
    >>> path = select_n_clusters(X, range(1, 5), n_init=3, random_state=0)
    >>> choice_facts(path)["runner_up"]
    4
    """
    choice = path.choice
    return {
        "criterion": choice.criterion,
        "best": choice.best,
        "runner_up": choice.runner_up,
        "flat": list(choice.flat),
        "falls_at_end": choice.falls_at_end,
        "sentence": path.sentence(),
        "next_k": path.next_k,
        "below": path.below(),
    }
