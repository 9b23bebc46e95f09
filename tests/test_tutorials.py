"""The tutorials are true: every line of code and every command in them is run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.testing.compare import compare_images
from sklearn.utils.fixes import parse_version

import tutorial

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "tutorials"
NEEDS = {
    "cells": "scanpy",
    "novels": "snowballstemmer",
    "texts": "snowballstemmer",
    "sites": "matplotlib",
    "customers": "matplotlib",
}
SHARED = FOLDER.parents[2] / "shared"
FILES = {
    "cells": "data/pbmc_kang.npz",
    "texts": "raw/bbc-fulltext.zip",
    "customers": "raw/Wholesale customers data.csv",
}
# What sites_data.py writes.
SITES = FOLDER.parents[1] / ".sites"
# Letters have other widths in older versions of matplotlib, which moves all else.
SAME_LETTERS = parse_version("3.11")
TOLERANCE = 12


def run(path, folder):
    # A process of its own: pages import what they like, and plots need no screen.
    command = [sys.executable, "-W", "ignore", tutorial.__file__, str(path)]
    environment = os.environ | {"MPLBACKEND": "Agg"}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("cells", marks=pytest.mark.slow),
        *("novels", "texts", "sites", "customers"),
    ],
)
def test_a_tutorial_runs(name, tmp_path):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    if name in FILES and not (SHARED / FILES[name]).exists():
        pytest.skip(f"{FILES[name]} is not at hand")
    if name == "sites" and not SITES.is_dir():
        pytest.skip("no folder .sites with the trees of the plots (make sites-data)")
    for part in (SHARED / "data", SHARED / "raw", *SITES.glob("*.csv")):
        (tmp_path / part.name).symlink_to(part)
    done = run(FOLDER / f"{name}.md", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for picture in FOLDER.glob(f"{name}-*.png"):
        drawn = tmp_path / picture.name
        assert drawn.is_file()
        if parse_version(mpl.__version__) < SAME_LETTERS:
            continue
        difference = compare_images(picture, drawn, TOLERANCE)
        assert difference is None, difference


def test_every_tutorial_is_run_of_reasonable_length_and_shows_its_pictures():
    pages = {
        path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")
    }
    del pages["index"]
    assert set(pages) == {"cells", "texts", "sites", "customers", "novels"}
    for name, page in pages.items():
        pictures = list(FOLDER.glob(f"{name}-*.png"))
        assert pictures
        for picture in pictures:
            assert f"]({picture.name})" in page
            assert picture.stat().st_size < 150_000
        assert 60 <= len(page.splitlines()) <= 170
        assert "$ threecpo fit" in page
        for _, target in re.findall(r"\[([^]]*)\]\(([^)]*)\)", page):
            assert target.startswith("http") or (FOLDER / target).exists(), target


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
