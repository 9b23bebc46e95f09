"""The page on files says what is true."""

import re
from pathlib import Path

from threecpo.io.formats import FORMATS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "reading.md"


def test_its_table_is_that_of_the_registry():
    table = PAGE.read_text().partition("| --- |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines()[1:]]
    listed = {name: row for row in rows for name in re.findall(r"`([^`]+)`", row[0])}
    assert list(listed) == list(FORMATS)
    for name, (_, files, _, written) in listed.items():
        kind = FORMATS[name]
        assert (name in written or written.strip().startswith("yes")) == kind.writes
        if "`" in files:
            assert all(f"`{suffix}`" in files for suffix in kind.suffixes)
