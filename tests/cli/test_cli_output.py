"""Results appear complete or not at all, and replace nothing unasked."""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from running import FILES, assert_one_line, contents, everything, started, table

import threecpo
from threecpo.cli import _result_folder
from threecpo.cli._output_paths import new_file, new_folder


def test_existing_results_are_not_replaced_unasked(run):
    assert run("fit", "cells.npz", "-k", 3).code == 0
    before = contents("cells.threecpo")
    assert_one_line(run("fit", "cells.npz", "-k", 2), "cells.threecpo", "--force")
    assert contents("cells.threecpo") == before


def test_force_replaces_them(run, tmp_path):
    assert run("fit", "cells.npz", "-k", "auto", "--max-clusters", 3).code == 0
    assert run("fit", "cells.npz", "-k", 2, "--force").code == 0
    assert {path.name for path in Path("cells.threecpo").iterdir()} == FILES
    facts = json.loads(Path("cells.threecpo/run.json").read_text())
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
    done = run("fit", "cells.npz", "-k", 2, "-o", folder, "--force")
    assert_one_line(done, "thesis is not a threecpo result and is kept")
    assert contents(folder) == before


@pytest.mark.parametrize("place", [".", ".."])
def test_the_folder_that_we_are_in_stays(place, run, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    before = everything(tmp_path)
    done = run("fit", "../cells.npz", "-k", 2, "-o", place, "--force")
    assert_one_line(done, f"{place} is the current folder and is not replaced")
    assert everything(tmp_path) == before


def test_folders_above_are_made(run):
    assert run("fit", "cells.npz", "-k", 2, "-o", "a/b/c").code == 0
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
        assert run("fit", "cells.npz", "-k", 2).code == 0
    before, held = everything(tmp_path), contents(tmp_path)

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(_result_folder, step, fail)
    done = run("fit", "cells.npz", "-k", 3, "--force")
    assert done.code == code
    assert done.out == ""
    assert "Traceback" not in done.err
    assert everything(tmp_path) == before
    assert contents(tmp_path) == held


def test_the_old_results_come_back_if_the_new_cannot_be_put_in_place(
    run, tmp_path, monkeypatch
):
    assert run("fit", "cells.npz", "-k", 2).code == 0
    before, held = everything(tmp_path), contents(tmp_path)
    rename = Path.rename

    def failing(self, target):
        if self.name.startswith(".part-"):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    assert_one_line(run("fit", "cells.npz", "-k", 3, "--force"), "Input/output error")
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


def test_an_old_file_stays_until_the_new_is_complete(tmp_path):
    target = tmp_path / "table.csv"
    target.write_text("old")
    with (
        pytest.raises(FileExistsError, match="force=True"),
        new_file(target, force=False),
    ):
        raise AssertionError

    def fail():
        with new_file(target, force=True) as path:
            path.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert target.read_text() == "old"
    with new_file(target, force=True) as path:
        path.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


def test_a_link_to_results_stays_a_link(run, tmp_path):
    assert run("fit", "cells.npz", "-k", 2, "-o", "run1").code == 0
    Path("latest").symlink_to("run1")
    assert run("fit", "cells.npz", "-k", 3, "-o", "latest", "--force").code == 0
    assert Path("latest").is_symlink()
    facts = json.loads(Path("run1/run.json").read_text())
    assert facts["parameters"]["n_clusters"] == 3


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
    assert run("fit", "cells.npz", "-k", 2, "-o", "fitted").code == 0
    for change in (edited, added, another_report, a_folder_in_it, only_our_names):
        shutil.copytree("fitted", "out")
        change(Path("out"))
        before = contents("out")
        done = run("fit", "cells.npz", "-k", 3, "-o", "out", "--force")
        assert_one_line(done, "not a threecpo result and is kept")
        assert contents("out") == before
        shutil.rmtree("out")
    assert run("report", "fitted").code == 0
    assert run("fit", "cells.npz", "-k", 2, "-o", "fitted", "--force").code == 0
    Path("fitted/report.html").unlink()
    assert run("fit", "cells.npz", "-k", 3, "-o", "fitted", "--force").code == 0
