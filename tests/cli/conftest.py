"""Commands that run beside the planted table, cells.npz."""

import pytest
from running import beside_cells

from threecpo import ThreeCPO


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """Commands in other processes say when they compile; none does after this."""
    ThreeCPO(2, random_state=0).fit([[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]])


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    return beside_cells(capsys, tmp_path, monkeypatch)


@pytest.fixture
def npz(run, tmp_path):
    return tmp_path / "cells.npz"
