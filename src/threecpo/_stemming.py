"""Snowball stemmers: PyStemmer where it is installed, else snowballstemmer.

Snowball 3 changed the English rules ("university" is no longer "univers"), so both are
used in version 2 only: the same words then give the same stems on every machine.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ._extras import missing

if TYPE_CHECKING:
    from collections.abc import Callable


def stemmer(language: str) -> Callable[[list[str]], list[str]]:
    """Return the function that stems a list of words of a language."""
    if _is_version_2("PyStemmer"):
        import Stemmer

        _check(language, Stemmer.algorithms())
        return Stemmer.Stemmer(language).stemWords
    if not _is_version_2("snowballstemmer"):
        name = "snowballstemmer in version 2"
        raise missing(name, "text", "Stemming (any stem= but None)")
    _check(language, _pure_languages())
    module = import_module(f"snowballstemmer.{language}_stemmer")
    return getattr(module, f"{language.title()}Stemmer")().stemWords


def _is_version_2(distribution: str) -> bool:
    try:
        return metadata.version(distribution).startswith("2.")
    except metadata.PackageNotFoundError:
        return False


def _pure_languages() -> list[str]:
    """Languages of snowballstemmer, which itself asks PyStemmer of any version."""
    package = find_spec("snowballstemmer")
    places = package.submodule_search_locations if package else None
    found = [module.name for module in pkgutil.iter_modules(places)]
    return [
        name.removesuffix("_stemmer") for name in found if name.endswith("_stemmer")
    ]


def _check(language: object, known: list[str]) -> None:
    if language not in known:
        message = f"stem={language!r} is not None or one of {', '.join(sorted(known))}."
        raise ValueError(message)
