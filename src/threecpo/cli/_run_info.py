"""What run.json says: what was done with what, and what came out."""

from __future__ import annotations

import platform
import shlex
import time
import warnings
from contextlib import contextmanager
from importlib import metadata
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ._output import RUN_FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..cluster import ThreeCPO
    from ..table import CountTable
    from ._blocks import OnDisk

RUN_VERSION = 1
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def run_info(model: ThreeCPO, table: CountTable | OnDisk) -> dict[str, Any]:
    """Facts about a fit, without those that only its caller knows."""
    import numpy as np

    from .._core.codes import GROUP_NAMES

    labels, groups = model.labels_, model.column_groups_
    told = {
        "format": RUN_FORMAT,
        "version": RUN_VERSION,
        "command": shlex.join(["threecpo", *_arguments()]),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": {
            "threecpo": __version__,
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in _LIBRARIES},
        },
        "parameters": model.get_params(deep=False),
        "seed": model.random_state,
        "rows": table.shape[0],
        "columns": table.shape[1],
        "clusters": model.n_clusters_,
        "cluster_sizes": np.bincount(
            labels[labels >= 0], minlength=model.n_clusters_
        ).tolist(),
        "outliers": int(np.count_nonzero(labels < 0)),
        "column_groups": {
            name: int(np.count_nonzero(groups == group))
            for group, name in GROUP_NAMES.items()
        },
        "loss": model.loss_,
        "iterations": model.n_iter_,
    }
    if table.labels is not None and (table.labels >= 0).any():
        told["agreement"] = agreement(table.labels, labels)
    return told


def _arguments() -> tuple[str, ...]:
    """What the command line was called with."""
    arguments: tuple[str, ...] = click.get_current_context().obj
    return arguments


def input_info(table: CountTable | OnDisk) -> dict[str, Any]:
    """What the table says about itself."""
    told = {"name": table.name, "citation": table.citation, "source": table.source}
    return {name: text for name, text in told.items() if text}


def agreement(truth: Any, labels: Any) -> dict[str, float]:
    """Scores against true labels, on the rows that have one."""
    from .. import metrics

    known = truth >= 0
    pair = truth[known], labels[known]
    scores = {
        "ARI": metrics.adjusted_rand_score,
        "NMI": metrics.normalized_mutual_info_score,
        "ACC": metrics.clustering_accuracy,
        "purity": metrics.purity,
    }
    return {name: float(score(*pair)) for name, score in scores.items()}


@contextmanager
def remembered_warnings() -> Iterator[list[str]]:
    """Show warnings as before, and keep what they say."""
    kept: list[str] = []
    before = warnings.showwarning

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        kept.append(str(message))
        before(message, *rest, **more)

    warnings.showwarning = show
    try:
        yield kept
    finally:
        warnings.showwarning = before
