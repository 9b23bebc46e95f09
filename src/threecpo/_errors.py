"""Errors about parameters and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_MESSAGE = 400
# Values of parameters that are longer are cut in messages.
_LONGEST_VALUE = 60


class Given(NamedTuple):
    """A parameter and its value in a message; as text, ``name=value``."""

    name: str
    value: Any

    def __str__(self) -> str:
        shown = " ".join(repr(self.value).split())
        cut = len(shown) > _LONGEST_VALUE
        return f"{self.name}={shown[:_LONGEST_VALUE]}{'…' * cut}"


class ParameterError(ValueError):
    """A parameter has a value that it cannot take.

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


class DataFormatError(ValueError):
    """A file does not hold what it should: it is missing, damaged or of another kind.

    The message is one line: the file, where in it, what is wrong and what to do.
    """


def one_line(text: object) -> str:
    """Text as one line of letters that a terminal shows, not too long."""
    words = " ".join(str(text).split())
    plain = "".join(
        letter if letter.isprintable() else ascii(letter)[1:-1] for letter in words
    )
    if len(plain) > _LONGEST_MESSAGE:
        return f"{plain[:_LONGEST_MESSAGE]}..."
    return plain
