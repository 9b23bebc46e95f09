"""The harness notices whatever an input does to the process that reads it."""

import sys
from collections import Counter

import pytest

from fuzz import command
from fuzz.child import Batch, Pool
from fuzz.outcomes import Limits, Tally

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such limits")


@pytest.fixture
def run(tmp_path, monkeypatch, request):
    """Run the first inputs of a target of odd_targets."""
    monkeypatch.syspath_prepend(request.path.parent)

    def running(name, **limits):
        tally = Tally(tmp_path / "kept", 7)
        pool = Pool("odd_targets", 7, Limits(**{"megabytes": 100} | limits), 1)
        pool.run(iter([Batch(name, 0, 8)]), tally.add)
        return tally

    return running


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("well", {"read": 4, "own error": 4}),
        ("foreign", {"read": 2, "own error": 4, "foreign": 2}),
        ("leaving", {"read": 4, "own error": 3, "foreign": 1}),
        ("crash", {"read": 3, "own error": 4, "crash": 1}),
        ("memory", {"read": 4, "own error": 3, "memory": 1}),
        ("hungry", {"read": 4, "own error": 3, "memory": 1}),
    ],
)
def test_every_input_is_counted_as_what_became_of_it(run, name, expected):
    assert run(name).counts[name] == Counter(expected)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_work_without_end_and_waiting_without_end_are_hangs(run):
    expected = {"read": 4, "own error": 3, "hang": 1}
    assert run("spin", seconds=0.5, waiting=600).counts["spin"] == expected
    assert run("hang", seconds=30, waiting=0.1).counts["hang"] == expected


@pytest.mark.parametrize(("name", "status"), [("well", 0), ("foreign", 1)])
def test_the_command(monkeypatch, request, tmp_path, capsys, name, status):
    monkeypatch.syspath_prepend(request.path.parent)
    monkeypatch.setattr(command, "TARGETS", "odd_targets")
    given = ["--inputs", "6", "--targets", name, "--workers", "1", "--seed", "7"]
    assert command.main([*given, "--keep", str(tmp_path)]) == status
    lines = capsys.readouterr().out.splitlines()
    expected = {"well": [6, 3, 3, 0, 0, 0, 0], "foreign": [6, 1, 3, 2, 0, 0, 0]}
    assert lines[1].split()[:-1] == [name, *map(str, expected[name])]
    assert lines[2].split()[:-1] == ["all", *map(str, expected[name])]
    if status:
        assert "2 x foreign, --seed 7 --replay foreign:2: KeyError" in lines[-1]
        assert "KeyError" in (tmp_path / "causes.txt").read_text()


def test_an_input_can_be_replayed(monkeypatch, request, tmp_path, capsys):
    monkeypatch.syspath_prepend(request.path.parent)
    monkeypatch.setattr(command, "TARGETS", "odd_targets")
    command.main(["--replay", "foreign:4", "--seed", "9", "--keep", str(tmp_path)])
    assert (tmp_path / "foreign-9-4" / "number.txt").read_text() == "9 4"
    assert "foreign KeyError" in capsys.readouterr().out


def test_what_failed_is_kept(run, tmp_path):
    run("crash")
    folder = tmp_path / "kept" / "crash-7-2"
    assert (folder / "number.txt").read_text() == "7 2"
    said = (folder / "what.txt").read_text()
    assert "--seed 7 --replay crash:2" in said
    assert "SIGSEGV" in said


def test_a_run_that_is_ended_prints_its_table(monkeypatch, request, tmp_path, capsys):
    monkeypatch.syspath_prepend(request.path.parent)
    monkeypatch.setattr(command, "TARGETS", "odd_targets")
    add, heard = Tally.add, []

    def ended(self, *outcome):
        add(self, *outcome)
        heard.append(outcome)
        if len(heard) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Tally, "add", ended)
    given = ["--minutes", "5", "--targets", "well", "--workers", "1"]
    assert command.main([*given, "--keep", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[:2] == ["all", "3"]
