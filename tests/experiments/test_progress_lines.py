"""Progress of the experiments, on a terminal and in a file."""

import sys
from types import SimpleNamespace

import pytest

from experiments import _progress_lines
from experiments._progress_lines import ProgressLines


@pytest.fixture
def clock(monkeypatch):
    """Time that goes on by 100 seconds whenever it is read."""
    times = iter(range(0, 10_000, 100))
    clock = SimpleNamespace(monotonic=lambda: next(times))
    monkeypatch.setattr(_progress_lines, "time", clock)


def three_steps(*, shown=True):
    with ProgressLines("columns", 3, shown=shown) as progress:
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
