"""Versions of what a fit depends on."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# What every fit needs.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def version_lines(*, verbose: bool) -> Iterator[str]:
    """Lines about this installation, for people who report a problem."""
    yield f"threecpo {metadata.version('threecpo')}"
    if not verbose:
        return
    yield f"python {platform.python_version()} on {platform.platform()}"
    yield f"cores {os.cpu_count()}"
    for name in LIBRARIES:
        yield f"{name} {metadata.version(name)}"
    for name in _of_extras():
        yield f"{name} {_installed(name)}"


def _of_extras() -> list[str]:
    """Libraries of extras, by name."""
    needed = [need for need in metadata.requires("threecpo") or () if "extra" in need]
    names = {re.split(r"[^\w-]", need)[0] for need in needed} - {"threecpo"}
    return sorted(names - set(LIBRARIES))


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
