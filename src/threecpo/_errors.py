"""Errors about parameters and files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_MESSAGE = 400
# Values of parameters that are longer are cut in messages.
_LONGEST_VALUE = 60
# Private characters, which no text of a file has where it is shown.
_MARKS = _BEGIN, _END = "\ue000", "\ue001"


class Given(NamedTuple):
    """A parameter and its value in a message; as text, ``name=value``."""

    name: str
    value: Any

    def __str__(self) -> str:
        shown = " ".join(repr(self.value).split())
        cut = len(shown) > _LONGEST_VALUE
        return f"{self.name}={shown[:_LONGEST_VALUE]}{'…' * cut}"


class ParameterError(ValueError):
    """A parameter has an invalid value.

    Made of the parts of its message: text, and parameters as :class:`Given`, which a
    front end may spell in its own way. ``parameter`` is the name of the first one.
    """

    @property
    def parameter(self) -> str:
        return next((part.name for part in self.args if isinstance(part, Given)), "")

    def spelled(self, spell: Callable[[Given], str]) -> str:
        """Return the message with each parameter spelled by a function."""
        return "".join(
            spell(part) if isinstance(part, Given) else str(part) for part in self.args
        )

    def __str__(self) -> str:
        return self.spelled(str)


def shown(text: str) -> str:
    """Return a piece of a file, short and on one line."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def parameter(name: str, value: Any = None) -> str:
    """A parameter, and perhaps its value, marked so that a front end can spell it."""
    return f"{_BEGIN}{json.dumps([name, value], default=repr)}{_END}"


def as_parameter(name: str, value: Any) -> str:
    """A parameter as Python has it: ``name=``, ``name='value'``."""
    if isinstance(value, list):
        return f"{name}=[{', '.join(map(shown, value))}]"
    if isinstance(value, str):
        return f"{name}={shown(value)}"
    return f"{name}={'' if value is None else value}"


def spelled(text: str, spell: Callable[[str, Any], str] = as_parameter) -> str:
    """Text with each marked parameter spelled by a function of its name and value."""
    done, *marked = text.split(_BEGIN)
    for part in marked:
        content, end, rest = part.partition(_END)
        # What was cut off in a long message has no end.
        done += spell(*json.loads(content)) + rest if end else ""
    return done


class _MarkedError(Exception):
    """Says in ``marked`` what it says, with marks around parameters."""

    @property
    def marked(self) -> str:
        return super().__str__()

    def __str__(self) -> str:
        return spelled(self.marked)


class DataFormatError(_MarkedError, ValueError):
    """A file is missing, damaged or not in the expected format.

    The message is one line: the file, where in it, what is wrong and what to do.
    """


def refuse(message: str) -> NoReturn:
    """Raise the error about a file."""
    raise DataFormatError(message)


class AdviceWarning(_MarkedError, UserWarning):  # noqa: N818
    """A warning that says what to pass."""


def one_line(text: object) -> str:
    """Text as one line of letters that a terminal shows, not too long; marks stay."""
    words = " ".join(str(getattr(text, "marked", text)).split())
    plain = "".join(
        letter if letter.isprintable() or letter in _MARKS else ascii(letter)[1:-1]
        for letter in words
    )
    if len(plain) > _LONGEST_MESSAGE:
        return f"{plain[:_LONGEST_MESSAGE]}..."
    return plain
