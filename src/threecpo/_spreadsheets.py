"""Escapes for names that a spreadsheet would run as a formula.

An apostrophe in front makes a spreadsheet take a cell for text. Names that begin with
apostrophes before such a character get one more, so that it can be taken away again.
"""

from __future__ import annotations

import re

# Wide forms count too: some spreadsheets read them as the narrow ones.
_START = "[=+\\-@\t\r\n＝＋－＠]"
_FORMULA = re.compile(f"'*{_START}")
_GUARDED = re.compile(f"'+{_START}")


def guarded(text: str) -> str:
    """Return a name that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """Return the name that was guarded."""
    return text[1:] if _GUARDED.match(text) else text
