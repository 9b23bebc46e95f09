"""What people who wait are shown."""

import io
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from containers import planted
from threecpo import ThreeCPO, select_n_clusters
from threecpo._fit.plan import Step
from threecpo._progress import RunBar


@contextmanager
def progress(n_runs, **options):
    with RunBar(**options) as bar:
        bar.start(n_runs)
        yield bar.advance


class Terminal(io.StringIO):
    def isatty(self):
        return True


def three_steps(texts=("K = 2", "K = 2", "K = 3")):
    with progress(5) as advance:
        for text in texts:
            advance(1, text)


LINES = "Runs: 1/5 K = 2\nRuns: 3/5 K = 3\n"


def test_elsewhere_than_on_a_terminal_each_text_is_one_line(capsys):
    three_steps()
    assert capsys.readouterr() == ("", LINES)


def test_steps_are_added_up(capsys):
    with progress(9) as advance:
        advance(4, "a")
        advance(3, "b")
    assert capsys.readouterr().err == "Runs: 4/9 a\nRuns: 7/9 b\n"


def test_a_terminal_has_a_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stderr", terminal)
    three_steps()
    shown = terminal.getvalue()
    assert "Runs" in shown
    assert "3/5" in shown
    assert "K = 3" in shown
    assert LINES not in shown


def test_a_terminal_without_rich_has_lines(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setitem(sys.modules, "rich", None)
    three_steps()
    assert terminal.getvalue() == LINES


def texts_that_fail():
    yield "K = 2"
    raise ValueError("inside")  # noqa: EM101


@pytest.mark.parametrize("terminal", [True, False])
def test_an_error_inside_reaches_the_caller(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal() if terminal else io.StringIO())
    with pytest.raises(ValueError, match="inside"):
        three_steps(texts_that_fail())


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_a_line_says_every_half_minute_that_work_goes_on(capsys):
    clock = Clock()
    with progress(5, clock=clock) as advance:
        advance(1, "K = 2", ", loss 9")
        for _ in range(5):
            clock.now += 10
            advance(0, "K = 2", f", loss {clock.now:g}")
        advance(1, "K = 3")
        clock.now += 29
        advance(0, "K = 3", ", too soon")
    lines = ["1/5 K = 2", "1/5 K = 2, loss 130", "2/5 K = 3"]
    assert capsys.readouterr().err == "".join(f"Runs: {line}\n" for line in lines)


def test_quiet_lines_come_every_half_minute_alone(capsys):
    clock = Clock()
    with progress(5, quiet=True, clock=clock) as advance:
        advance(1, "K = 2")
        clock.now += 30
        advance(1, "K = 3")
        clock.now += 29.9
        advance(1, "K = 4")
    assert capsys.readouterr().err == "Runs: 2/5 K = 3\n"


def test_commands_that_take_long_say_so_without_a_terminal(capsys):
    clock = Clock()
    with RunBar(quiet=True, clock=clock) as bar:
        bar.start(6)
        for run in range(3):
            line = {"loss": 5.0 - run}
            bar.step(Step(4, run, 7, line, finished=True))
            clock.now += 20
    assert capsys.readouterr().err == "Runs: 3/6 K = 4, iteration 7, loss 3\n"


class Notebook:
    """What IPython shows below a cell, one picture after the other."""

    def __init__(self, monkeypatch):
        self.pictures = []
        shell = SimpleNamespace(kernel=object())
        module = SimpleNamespace(get_ipython=lambda: shell)
        monkeypatch.setitem(sys.modules, "IPython", module)
        display = SimpleNamespace(display=self.display)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def display(self, shown, *, display_id):
        assert display_id is True
        self.update(shown)
        return self

    def update(self, shown):
        self.pictures.append(shown._repr_html_())


def test_a_notebook_has_a_bar(monkeypatch, capsys):
    notebook, clock = Notebook(monkeypatch), Clock()
    with progress(3, clock=clock) as advance:
        advance(1, "<K>")
        clock.now += 1
        advance(1, "<K>", " & more")
    assert capsys.readouterr() == ("", "")
    first, second, last = notebook.pictures
    assert 'value="0"' in first
    assert '<progress value="2" max="3"></progress> 2/3 &lt;K&gt; &amp; mor' in second
    assert last == second


def test_fits_and_paths_in_a_notebook_show_it(monkeypatch, capsys):
    notebook = Notebook(monkeypatch)
    X, _ = planted(2, 20)
    ThreeCPO(2, n_init=2, random_state=0, verbose=1).fit(X)
    assert "K = 2, iteration" in notebook.pictures[-1]
    shown = len(notebook.pictures)
    select_n_clusters(X, [1, 2], n_init=1, random_state=0, verbose=1)
    assert "K = " in notebook.pictures[-1]
    assert len(notebook.pictures) > shown
    assert capsys.readouterr() == ("", "")


def test_a_shell_in_a_terminal_is_no_notebook(monkeypatch, capsys):
    shell = SimpleNamespace(get_ipython=object)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    three_steps()
    assert capsys.readouterr().err == LINES
