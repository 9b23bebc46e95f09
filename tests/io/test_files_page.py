"""The page on files says what is true."""

import doctest
from pathlib import Path

import pytest

from threecpo.io.formats import FORMATS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "files.md"


def test_its_examples_run(tmp_path, monkeypatch):
    for library in ("anndata", "pandas", "pyarrow"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried > 25
    assert failed == 0


def test_its_table_is_that_of_the_registry():
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if "| `" in line]
    listed = {row[1].strip(" `"): row for row in rows}
    assert list(listed) == list(FORMATS)
    for name, row in listed.items():
        kind = FORMATS[name]
        assert set(row[3].strip(" `").split()) == set(kind.options)
        assert row[5].strip().startswith("yes" if kind.writes else "no")
        assert all(f"`{suffix}`" in row[2] for suffix in kind.suffixes)
