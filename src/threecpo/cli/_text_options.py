"""Options of commands that count words, and what they are in ``count_terms``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ._shared_options import AT_LEAST_ONE

TEXT_OPTIONS = {
    "language": click.option(
        "--language",
        metavar="NAME",
        help="Language of texts, to count words of one stem together, or none. "
        "[default: english]",
    ),
    "stop_words": click.option(
        "--stop-words",
        metavar="FILE",
        help="Words to leave out of texts, a line each; or english for common ones.",
    ),
    "max_words": click.option(
        "--max-words",
        type=AT_LEAST_ONE,
        help="Most frequent words of texts to keep. [default: 2000]",
    ),
    "min_documents": click.option(
        "--min-documents",
        type=AT_LEAST_ONE,
        help="Leave out words that fewer texts hold. [default: 1]",
    ),
    "ngrams": click.option(
        "--ngrams",
        type=AT_LEAST_ONE,
        help="Count sequences of up to so many words of texts. [default: 1]",
    ),
}


def text_options(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of texts out of those given, as ``count_terms`` names them."""
    language, stop_words = given.pop("language"), given.pop("stop_words")
    found = {
        "max_features": given.pop("max_words"),
        "min_documents": given.pop("min_documents"),
        "ngrams": given.pop("ngrams"),
        "stop_words": None if stop_words is None else _words(stop_words),
    }
    found = {name: value for name, value in found.items() if value is not None}
    if language is not None:
        found["stem"] = None if language == "none" else language
    return found


def _words(given: str) -> str | list[str]:
    """Words of a file, or the name of a list that scikit-learn has."""
    if given == "english":
        return given
    path = Path(given)
    if not path.is_file():
        message = f"--stop-words {given} is neither english nor a file of words."
        raise click.UsageError(message)
    return path.read_text(encoding="utf-8-sig").split()
