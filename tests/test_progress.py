"""What people who wait are shown."""

import io
import sys

import pytest

from threecpo._progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def three_steps(*, shown, texts=("K = 2", "K = 2", "K = 3")):
    with progress("Runs", 5, shown=shown) as advance:
        for text in texts:
            advance(1, text)


def test_nothing_is_shown_unless_asked(capsys, monkeypatch):
    three_steps(shown=False)
    assert capsys.readouterr() == ("", "")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    three_steps(shown=False)
    assert terminal.getvalue() == ""


LINES = "Runs: 1/5 K = 2\nRuns: 3/5 K = 3\n"


def test_elsewhere_than_on_a_terminal_each_text_is_one_line(capsys):
    three_steps(shown=True)
    assert capsys.readouterr() == ("", LINES)


def test_steps_are_added_up(capsys):
    with progress("Runs", 9, shown=True) as advance:
        advance(4, "a")
        advance(3, "b")
    assert capsys.readouterr().err == "Runs: 4/9 a\nRuns: 7/9 b\n"


def test_a_terminal_has_a_bar(monkeypatch):
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stderr", terminal)
    three_steps(shown=True)
    shown = terminal.getvalue()
    assert "Runs" in shown
    assert "3/5" in shown
    assert "K = 3" in shown
    assert LINES not in shown


def test_a_terminal_without_rich_has_lines(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setitem(sys.modules, "rich", None)
    three_steps(shown=True)
    assert terminal.getvalue() == LINES


def texts_that_fail():
    yield "K = 2"
    raise ValueError("inside")  # noqa: EM101


@pytest.mark.parametrize("terminal", [True, False])
def test_an_error_inside_reaches_the_caller(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal() if terminal else io.StringIO())
    with pytest.raises(ValueError, match="inside"):
        three_steps(shown=True, texts=texts_that_fail())
