"""Commands that run beside the planted table, cells.npz."""

import pytest
from running import beside_cells


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    return beside_cells(capsys, tmp_path, monkeypatch)


@pytest.fixture
def npz(run, tmp_path):
    return tmp_path / "cells.npz"
