"""Results appear complete or not at all, also when commands are ended."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from running import (
    FILES,
    assert_one_line,
    contents,
    everything,
    facts_of,
    started,
    table,
)

import threecpo
from processes import run_python
from threecpo import write_counts
from threecpo.cli import _main, _result_folder
from threecpo.cli._output_paths import new_folder


def test_existing_results_are_not_replaced_unasked(run):
    run.fitted("-k", 3)
    before = contents("cells.threecpo")
    assert_one_line(run.wrong("fit", "cells.npz", "-k", 2), "cells.threecpo", "--force")
    assert contents("cells.threecpo") == before


def test_force_replaces_them(run, tmp_path):
    run("fit", "cells.npz", "-k", "auto", "--max-clusters", 3)
    run("fit", "cells.npz", "-k", 2, "--force")
    assert {path.name for path in Path("cells.threecpo").iterdir()} == FILES
    facts = facts_of("cells.threecpo")
    assert facts["parameters"]["n_clusters"] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "cells.npz",
        "cells.threecpo",
    ]


@pytest.mark.parametrize("run_file", [None, '{"format": "threecpo-run"}'])
def test_force_does_not_replace_what_is_no_result(run_file, run):
    folder = Path("thesis")
    folder.mkdir()
    (folder / "chapter 1.txt").write_text("Count data are")
    if run_file is not None:
        (folder / "run.json").write_text(run_file)
    before = contents(folder)
    assert_one_line(
        run.wrong("fit", "cells.npz", "-k", 2, "-o", folder, "--force"),
        "thesis is not a threecpo result and is kept",
    )
    assert contents(folder) == before


@pytest.mark.parametrize("place", [".", ".."])
def test_the_folder_that_we_are_in_stays(place, run, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    before = everything(tmp_path)
    assert_one_line(
        run.wrong("fit", "../cells.npz", "-k", 2, "-o", place, "--force"),
        f"{place} is the current folder and is not replaced",
    )
    assert everything(tmp_path) == before


def test_folders_above_are_made(run):
    run("fit", "cells.npz", "-k", 2, "-o", "a/b/c")
    assert {path.name for path in Path("a/b/c").iterdir()} == FILES


DISK_FULL = OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("step", "error", "code", "old"),
    [
        ("watched", KeyboardInterrupt(), 130, True),
        ("write_report", DISK_FULL, 2, True),
        ("write_rounded", DISK_FULL, 2, False),
    ],
)
def test_what_fails_on_the_way_leaves_all_as_it_was(
    step, error, code, old, run, tmp_path, monkeypatch
):
    if old:
        run.fitted("-k", 2)
    before, held = everything(tmp_path), contents(tmp_path)

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(_result_folder, step, fail)
    done = run("fit", "cells.npz", "-k", 3, "--force", code=code)
    assert done.out == ""
    assert "Traceback" not in done.err
    assert everything(tmp_path) == before
    assert contents(tmp_path) == held


def test_the_old_results_come_back_if_the_new_cannot_be_put_in_place(
    run, tmp_path, monkeypatch
):
    run.fitted("-k", 2)
    before, held = everything(tmp_path), contents(tmp_path)
    rename = Path.rename

    def failing(self, target):
        if self.name.startswith(".part-"):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    assert_one_line(
        run.wrong("fit", "cells.npz", "-k", 3, "--force"), "Input/output error"
    )
    assert everything(tmp_path) == before
    assert contents(tmp_path) == held


def test_results_that_appear_meanwhile_are_not_replaced(tmp_path):
    target = tmp_path / "out"

    def fill():
        with new_folder(target, force=False) as folder:
            (folder / "new").write_text("new")
            target.mkdir()
            (target / "theirs").write_text("theirs")

    with pytest.raises(FileExistsError, match="not a threecpo result and is kept"):
        fill()
    assert contents(tmp_path) == {"out/theirs": b"theirs"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(os.name == "nt", reason="no such signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_signals_end_a_fit_and_leave_nothing(number, code, tmp_path):
    threecpo.write_counts(table(), tmp_path / "cells.npz")
    before = everything(tmp_path)
    long = ["--n-init", 10**6, "-o", "new/out", "-k", 3]
    with started("fit", "cells.npz", *long, cwd=tmp_path) as process:
        try:
            wait_for(lambda: list(tmp_path.glob("new/.part-*")))
            wait_for(lambda: seconds_of_work(process) > 2 or process.poll() is not None)
            assert process.poll() is None
            process.send_signal(number)
            out, err = process.communicate(timeout=600)
        finally:
            process.kill()
    assert process.returncode == code
    assert out == ""
    assert "Traceback" not in err
    if number == signal.SIGINT:
        assert err.strip() == "threecpo: interrupted."
    assert everything(tmp_path) == before


def seconds_of_work(process):
    """Processor time that a process has taken; infinity where that is not told."""
    try:
        stat = Path(f"/proc/{process.pid}/stat").read_text()
    except OSError:
        return np.inf
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def wait_for(there, seconds=600):
    for _ in range(20 * seconds):
        if there():
            return
        time.sleep(0.05)
    raise AssertionError("nothing happens")  # noqa: EM101


def edited(results):
    with (results / "labels.csv").open("a") as file:
        file.write("my own notes\n")


def added(results):
    (results / "k_path.csv").write_text("mine")


def another_report(results):
    (results / "report.html").write_text("<!doctype html>my own page")


def a_folder_in_it(results):
    (results / "labels.csv").unlink()
    (results / "labels.csv").mkdir()
    (results / "labels.csv" / "thesis.tex").write_text("all of it")


def only_our_names(results):
    for name in ("labels.csv", "run.json", "report.html"):
        (results / name).write_text("{}")


def test_force_replaces_only_our_results(run):
    run.fitted("-k", 2, "-o", "fitted")
    for change in (edited, added, another_report, a_folder_in_it, only_our_names):
        shutil.copytree("fitted", "out")
        change(Path("out"))
        before = contents("out")
        assert_one_line(
            run.wrong("fit", "cells.npz", "-k", 3, "-o", "out", "--force"),
            "not a threecpo result and is kept",
        )
        assert contents("out") == before
        shutil.rmtree("out")
    run("report", "fitted")
    run("fit", "cells.npz", "-k", 2, "-o", "fitted", "--force")
    Path("fitted/report.html").unlink()
    run("fit", "cells.npz", "-k", 3, "-o", "fitted", "--force")


POSIX = pytest.mark.skipif(os.name == "nt", reason="no such signals")
# Loses what is raised in it, as callbacks of compiled code do, then works on.
DEAF = """
import ctypes, os, signal, sys, time
from threecpo.cli._main import ended_by_signals
callback = ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGTERM))
with ended_by_signals():
    try:
        callback()
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            pass
    finally:
        # Longer than the pause between two requests: nothing disturbs this.
        end = time.monotonic() + 3 * float(sys.argv[1])
        while time.monotonic() < end:
            pass
        print("clean", flush=True)
