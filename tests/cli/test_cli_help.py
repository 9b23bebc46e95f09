"""Help is quick and has examples that hold, and the command demo."""

import inspect
import json
import os
import re
import shlex
import sys
import webbrowser
from contextlib import nullcontext
from pathlib import Path

import click
import numpy as np
import pytest
from running import FILES, X, assert_one_line, elsewhere, facts_of, runner, same

import threecpo
from processes import run_python
from threecpo import ThreeCPO, write_counts
from threecpo.cli._main import COMMANDS, commands
from threecpo.datasets import load_austen
from threecpo.distributed import fit as fit_blocks
from threecpo.text import count_terms


def top():
    return click.Context(commands, info_name="threecpo", **commands.context_settings)


def every_command():
    context = top()
    for name in COMMANDS:
        command = commands.get_command(context, name)
        yield (name,), command
        for inner, child in getattr(command, "commands", {}).items():
            yield (name, inner), child


ALL = dict(every_command())


@pytest.mark.parametrize(
    ("words", "position", "offered"),
    [("threecpo inf", 1, "info"), ("threecpo fit --max-c", 2, "--max-clusters")],
)
def test_what_shells_complete(words, position, offered, capsys, monkeypatch):
    monkeypatch.setenv("_THREECPO_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(position))
    with pytest.raises(SystemExit, match="0"):
        runner(capsys)()
    assert f"plain,{offered}\n" in capsys.readouterr().out


def examples(text):
    return re.findall(r"^    (threecpo .*)$", text, flags=re.MULTILINE)


def test_every_help_has_examples_that_can_be_parsed(capsys):
    run = runner(capsys)
    for names in ((), *ALL):
        done = run(*names, "--help")
        assert done.err == ""
        called = " ".join(["threecpo", *names])
        assert done.out.startswith(f"Usage: {called}")
        found = examples(done.out)
        assert any(line.startswith(called) for line in found)
        assert run(*names, "-h") == done
        for part in (part for line in found for part in line.split("&&")):
            _, *arguments = shlex.split(part)
            context = top()
            name, command, rest = commands.resolve_command(context, arguments)
            while isinstance(command, click.Group):
                name, command, rest = command.resolve_command(context, rest)
            # Parses and checks, but does not run.
            command.make_context(name, rest, parent=context)


def test_without_a_command_the_help_is_shown(run):
    assert run() == run("--help")


def test_the_version(run):
    assert run("--version") == (0, f"threecpo {threecpo.__version__}\n", "")


def test_the_versions_of_libraries(run):
    code, said, _ = run("--version", "--verbose")
    assert code == 0
    lines = dict(line.split(" ", 1) for line in said.splitlines())
    assert lines["threecpo"] == threecpo.__version__
    assert lines["numpy"] == np.__version__
    assert {"python", "cores", "scikit-learn", "numba", "pyarrow", "hdf5"} <= set(lines)


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["fot"], "There is no command 'fot'. Did you mean 'fit'?"),
        (["zebra"], "No such command 'zebra'"),
        (["fit", "--foo"], "No such option"),
    ],
)
def test_wrong_names_are_usage_errors_of_one_line(names, sentence, run):
    assert_one_line(run.wrong(*names), sentence, "--help")


def test_a_first_run_says_that_it_compiles(run, monkeypatch, tmp_path):
    from threecpo._core import ahead
    from threecpo.cli import _options

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for name in [name for name in sys.modules if name.endswith("_core.loops.rows")]:
        monkeypatch.delitem(sys.modules, name)
    begun = []
    monkeypatch.setattr(ahead, "compiled_beside", lambda: nullcontext(begun.append(1)))
    assert _options.will_compile()
    done = run.wrong("info", "nowhere.csv")
    assert done.err.splitlines()[0] == "threecpo: Compiling (once) …"
    assert not begun
    run.wrong("fit", "nowhere.csv")
    assert begun
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    (tmp_path / "loops_x").mkdir()
    (tmp_path / "loops_x" / f"rows.assign-1.{version}.nbi").touch()
    assert not _options.will_compile()
    assert "Compiling" not in run.wrong("info", "nowhere.csv").err


