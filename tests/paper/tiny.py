"""Small stand-ins of the loops of the experiments."""

import re

from paper.experiments import noise, paths, runtime, synth
from threecpo.datasets import make_synth


def shorten(monkeypatch):
    """Fewer points, draws and numbers of clusters."""
    monkeypatch.setattr(paths, "N_CLUSTERS", (2, 3, 4))
    monkeypatch.setattr(noise, "COUNTS", (0, 2))
    monkeypatch.setattr(noise, "RANGES", (3, 9))
    monkeypatch.setattr(runtime, "ROWS", (60, 90))
    monkeypatch.setattr(runtime, "N_COLUMNS", (6, 9))
    monkeypatch.setattr(synth, "DRAWS", 2)
    monkeypatch.setattr(
        "paper.experiments.data.make_synth",
        lambda n_rows=60, **options: make_synth(n_rows, **options),
    )


def tables(text):
    """Rows of the Markdown tables of a page, each as a list of cells."""
    found = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.splitlines()
        if lines and lines[0].startswith("|"):
            found.append([re.split(r"(?<!\\)\|", line)[1:-1] for line in lines])
    return found
