"""The command reproduce, in a checkout and elsewhere."""

import os
import shutil
from pathlib import Path

import pytest
from running import (
    assert_one_line,
    beside_cells,
    elsewhere,
)

import threecpo
from experiments import EXPERIMENTS

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    return beside_cells(capsys, tmp_path, monkeypatch)


@pytest.mark.skipif(
    not Path(threecpo.__file__).is_relative_to(CHECKOUT),
    reason="the package is installed, without the experiments",
)
class TestReproduce:
    def test_experiments_are_listed(self, run):
        assert run("reproduce").out.splitlines() == list(EXPERIMENTS)
        assert run("reproduce", "--json").json == list(EXPERIMENTS)

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_one_is_run(self, jobs, run):
        options = ["--datasets", "Synth", "--executions", 2, "--restarts", 2]
        done = run("reproduce", "columns", *options, "--jobs", jobs, "-o", "here")
        assert done.code == 0, done.err
        assert done.out == "results: here\n"
        assert list(Path("here").glob("columns*"))

    def test_an_unknown_name(self, run):
        assert_one_line(run("reproduce", "tables"), "'tables'", "columns")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A package that is installed alone, as from a wheel."""
    package = tmp_path_factory.mktemp("site-packages") / "threecpo"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(threecpo.__file__).parent, package, ignore=ignored)
    return package


def from_package(package, *arguments, folder):
    """Run a command of a package in a folder, in a process of its own."""
    variables = os.environ | {"PYTHONPATH": str(package.parent)}
    return elsewhere("reproduce", *arguments, cwd=folder, env=variables)


class TestElsewhere:
    @pytest.mark.parametrize("arguments", [[], ["--json"], ["columns"], ["tables"]])
    def test_without_a_checkout_one_line_says_what_to_do(
        self, arguments, installed, tmp_path
    ):
        done = from_package(installed, *arguments, folder=tmp_path)
        assert_one_line(
            done, "experiments are not part of the installed package", "clone"
        )
        assert done.out == ""
        assert list(tmp_path.iterdir()) == []

    def test_other_folders_of_that_name_are_not_run(self, installed, tmp_path):
        (tmp_path / "experiments").mkdir()
        stranger = tmp_path / "experiments" / "__init__.py"
        stranger.write_text("raise SystemExit('this is not ours')\n")
        assert_one_line(from_package(installed, folder=tmp_path), "clone")

    def test_in_the_folder_of_a_checkout_they_are_listed(self, installed):
        done = from_package(installed, folder=CHECKOUT)
        assert done == (0, "".join(f"{name}\n" for name in EXPERIMENTS), "")

    def test_the_package_of_a_checkout_finds_them_from_any_folder(self, tmp_path):
        # Another package of the name in the current folder does not hide them.
        (tmp_path / "experiments").mkdir()
        (tmp_path / "experiments" / "__init__.py").touch()
        done = from_package(CHECKOUT / "src" / "threecpo", folder=tmp_path)
        assert done == (0, "".join(f"{name}\n" for name in EXPERIMENTS), "")
