"""The command demo."""

import json
import webbrowser
from pathlib import Path

import pytest
from running import FILES, X, same

import threecpo
from threecpo import ThreeCPO, write_counts
from threecpo.datasets import load_austen

PAGE = "austen.threecpo/report.html"


@pytest.fixture
def opened(monkeypatch):
    """Addresses that a browser was asked to open; it finds those without "none"."""
    addresses = []

    def show(address):
        addresses.append(address)
        return "none" not in address

    monkeypatch.setattr(webbrowser, "open", show)
    return addresses


def test_it_finds_the_novels_and_runs_twice(run, opened):
    done = run("demo")
    assert done.code == 0
    assert done.err == ""
    assert f"Report: {PAGE}" in done.out.splitlines()
    assert "Each cluster is one novel" in done.out
    assert "elizabeth / darcy / bennet" in done.out
    assert "--open does it" in done.out
    folder = Path("austen.threecpo")
    chosen = {"k_path.csv", "k_divisions.csv"}
    assert {path.name for path in folder.iterdir()} == FILES | chosen
    model = ThreeCPO(random_state=0).fit(load_austen().X)
    assert same(threecpo.load(folder / "model.npz").labels_, model.labels_)
    facts = json.loads((folder / "run.json").read_text())
    assert facts["agreement"]["novel"]["ARI"] == 1
    assert facts["nouns"] == {"row_noun": "chapters", "column_noun": "words"}
    assert opened == []
    again = run("demo", "--open")
    assert again.code == 0
    assert "--open does it" not in again.out
    assert opened == [Path(PAGE).absolute().as_uri()]


def test_without_a_browser_it_says_what_to_open(run, opened):
    done = run("demo", "-o", "none", "--open")
    assert done.code == 0
    assert done.err == (
        "threecpo: No browser was found; open none/report.html yourself.\n"
    )


def test_it_replaces_only_what_it_wrote(run):
    write_counts(threecpo.CountTable(X), "mine.npz")
    assert run("fit", "mine.npz", "-k", 3, "--no-report").code == 0
    before = Path("mine.threecpo/run.json").read_bytes()
    done = run("demo", "-o", "mine.threecpo")
    assert done.code == 2
    sentence = "mine.threecpo holds other results; choose another folder with -o."
    assert done.err == f"threecpo: {sentence}\n"
    assert Path("mine.threecpo/run.json").read_bytes() == before
    Path("notes").mkdir()
    Path("notes/mine.txt").touch()
    assert run("demo", "-o", "notes").code == 2
    assert [path.name for path in Path("notes").iterdir()] == ["mine.txt"]
