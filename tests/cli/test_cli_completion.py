"""The command completion, and what shells get when they ask."""

import pytest
from running import runner

SHELLS = ["bash", "fish"]


@pytest.mark.parametrize("shell", SHELLS)
def test_what_a_shell_reads(shell, capsys):
    done = runner(capsys)("completion", shell)
    assert done.code == 0
    assert "_THREECPO_COMPLETE" in done.out
    assert "threecpo" in done.out


@pytest.mark.parametrize(
    ("words", "position", "offered"),
    [
        ("threecpo inf", 1, "info"),
        ("threecpo fit --max-c", 2, "--max-clusters"),
        ("threecpo completion fi", 2, "fish"),
    ],
)
def test_what_may_come_next(words, position, offered, capsys, monkeypatch):
    monkeypatch.setenv("_THREECPO_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(position))
    done = runner(capsys)()
    assert f"plain,{offered}\n" in done.out


def test_an_unknown_shell(capsys):
    done = runner(capsys)("completion", "tcsh")
    assert done.code == 2
    assert "'tcsh' is not one of" in done.err
