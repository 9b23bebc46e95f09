"""The option --max-unpacked of every command that reads a file."""

import os

import numpy as np
import pytest

from threecpo.io.limits import VARIABLE

COMMANDS = {
    "info": ["info", "bomb.npz"],
    "fit": ["fit", "bomb.npz", "-k", "2", "--seed", "0", "--n-init", "1"],
    "fit in blocks": ["fit", "bomb.npz", "-k", "2", "--max-memory", "1GB"],
    "predict": ["predict", "model.npz", "bomb.npz"],
}


@pytest.fixture
def bomb(run, tmp_path):
    """A small file of counts beside an array that unpacks to a megabyte."""
    with np.load(tmp_path / "cells.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    np.savez_compressed(tmp_path / "bomb.npz", more=np.zeros(2**17), **arrays)


@pytest.mark.usefixtures("bomb")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_allows_what_it_is_told_to(run, monkeypatch, tmp_path, name):
    if name == "predict":
        assert run("fit", "cells.npz", "-k", 2, "-o", "done").code == 0
        (tmp_path / "done" / "model.npz").rename(tmp_path / "model.npz")
    if name == "fit in blocks":
        (tmp_path / "bombs").mkdir()
        (tmp_path / "bomb.npz").rename(tmp_path / "bombs" / "bomb.npz")
        COMMANDS[name][1] = "bombs"
    # All files are small: this stands for the default of large ones.
    monkeypatch.setenv(VARIABLE, "100kB")
    refused = run(*COMMANDS[name])
    assert refused.code == 2
    assert "unpacks to more than 100000 bytes" in refused.err
    assert "allow more by --max-unpacked or THREECPO_MAX_UNPACKED" in refused.err
    done = run(*COMMANDS[name], "--max-unpacked", "4MB")
    assert done.code == 0, done.err
    assert os.environ[VARIABLE] == "100kB"


def test_a_report_allows_what_it_is_told_to(run, monkeypatch):
    assert run("fit", "cells.npz", "-k", 2, "-o", "done").code == 0
    monkeypatch.setenv(VARIABLE, "1kB")
    refused = run("report", "done")
    assert refused.code == 2
    assert "--max-unpacked" in refused.err
    assert run("report", "done", "--max-unpacked", "10MB").code == 0


def test_it_lasts_as_long_as_the_command(run, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert run("info", "cells.npz", "--max-unpacked", "1GB").code == 0
    assert VARIABLE not in os.environ


def test_it_must_be_a_size(run):
    done = run("info", "cells.npz", "--max-unpacked", "lots")
    assert done.code == 2
    assert "must be a size such as '10GB'" in done.err
