"""The pages of the documentation are true, and one can get from one to the other."""

import re
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

import tutorial

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = {"api", "_build", "_made"}
PAGES = sorted(
    path for path in DOCS.rglob("*.md") if not MADE & set(path.relative_to(DOCS).parts)
)
# The tutorials have a test of their own, since they need data.
RUN = [
    path
    for path in PAGES
    if path.parent.name != "tutorials"
    and tutorial.BLOCK.search(path.read_text(encoding="utf-8"))
]
FENCE = re.compile(r"^ *(```+)(.*)$", flags=re.MULTILINE)
# Python is run as doctests are and commands after $ are; the rest is not code of ours,
# or needs a machine, a file or a program that is not there.
LANGUAGES = {"python", "console", "text", "r", ""}


def called(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", RUN, ids=called)
def test_the_code_of_a_page_runs(path, tmp_path, monkeypatch, capsys):
    for library in ("anndata", "pandas", "pyarrow"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    failures = tutorial.run_page(path)
    import matplotlib.pyplot as plt

    plt.close("all")
    assert failures == 0, capsys.readouterr().out


def test_the_blocks_of_pages_are_of_kinds_that_are_run():
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        opening = FENCE.findall(text)[::2]
        kinds = {kind.strip() for _, kind in opening if not kind.startswith("{")}
        assert kinds <= LANGUAGES, path
        for _, kind, block in tutorial.BLOCK.findall(text):
            first = ">>> " if kind == "python" else "$ "
            assert block.lstrip().startswith(first), path


@pytest.fixture(scope="module")
def extensions():
    folder = str(DOCS / "_ext")
    sys.path.insert(0, folder)
    yield
    sys.path.remove(folder)


@pytest.mark.usefixtures("extensions")
def test_every_public_name_is_on_a_page(tmp_path):
    import api_pages

    api_pages.write(tmp_path / "api")
    text = "".join(page.read_text() for page in (tmp_path / "api").iterdir())
    pages = api_pages.public_names()
    assert {"threecpo.ThreeCPO", "threecpo.io.blocks.write_blocks"} <= pages.keys()
    for page in pages.values():
        assert f"   ~{page}\n" in text or f"``{page}``" in text


@pytest.mark.usefixtures("extensions")
def test_a_page_that_no_list_names_is_found(tmp_path):
    import links

    (tmp_path / "howto").mkdir()
    (tmp_path / "howto" / "index.md").write_text("tree\n/files\n")
    for name in ("index", "files", "from-r", "howto/tree", "howto/new"):
        (tmp_path / f"{name}.md").write_text("text")
    assert links.other_pages(tmp_path, "") == "/from-r"
    assert links.other_pages(tmp_path, "howto") == "/howto/new"
    assert links.other_pages(tmp_path, "compare") == ""


@pytest.mark.usefixtures("extensions")
def test_links_of_built_pages_are_checked(tmp_path):
    import built_pages

    (tmp_path / "two.html").write_text('<p id="here">')
    bodies = {
        '<a href="two.html#here">': 0,
        '<a href="two.html#there">': 1,
        '<a href="three.html">': 1,
        '<a href="https://somewhere.invalid/">': 0,
        '<script src="https://somewhere.invalid/x.js">': 1,
        '<img src="two.png">': 1,
    }
    for body, faults in bodies.items():
        (tmp_path / "one.html").write_text(body)
        assert len(list(built_pages.faults(tmp_path))) == faults, body


def test_no_shape_in_a_docstring_reads_as_a_link():
    # Words that end in an underscore are links in reStructuredText.
    for path in (ROOT / "src").rglob("*.py"):
        found = re.findall(r"shape \([^)]*\w_[,) ].*", path.read_text(encoding="utf-8"))
        assert not found, path


@pytest.mark.usefixtures("extensions")
def test_the_map_of_modules_is_up_to_date():
    import module_map

    page = module_map.PAGE.read_text(encoding="utf-8")
    assert module_map.with_map(page) == page, "run python docs/_ext/module_map.py"
