"""Parameters of functions, which messages name, as options of commands."""

from __future__ import annotations

import re

from ._block_input import BLOCK_OPTIONS
from ._input_file import READING
from ._text_options import TEXT_OPTIONS

_OTHERS = ("force", "max_unpacked", "max_row_size")
_NAMES = "|".join((*_OTHERS, *READING, *TEXT_OPTIONS, *BLOCK_OPTIONS))
_QUOTED = r"(?:'[^']*'|\"[^\"]*\")"
_SEVERAL = rf"\[({_QUOTED}(?:, {_QUOTED})*)\]"
_ONE = rf"({_QUOTED}|[\w'-]*(?:\.\d+)?)"
_PARAMETER = re.compile(rf"\b({_NAMES})=(?:{_SEVERAL}|{_ONE})")


def as_options(text: str) -> str:
    """Write ``drop=['x']`` in a message as ``--drop 'x'``."""
    return _PARAMETER.sub(_as_option, text)


def _as_option(found: re.Match[str]) -> str:
    name, value = found[1].replace("_", "-"), found[2] or found[3]
    if found[2]:
        # Options of several values are given several times.
        return " ".join(f"--{name} {one}" for one in re.findall(_QUOTED, value))
    if value in ("", "True"):
        return f"--{name}"
    return f"--no-{name}" if value == "False" else f"--{name} {value}"
