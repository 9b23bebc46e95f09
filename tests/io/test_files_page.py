"""The page on files says what is true."""

from pathlib import Path

from threecpo.io.formats import FORMATS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "files.md"


def test_its_table_is_that_of_the_registry():
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if "| `" in line]
    listed = {row[1].strip(" `"): row for row in rows}
    assert list(listed) == list(FORMATS)
    for name, row in listed.items():
        kind = FORMATS[name]
        assert set(row[3].strip(" `").split()) == set(kind.options)
        assert row[5].strip().startswith("yes" if kind.writes else "no")
        assert all(f"`{suffix}`" in row[2] for suffix in kind.suffixes)
