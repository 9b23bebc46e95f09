"""Commands that run beside the planted table, cells.npz."""

import contextlib
import shutil

import pytest
from running import runner, table

from threecpo import ThreeCPO, write_counts
from threecpo.cli import main


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """Commands in other processes say when they compile; none does after this."""
    ThreeCPO(2, random_state=0).fit([[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]])


@pytest.fixture(scope="session")
def fitted_once(tmp_path_factory):
    """Fit the table with some options, once, and return the folder of both."""
    made = {}

    def fitted(*options):
        if options not in made:
            made[options] = tmp_path_factory.mktemp("fitted")
            write_counts(table(), made[options] / "cells.npz")
            with contextlib.chdir(made[options]):
                assert main(["fit", "cells.npz", *map(str, options)]) == 0
        return made[options]

    return fitted


@pytest.fixture
def run(capsys, tmp_path, monkeypatch, fitted_once):
    """Run commands beside the table; ``run.fitted`` puts results of it there."""
    monkeypatch.chdir(tmp_path)
    write_counts(table(), tmp_path / "cells.npz")
    run = runner(capsys)
    run.fitted = lambda *options: shutil.copytree(
        fitted_once(*options), tmp_path, dirs_exist_ok=True
    )
    return run


@pytest.fixture
def npz(run, tmp_path):
    return tmp_path / "cells.npz"
