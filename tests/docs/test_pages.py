"""The pages of the documentation are true, and one can get from one to the other."""

import inspect
import operator
import re
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest
import tutorial

import threecpo
from threecpo.io.formats import FORMATS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = {"names", "_build", "_made"}
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
    monkeypatch.chdir(tmp_path)
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


def public_names(module=threecpo):
    for name in module.__all__:
        item = getattr(module, name)
        if isinstance(item, ModuleType):
            yield from public_names(item)
        else:
            yield f"{module.__name__}.{name}", item


def test_every_public_name_is_in_the_reference_once():
    text = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   ([\w.]+)$", text, flags=re.MULTILINE)
    assert len(listed) == len(set(listed))
    items = [operator.attrgetter(name)(threecpo) for name in listed]
    for name, item in public_names():
        assert any(item is each for each in items), name
    assert len(items) == len({id(item) for _, item in public_names()})


def test_every_method_has_a_place_on_its_page():
    template = DOCS / "_templates" / "autosummary" / "class.rst"
    placed = re.findall(r"automethod:: ThreeCPO\.(\w+)", template.read_text())
    ours = {
        name
        for name, item in inspect.getmembers(threecpo.ThreeCPO, inspect.isfunction)
        if not name.startswith("_") and item.__module__.startswith("threecpo")
    }
    assert sorted(placed) == sorted(ours)


@pytest.mark.usefixtures("extensions")
def test_every_command_is_in_the_reference():
    import command_pages

    page = command_pages.page()
    for name, command in command_pages.commands().items():
        assert f"## {name}\n" in page
        for param in command.params:
            if isinstance(param, click.Option) and not param.hidden:
                assert param.opts[-1] in page


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


def test_the_table_of_formats_is_that_of_the_registry():
    page = (DOCS / "guide" / "reading.md").read_text(encoding="utf-8")
    table = page.partition("| --- |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines()[1:]]
    listed = {name: row for row in rows for name in re.findall(r"`([^`]+)`", row[0])}
    assert list(listed) == list(FORMATS)
    for name, (_, files, _, written) in listed.items():
        kind = FORMATS[name]
        assert (name in written or written.strip().startswith("yes")) == kind.writes
        if "`" in files:
            assert all(f"`{suffix}`" in files for suffix in kind.suffixes)
