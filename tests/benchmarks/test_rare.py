"""What the benchmark of rare clusters counts."""

import sys
from argparse import Namespace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import _atlas
import rare
from atlas import found_clusters


def test_a_cluster_is_found_if_one_holds_most_of_it_and_little_else():
    truth = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 3])
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 1, -1, 2, 1, 1, 1])
    found, shares = found_clusters(truth, labels)
    assert found.tolist() == [True, False, False, False]
    np.testing.assert_allclose(shares, np.array([4, 4, 2, 3]) / 13)


def test_a_line_says_how_often_a_share_was_found():
    given = Namespace(rows=1000, sample_rows=100, seeds=3, shares=[1.0, 0.5])
    without = [np.array([True, False])] + [np.array([False, False])] * 2
    found = {False: without, True: [np.array([True, True])] * 3}
    assert rare.how_often(given, found) == [
        ["1 %", "10", "1", "1 of 3", "3 of 3"],
        ["0.5 %", "5", "0.5", "0 of 3", "3 of 3"],
    ]


def test_both_fits_are_of_the_planted_cells(monkeypatch):
    rng = np.random.default_rng(0)
    cells = _atlas.RealCells(rng.gamma(0.5, size=(3, 80)), rng.gamma(2, size=60))
    monkeypatch.setattr(_atlas, "BLOCK_ROWS", 500)
    monkeypatch.setattr(rare, "N_COMMON", 2)
    atlas = _atlas.Atlas(cells, 1500, 100, 3, stored_in_row=30.0, rare=(0.02,))
    given = Namespace(sample_rows=150, jobs=1, shares=[2.0])
    blocks = list(atlas.blocks())
    readings = []
    for rare_clusters in (False, True):
        found, facts = rare.fitted(atlas, blocks, given, rare_clusters=rare_clusters)
        assert facts[2] == f"{found.sum()} of 3"
        assert facts[3] == ("2" if found[2] else "")
        readings.append(int(facts[-1]))
    # One of all rows that finds misfits, one that reads these, and passes.
    assert readings[1] >= readings[0] + 4
