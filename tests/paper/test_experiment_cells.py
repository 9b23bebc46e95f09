"""Cells are kept once and whole; the paper's values stand beside them."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import paper
import threecpo
from paper import methods
from paper.experiments import cells, characteristics, measures, paths
from paper.experiments.cells import Cache, Cell, Progress, run
from paper.experiments.comparisons import (
    ABLATION,
    COCLUSTERING,
    INITIALISATION,
    TEXTS,
    TRADITIONAL,
    WEIGHTED,
    WITHOUT_OUTLIERS,
)
from paper.experiments.data import Data, paper_names, synth
from paper.experiments.paths import CRITERIA, K_MEANS
from paper.experiments.tables import (
    COLUMNS,
    METRICS,
    Entry,
    Spread,
    difference,
    misses,
    paper_value,
    summary,
)

DATA = Data("small", sp.csr_array([[3, 0], [0, 4], [2, 1]]), np.array([0, 1, 0]))


def cell(
    data=DATA, seed=0, method="3CPO", n_init=1, measure=measures.scores, **options
):
    estimator = methods()[method](2, random_state=seed, n_init=n_init)
    return Cell(measure, data, estimator, options, title=f"{method} {seed}")


def other_data(**changes):
    return replace(DATA, **changes)


OTHERS = [
    cell(seed=1),
    cell(n_init=2),
    cell(method="PoissonL"),
    cell(method="KM"),
    cell(measure=measures.history),
    cell(repeat=1),
    cell(other_data(X=sp.csr_array([[3, 0], [0, 4], [2, 2]]))),
    cell(other_data(X=sp.csr_array([[3, 0], [0, 4], [2, 1.5]]))),
    cell(other_data(X=sp.csr_array([[3, 0, 0], [0, 4, 0], [2, 1, 0]]))),
    cell(other_data(labels=np.array([0, 1, 1]))),
]


def test_whatever_decides_a_value_decides_its_place(tmp_path):
    cache = Cache(tmp_path)
    cache.put(cell(), {"ARI": 1.0})
    for other in OTHERS:
        assert other.digest != cell().digest
        assert cache.get(other) is None


def test_methods_that_differ_in_a_transformation_alone_are_told_apart():
    names = ("KM", "STD+KM", "MM+KM", "RF+KM", "RCA+KM", "TF-IDF+KM", "BM25+KM")
    assert len({cell(method=name).digest for name in names}) == len(names)


def test_titles_and_threads_do_not_matter():
    one = cell()
    two = replace(one, title="another name")
    two.estimator.set_params(n_jobs=2, verbose=1)
    assert two.digest == cell().digest


@pytest.mark.parametrize("name", ["FORMAT", "__version__"])
def test_another_version_has_other_cells(name, monkeypatch):
    before = cell().digest
    monkeypatch.setattr(cells, name, "another")
    assert cell().digest != before


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values=st.dictionaries(st.text(), json_values, max_size=4))
def test_values_come_back_as_they_were(values, tmp_path_factory):
    cache = Cache(tmp_path_factory.mktemp("cells"))
    cache.put(cell(), values)
    assert cache.get(cell()) == values


@pytest.mark.parametrize("content", ["", "[]", '{"values": {}}', "\x00"])
def test_a_file_that_is_no_cell_is_measured_anew(content, tmp_path):
    cache = Cache(tmp_path)
    cache.put(cell(), {"ARI": 1.0})
    (path,) = tmp_path.rglob("*.json")
    path.write_text(content)
    assert cache.get(cell()) is None
    (values,) = run([cell()], cache, title="test", jobs=1, shown=False)
    assert cache.get(cell()) == values


def test_a_cell_of_another_identity_under_the_same_name_is_not_taken(tmp_path):
    cache = Cache(tmp_path)
    cache.put(cell(), {"ARI": 1.0})
    (path,) = tmp_path.rglob("*.json")
    kept = json.loads(path.read_text())
    kept["identity"]["fingerprint"] = "another"
    path.write_text(json.dumps(kept))
    assert cache.get(cell()) is None


def test_a_write_that_fails_leaves_nothing(tmp_path):
    cache = Cache(tmp_path)
    with pytest.raises(TypeError):
        cache.put(cell(), {"ARI": object()})
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_cell_killed_while_it_is_written_is_not_there(tmp_path, monkeypatch):
    seen = []

    def killed(self, target):
        seen.append((target.exists(), json.loads(self.read_text())["values"]))
        raise KeyboardInterrupt

    cache = Cache(tmp_path)
    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        cache.put(cell(), {"ARI": 1.0})
    assert seen == [(False, {"ARI": 1.0})]
    assert cache.get(cell()) is None
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def counted(data, estimator, *, folder):
    """A measure that tells how often it was run."""
    path = Path(folder) / f"{estimator.random_state}"
    path.write_text(path.read_text() + "x" if path.exists() else "x")
    return {"seed": estimator.random_state}


def test_cells_are_run_once_and_shared(tmp_path):
    cache = Cache(tmp_path / "cells")
    some = [cell(seed=s, measure=counted, folder=str(tmp_path)) for s in (0, 1, 0)]
    for _ in range(2):
        values = run(some, cache, title="test", jobs=1, shown=False)
        assert [value["seed"] for value in values] == [0, 1, 0]
    assert {p.name: p.read_text() for p in tmp_path.iterdir() if p.is_file()} == {
        "0": "x",
        "1": "x",
    }


def failing(data, estimator):
    if estimator.random_state == 1:
        message = "bad luck"
        raise ArithmeticError(message)
    return {"seed": estimator.random_state}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_cell_that_fails_is_named_and_the_others_are_kept(jobs, tmp_path):
    cache = Cache(tmp_path)
    some = [cell(seed=s, measure=failing) for s in range(4)]
    with pytest.raises(RuntimeError, match=r"small 3CPO 1: ArithmeticError: bad luck"):
        run(some, cache, title="test", jobs=jobs, shown=False)
    assert [cache.get(c) is not None for c in some] == [True, False, True, True]


def test_processes_give_the_same_values(tmp_path):
    names = ("3CPO", "KM", "CCMod", "TauCC")
    data = synth(n_rows=90)
    found = []
    for jobs in (1, 2):
        some = [
            Cell(measures.scores, data, methods()[name](3, random_state=s, n_init=2))
            for name in names
            for s in range(2)
        ]
        cache = Cache(tmp_path / str(jobs))
        found.append(run(some, cache, title="test", jobs=jobs, shown=False))
    for one, two in zip(*found, strict=True):
        assert one | {"seconds": 0} == two | {"seconds": 0}


def stamps(folder):
    return {p: p.stat().st_mtime_ns for p in folder.rglob("*.json") if p.name[0] != "."}


def start(cache, output):
    package = Path(threecpo.__file__).parents[1]
    checkout = Path(paper.__file__).parents[1]
    command = [sys.executable, "-m", "paper", "traditional"]
    command += ["--datasets", "Synth", "--executions", "12", "--restarts", "3"]
    command += ["--methods", "3CPO", "PoissonL", "PoissonC", "SKM", "--jobs", "1"]
    command += ["--cache", str(cache), "--output", str(output)]
    variables = os.environ | {"PYTHONPATH": str(package)}
    return subprocess.Popen(
        command, cwd=checkout, env=variables, stderr=subprocess.DEVNULL
    )


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    cache, output = tmp_path / "cells", tmp_path / "out"
    process = start(cache, output)
    deadline = time.monotonic() + 600
    while len(stamps(cache)) < 5 and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = stamps(cache)
    assert 5 <= len(before) < 48
    for path in before:
        assert {"identity", "values"} == json.loads(path.read_text()).keys()
    assert not list(output.glob("*.md"))
    assert start(cache, output).wait() == 0
    after = stamps(cache)
    assert len(after) == 48
    assert before.items() <= after.items()
    assert (output / "traditional.md").is_file()


@pytest.fixture
def clock(monkeypatch):
    """Time that goes on by 100 seconds whenever it is read."""
    times = iter(range(0, 10_000, 100))
    clock = SimpleNamespace(monotonic=lambda: next(times))
    monkeypatch.setattr(cells, "time", clock)


def three_steps(*, shown=True):
    with Progress("columns", 3, shown=shown) as progress:
        for step in ("first", "second", "third"):
            progress.one_more(step)


@pytest.mark.usefixtures("clock")
def test_every_step_has_a_line_with_the_time_left(capsys):
    three_steps()
    assert capsys.readouterr().err.splitlines() == [
        "columns: 1/3 first, 3 min left",
        "columns: 2/3 second, 2 min left",
        "columns: 3/3 third, 0 s left",
    ]


@pytest.mark.usefixtures("clock")
def test_on_a_terminal_one_line_of_its_width_is_written_again(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    three_steps()
    text = capsys.readouterr().err
    assert text.endswith("\n")
    assert text.rstrip("\n").split("\r\x1b[K") == [
        "",
        "columns: 1/3 first,",
        "columns: 2/3 second",
        "columns: 3/3 third,",
    ]


@pytest.mark.parametrize("terminal", [False, True])
def test_nothing_is_written_unless_it_is_shown(terminal, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    three_steps(shown=False)
    assert capsys.readouterr().err == ""


K_MEANS_CHOICES = [
    f"{name} {paths.PAPER_CRITERIA[c]}" for name in K_MEANS for c in CRITERIA
]


@pytest.mark.parametrize(
    ("table", "names", "metrics"),
    [
        ("traditional", TRADITIONAL, METRICS),
        ("co-clustering", COCLUSTERING, METRICS),
        ("ablation", ABLATION, [*METRICS, "C1"]),
        ("initialisation", INITIALISATION, [*METRICS, "C1"]),
        ("outliers", ["3CPO"], WITHOUT_OUTLIERS),
        ("columns", ["3CPO"], ["C1"]),
        ("characteristics", [""], characteristics.METRICS),
        ("number of clusters", ["3CPO", "TauCC", *K_MEANS_CHOICES], paths.METRICS),
    ],
)
def test_every_value_of_the_paper_has_a_place(table, names, metrics):
    for data_set in paper_names():
        for name in names:
            for metric in metrics:
                value = paper_value(table, data_set, name, metric)
                assert value is not None, (data_set, name, metric)


def test_weighted_terms_have_values_on_texts():
    for data_set in TEXTS:
        for name in WEIGHTED:
            assert paper_value("text", data_set, name, "ARI") is not None


def test_some_values_by_heart():
    assert paper_value("traditional", "BBCSports", "3CPO", "ARI") == (90.1, 2.9)
    assert paper_value("co-clustering", "HDendritic", "CROINFO", "ARI") == (81.9, 1.3)
    assert paper_value("number of clusters", "WebKB", "3CPO", "K") == (9, None)
    assert paper_value("traditional", "tcga5", "3CPO", "ARI") is None
    assert paper_value("traditional", "BBCSports", "3CPO", "C1") is None


@pytest.mark.parametrize(
    ("ours", "paper", "expected"),
    [
        (Spread(90.0, 1.0), Spread(94.0, 2.0), -2.0),
        (Spread(90.0, 4.0), Spread(94.0, 2.0), -1.0),
        (Spread(90.1, 0.0), Spread(90.0, 0.0), 2.0),
        (Spread(90.1), Spread(90.0), 2.0),
        (Spread(6.0), Spread(5.0), 20.0),
        (Spread(5.0, 1.0), None, None),
    ],
)
def test_differences_are_in_the_larger_deviation(ours, paper, expected):
    assert difference(ours, paper) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("mean", "marked"), [(94.0, False), (93.9, True), (106.0, False), (106.2, True)]
)
def test_more_than_two_deviations_are_marked(mean, marked):
    entry = Entry("BBCNews", "KM", "ARI", Spread(mean, 1.0), Spread(100.0, 3.0))
    assert entry.marked == marked
    assert ("**" in str(entry)) == marked
    assert entry.row()["marked"] == int(marked)
    assert len(misses([entry])) == (2 if marked else 0)
    assert f"{int(not marked)} are within" in summary([entry])


numbers = st.floats(-1e3, 1e3)
deviations = st.none() | st.floats(0, 1e2)


@given(numbers, deviations, numbers, deviations)
def test_differences_turn_their_sign_with_the_sides(a, s, b, t):
    one, two = Spread(a, s), Spread(b, t)
    assert difference(one, two) == -difference(two, one)
    assert math.isfinite(difference(one, two))
    assert tuple(Entry("d", "m", "x", one, two).row()) == COLUMNS


@given(st.lists(numbers, min_size=1, max_size=9))
def test_spreads_are_of_all_executions(values):
    spread = Spread.of(values)
    assert min(values) - 1e-9 <= spread.mean <= max(values) + 1e-9
    assert (spread.std is None) == (len(values) == 1)


def test_a_value_without_a_paper_has_no_difference():
    entry = Entry("tcga5", "KM", "ARI", Spread(91.0, 0.0))
    assert str(entry) == "91.0 ± 0.0"
    assert entry.row()["difference"] is None
    assert not entry.marked


def test_no_minus_before_zero():
    assert str(Spread(-0.01, 0.0)) == "0.0 ± 0.0"
    assert str(Spread(-0.06)) == "-0.1"
