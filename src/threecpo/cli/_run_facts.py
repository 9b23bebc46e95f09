"""The content of run.json: versions, what was done with what, and what came out."""

from __future__ import annotations

import os
import platform
import re
import shlex
import time
import warnings
from contextlib import contextmanager, suppress
from importlib import metadata
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ._output_paths import RUN_FORMAT
from ._printing import number_of, print_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..cluster import ThreeCPO

RUN_VERSION = 1
# What every fit needs.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
# Warnings of a fit that are printed; run.json has all.
MOST_SHOWN = 3


def version_lines(*, verbose: bool) -> Iterator[str]:
    """Lines about this installation, for people who report a problem."""
    yield f"threecpo {metadata.version('threecpo')}"
    if not verbose:
        return
    yield f"python {platform.python_version()} on {platform.platform()}"
    yield f"cores {os.cpu_count()}"
    for name in LIBRARIES:
        yield f"{name} {metadata.version(name)}"
    needed = [need for need in metadata.requires("threecpo") or () if "extra" in need]
    names = {re.split(r"[^\w-]", need)[0] for need in needed}
    for name in sorted(names - {"threecpo", *LIBRARIES}):
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            yield f"{name} not installed"
    with suppress(ImportError):
        from h5py.version import hdf5_version

        yield f"hdf5 {hdf5_version}"


def run_facts(model: ThreeCPO, labels: Mapping[str, Any]) -> dict[str, Any]:
    """Facts about a fit and its labels, without those that only its caller knows."""
    from ..results import choice_facts, fit_facts, label_tables

    facts = {
        "format": RUN_FORMAT,
        "version": RUN_VERSION,
        "command": shlex.join(["threecpo", *click.get_current_context().obj]),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": {
            "threecpo": __version__,
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in LIBRARIES},
        },
        **fit_facts(model),
    }
    if hasattr(model, "k_path_"):
        facts["choice"] = choice_facts(model.k_path_)
    compared = label_tables(model, labels)
    known = {kind: each for kind, each in compared.items() if each.scores}
    if known:
        facts["agreement"] = {kind: each.scores for kind, each in known.items()}
        facts["label_shares"] = {kind: each.sentences for kind, each in known.items()}
        facts["main_labels"] = {
            kind: [each.made_of(k, 1) for k in range(model.n_clusters_)]
            for kind, each in known.items()
        }
    return facts


@contextmanager
def remembered_warnings() -> Iterator[list[str]]:
    """Show the first warnings as before, and keep the texts of all."""
    kept: list[str] = []
    before = warnings.showwarning

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        kept.append(str(message))
        if len(kept) <= MOST_SHOWN:
            before(message, *rest, **more)

    warnings.showwarning = show
    try:
        yield kept
    finally:
        warnings.showwarning = before
        if (hidden := len(kept) - MOST_SHOWN) > 0:
            print_note(f"note: {number_of(hidden, 'more note')} in run.json.")
