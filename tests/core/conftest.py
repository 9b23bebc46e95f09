"""Every run that a search makes."""

import pytest
from core_cases import Started

from threecpo._core import crossing, search
from threecpo._core.run import run


@pytest.fixture
def made(monkeypatch):
    """Every run that a search makes, in their order."""
    runs = []

    def recording(counts, groups, labels, settings, *others, **known):
        result = run(counts, groups, labels, settings, *others, **known)
        runs.append(Started(groups.copy(), labels.copy(), settings, result))
        return result

    for module in (search, crossing):
        monkeypatch.setattr(module, "run", recording)
    return runs
