"""The check for slowdowns, and the history of speed, in the folder of benchmarks."""

import importlib
import random
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    """A module of the folder of benchmarks, which is no package."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


def ratios(seed, factor, noise, rounds=15):
    draw = random.Random(seed)
    return [factor * draw.lognormvariate(0, noise) for _ in range(rounds)]


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1, 0.3])
def test_noise_alone_is_no_slowdown(benchmark, noise):
    Comparison = benchmark("slowdown").Comparison
    slower = [
        Comparison(ratios(seed, 1.0, noise), ratios(-1 - seed, 1.0, noise)).slower
        for seed in range(200)
    ]
    assert sum(slower) <= 2


@pytest.mark.parametrize(("noise", "factor"), [(0.0, 1.06), (0.05, 1.2), (0.1, 1.4)])
def test_a_slowdown_beyond_noise_is_found(benchmark, noise, factor):
    Comparison = benchmark("slowdown").Comparison
    slower = [
        Comparison(ratios(seed, factor, noise), ratios(-1 - seed, 1.0, noise)).slower
        for seed in range(200)
    ]
    assert sum(slower) >= 190


def test_a_machine_that_drifts_raises_the_limit(benchmark):
    Comparison = benchmark("slowdown").Comparison
    assert Comparison([1.1] * 15, [1.0] * 15).slower
    assert not Comparison([1.1] * 15, [1.12] * 15).slower
    assert not Comparison([1.1] * 15, [0.85] * 15).slower


def line(commit, day, **seconds):
    kmeans = {name: {"seconds": value, "peer": 2.0} for name, value in seconds.items()}
    date = f"2026-11-{day:02d}T00:00:00+00:00"
    return {"commit": commit, "changed": False, "date": date, "kmeans": kmeans}


def test_a_commit_has_one_line_and_lines_are_drawn_in_order(benchmark, tmp_path):
    pytest.importorskip("matplotlib")
    history = benchmark("history")
    path = tmp_path / "new" / "history.jsonl"
    assert history.read(path) == []
    history.append(path, line("b", 2, synth=4.0))
    history.append(path, line("a", 1, synth=1.0, digits=3.0))
    history.append(path, line("b", 2, synth=6.0))
    lines = history.read(path)
    assert [one["commit"] for one in lines] == ["a", "b"]
    assert history.ratios(lines)["synth"] == [0.5, 3.0]
    history.draw(lines, tmp_path / "history.png")
    assert (tmp_path / "history.png").stat().st_size > 1000


def test_the_line_of_a_commit_names_it(benchmark):
    about = benchmark("history").commit()
    assert set(about) == {"commit", "changed", "date"}
    assert about["commit"]
