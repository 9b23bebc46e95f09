"""Every method of the paper's tables, by the name it has there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from threecpo import ThreeCPO

from .cocluster import ELBM, SELBM, CoclustInfo, CoclustMod, CoclustSpecMod, TauCC
from .kmeans import SphericalKMeans
from .poisson import PoissonC, PoissonL
from .transforms import k_means_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.base import BaseEstimator


class Factory(Protocol):
    """Makes an estimator that has ``labels_`` once fitted."""

    def __call__(
        self, n_clusters: int, random_state: Any = None, n_init: int = 10
    ) -> BaseEstimator: ...


def methods() -> dict[str, Factory]:
    """Return the methods of the paper's comparison.

    Each is a function of ``n_clusters``, ``random_state`` and ``n_init`` that makes an
    estimator to be fitted on counts; all take the same input and have ``labels_`` and
    ``n_iter_`` once fitted. TauCC finds its own number of clusters in a single run: it
    ignores ``n_clusters`` and ``n_init``. Options are those of the programs that the
    paper ran: ``init="poisson-k-means++"`` of ThreeCPO, ``variant="code"`` of ELBM and
    SELBM, ``init="random"`` of TauCC.

    Returns
    -------
    dict of str to callable
        Factories by the paper's names of the methods, in the order of its tables.

    Examples
    --------
    >>> from paper import methods
    >>> list(methods())[:5]
    ['3CPO', 'PoissonL', 'PoissonC', 'SKM', 'KM']
    >>> methods()["SKM"](2, random_state=0).fit([[9, 1], [8, 2], [1, 7]]).labels_
    array([0, 0, 1], dtype=int32)
    """
    return {
        "3CPO": _of(ThreeCPO, init="poisson-k-means++"),
        "PoissonL": _of(PoissonL),
        "PoissonC": _of(PoissonC),
        "SKM": _of(SphericalKMeans),
        "KM": _k_means(None),
        "STD+KM": _k_means("std"),
        "MM+KM": _k_means("mm"),
        "RF+KM": _k_means("rf"),
        "RCA+KM": _k_means("rca"),
        "CROINFO": _of(CoclustInfo),
        "CCMod": _of(CoclustMod),
        "CCSMod": _of(CoclustSpecMod),
        "ELBM": _of(ELBM, variant="code"),
        "SELBM": _of(SELBM, variant="code"),
        "TauCC": _of(TauCC, init="random"),
        "TF-IDF+KM": _k_means("tf-idf"),
        "BM25+KM": _k_means("bm25"),
        "TF-IDF+SKM": _k_means("tf-idf", spherical=True),
        "BM25+SKM": _k_means("bm25", spherical=True),
    }


def _of(estimator: Callable[..., Any], **options: Any) -> Factory:
    def make(n_clusters: int, random_state: Any = None, n_init: int = 10) -> Any:
        return estimator(
            n_clusters, random_state=random_state, n_init=n_init, **options
        )

    return make


def _k_means(transformation: str | None, *, spherical: bool = False) -> Factory:
    return _of(partial(k_means_pipeline, transformation, spherical=spherical))