print("went on")
"""


@POSIX
def test_a_request_that_is_lost_is_repeated_and_cleaning_up_is_left_alone():
    done = run_python("-c", DEAF, str(_main.AGAIN))
    assert (done.returncode, done.stdout, done.stderr) == (143, "clean\n", "")


# Makes another error of what is raised in it, as compilers do.
CHANGED = """
import os, signal, sys
from threecpo.cli._main import ended_by_signals
with ended_by_signals():
    try:
        if sys.argv[1] == "asked":
            os.kill(os.getpid(), signal.SIGTERM)
        raise KeyError
    except BaseException:
        raise RuntimeError("it failed")
"""


@pytest.mark.parametrize(("asked", "code"), [("asked", 143), ("not asked", 1)])
@POSIX
def test_a_request_that_became_another_error_ends_all_the_same(asked, code):
    done = run_python("-c", CHANGED, asked)
    assert done.returncode == code
    assert ("it failed" in done.stderr) == (asked == "not asked")


@pytest.fixture
def cells(tmp_path):
    write_counts(table(), tmp_path / "cells.npz")
    return tmp_path / "cells.npz"


def run(*arguments, **options):
    command = [sys.executable, "-m", "threecpo", *map(str, arguments)]
    return subprocess.run(
        command, stderr=subprocess.PIPE, text=True, check=False, **options
    )


@pytest.mark.parametrize("command", [["info"], ["select-k"]])
@POSIX
def test_a_reader_that_goes_away_is_no_error_of_ours(command, cells):
    read, write = os.pipe()
    os.close(read)
    options = ["--max", 2, "--n-init", 1] if command == ["select-k"] else []
    done = run(*command, cells, *options, stdout=write)
    os.close(write)
    assert done.returncode == 1
    assert done.stderr == ""


@POSIX
def test_a_stdout_that_was_closed_before_is_no_error(cells):
    done = run("info", cells, preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (0, "")
