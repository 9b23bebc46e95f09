"""Help is quick and has examples that hold."""

import json
import os
import re
import shlex
import subprocess
import sys

import click
import numpy as np
import pytest
from running import assert_one_line, elsewhere, runner

import threecpo
from threecpo.cli._main import COMMANDS, commands


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


def examples(text):
    return re.findall(r"^    (threecpo .*)$", text, flags=re.MULTILINE)


def test_every_help_has_examples_that_can_be_parsed(capsys):
    run = runner(capsys)
    for names in ((), *ALL):
        done = run(*names, "--help")
        assert (done.code, done.err) == (0, "")
        called = " ".join(["threecpo", *names])
        assert done.out.startswith(f"Usage: {called}")
        found = examples(done.out)
        assert any(line.startswith(called) for line in found)
        assert run(*names, "-h").out == done.out
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


@pytest.mark.parametrize("names", [["fot"], ["fit", "--foo"]])
def test_wrong_names_are_usage_errors_of_one_line(names, run):
    assert_one_line(run(*names), "No such", "--help")


def test_help_loads_nothing_heavy():
    program = (
        "import contextlib, io, json, sys\n"
        "from threecpo.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    for names in {[[], *map(list, ALL)]!r}:\n"
        "        assert main([*names, '--help']) == 0\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    command = [sys.executable, "-c", program]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
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
    for command in ("fit", "select-k"):
        assert choices((command,), "--criterion") == list(CRITERIA)


@pytest.mark.parametrize(
    ("option", "more"),
    [
        ("init", set()),
        ("assignment", set()),
        ("outliers", {None}),
        ("column-penalty", {None}),
    ],
)
def test_choices_are_all_that_the_estimator_takes(option, more):
    name = option.replace("-", "_")
    offered = {None if c == "none" else c for c in choices(("fit",), f"--{option}")}
    for choice in offered:
        model = threecpo.ThreeCPO(1, n_init=1, **{name: choice})
        model.fit([[1, 5], [5, 1], [2, 2]])
    with pytest.raises(ValueError, match=name) as caught:
        threecpo.ThreeCPO(1, **{name: "nowhere"}).fit([[1, 5], [5, 1]])
    _, listed = str(caught.value).rstrip(".").split(" is not one of ")
    assert set(listed.split(", ")) == set(map(repr, offered | more))


def test_defaults_are_shown_as_they_are(capsys):
    from threecpo.select.selection import empty_path

    def shown_default(command, option):
        assert threecpo.cli.main([command, "--help"]) == 0
        (_, text) = capsys.readouterr().out.split(f"--{option} ", 1)
        return re.search(r"\[default: ([\w.-]+)", " ".join(text.split()))[1]

    model = threecpo.ThreeCPO()
    for name in ("n-init", "max-iter", "prior", "max-clusters", "init", "criterion"):
        value = getattr(model, name.replace("-", "_"))
        assert shown_default("fit", name) == str(value), name
    runs = [
        empty_path(
            threecpo.ThreeCPO(init=init), None, n_init=None
        ).fitter.estimator.n_init
        for init in ("merge", "poisson-k-means++")
    ]
    assert shown_default("select-k", "n-init") == str(runs[0])
    assert threecpo.cli.main(["select-k", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"[default: {runs[0]}; {runs[1]} if --init is not merge]" in text