def test_help_loads_nothing_heavy():
    program = (
        "import contextlib, io, json, sys\n"
        "from threecpo.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    for names in {[[], *map(list, ALL)]!r}:\n"
        "        assert main([*names, '--help']) == 0\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    out = run_python("-c", program, check=True).stdout
    loaded = {name.partition(".")[0] for name in json.loads(out)}
    heavy = {"numpy", "scipy", "sklearn", "numba", "pandas", "rich", "jinja2"}
    assert not loaded & (heavy | {"matplotlib", "anndata", "pooch"})


def test_without_click_the_extra_is_named(tmp_path):
    (tmp_path / "click.py").write_text("raise ImportError('no click')\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = elsewhere("--help", env=os.environ | {"PYTHONPATH": path})
    assert_one_line(done, 'pip install "threecpo[cli]"')
    assert done.out == ""


def choices(command, option):
    (found,) = (each for each in ALL[command].params if option in each.opts)
    return list(found.type.choices)


def test_choices_are_those_of_the_library():
    from threecpo.io.formats import FORMATS
    from threecpo.select._poisson import CRITERIA

    assert choices(("fit",), "--format") == list(FORMATS)
    writers = [name for name, kind in FORMATS.items() if kind.writes]
    assert choices(("convert",), "--to") == writers
    assert choices(("select-k",), "--criterion") == list(CRITERIA)


def shown_options(text):
    """Options of a help text, each once."""
    return re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, flags=re.MULTILINE)


def test_help_is_short_and_says_where_the_rest_is(run):
    most = {"fit": 16, "select-k": 18}
    for (name,), command in ALL.items():
        short = shown_options(run(name, "--help").out)
        assert len(short) <= most.get(name, 12), name
        options = [p for p in command.params if isinstance(p, click.Option)]
        public = {p.opts[-1] for p in options if not p.hidden}
        if public <= {*short}:
            run.wrong(name, "--help-all")
        else:
            assert "--help-all" in short
            whole = run(name, "--help-all")
            assert {*shown_options(whole.out)} == public | {"--help", "--help-all"}


def test_options_of_parameters_are_those_of_the_estimator(run):
    """Every flag of the table of parameters reaches the estimator under its name."""
    from threecpo._parameters import PARAMETERS

    declared = {p.name for p in ALL[("fit",)].params}
    assert declared >= {"n_clusters", "max_clusters", "outliers", "random_state"}
    assert declared & {*PARAMETERS} <= {*threecpo.ThreeCPO().get_params()}


def default_of(function, name):
    return inspect.signature(function).parameters[name].default


def test_defaults_are_shown_as_they_are(run):
    text = " ".join(run("fit", "--help-all").out.split())
    model = threecpo.ThreeCPO()
    for name in ("n-init", "max-clusters"):
        shown = re.search(rf"--{name} N .*?\[default: ([\w.-]+)", text)[1]
        assert shown == str(getattr(model, name.replace("-", "_"))), name
    words = re.search(r"--max-words N .*?\[default: (\d+)", text)[1]
    assert (
        int(words) == inspect.signature(count_terms).parameters["max_features"].default
    )
    rows = re.search(r"--sample-rows N .*?\[default: (\d+)", text)[1]
    assert int(rows) == default_of(fit_blocks, "sample_rows")


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
    facts = facts_of(folder)
    assert facts["agreement"]["novel"]["ARI"] == 1
    assert facts["nouns"] == {"row_noun": "chapters", "column_noun": "words"}
    assert opened == []
    again = run("demo", "--open")
    assert "--open does it" not in again.out
    assert opened == [Path(PAGE).absolute().as_uri()]


def test_without_a_browser_it_says_what_to_open(run, opened):
    done = run("fit", "cells.npz", "-k", 2, "-o", "none", "--open")
    assert done.err == (
        "threecpo: No browser was found; open none/report.html yourself.\n"
    )


def test_it_replaces_only_what_it_wrote(run):
    write_counts(threecpo.CountTable(X), "mine.npz")
    run("fit", "mine.npz", "-k", 3, "--no-report")
    before = Path("mine.threecpo/run.json").read_bytes()
    done = run.wrong("demo", "-o", "mine.threecpo")
    sentence = "mine.threecpo holds other results; choose another folder with -o."
    assert done.err == f"threecpo: {sentence}\n"
    assert Path("mine.threecpo/run.json").read_bytes() == before
    Path("notes").mkdir()
    Path("notes/mine.txt").touch()
    run.wrong("demo", "-o", "notes")
    assert [path.name for path in Path("notes").iterdir()] == ["mine.txt"]
