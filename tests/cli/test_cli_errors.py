"""How commands end: exit codes, one line, bars on terminals alone."""

import json
import os
import pickle
import pty
import re
import sys
import warnings
from pathlib import Path

import pytest
from running import X, assert_one_line, everything, started, table, written_csv

import threecpo
from threecpo._errors import DataFormatError, parameter, shown
from threecpo.cli import _main, main
from threecpo.cli._printing import (
    as_options,
    clean,
    in_options,
    print_json,
    print_table,
)

WRONG = {
    "text.csv": b",a,b\nr1,1,2\nr2,x,3\n",
    "binary.csv": bytes(range(256)),
    "cut.npz": b"PK\x03\x04 half",
    "cut.h5ad": b"\x89HDF\r\n\x1a\n half",
    "new\nline.csv": b",a,b,c\nr1,x,2,3\n",
}
READING = {
    "fit": ["-k", 2],
    "info": [],
    "select-k": [],
    "test": [],
    "predict": [],
    "convert": ["out.npz"],
}


# Every kind of file by one command, and every command with one file.
CASES = [*(("info", name) for name in WRONG), *((each, "text.csv") for each in READING)]
CASES += [("fit", name) for name in ("nowhere.csv", "folder", "\udcff.csv")]


@pytest.mark.parametrize(("command", "name"), CASES)
def test_wrong_files_are_one_line_and_nothing_is_written(command, name, run, tmp_path):
    if name.endswith("h5ad"):
        pytest.importorskip("anndata")
    threecpo.ThreeCPO(2, random_state=0).fit(X).save("model.npz")
    (tmp_path / "folder").mkdir()
    if name in WRONG:
        (tmp_path / name).write_bytes(WRONG[name])
    before = everything(tmp_path)
    model = ["model.npz"] if command == "predict" else []
    done = run(command, *model, name, *READING[command])
    assert_one_line(done, clean(name) if name in WRONG else "")
    assert done.out == ""
    assert everything(tmp_path) == before


def test_a_folder_that_may_not_be_written(run):
    done = run("fit", "cells.npz", "-k", 2, "-o", "/proc/nowhere/out")
    assert_one_line(done, "/proc")


def test_errors_of_the_system_name_the_file(run):
    done = run("report", "cells.npz")
    assert_one_line(done, "cells.npz is not a results folder; `threecpo fit` writes")
    done = run("predict", "nowhere/model.npz", "cells.npz")
    assert_one_line(done, "nowhere/model.npz does not exist")


def test_a_missing_library_names_its_extra(run, monkeypatch):
    for name in ("anndata", "h5py"):
        monkeypatch.setitem(sys.modules, name, None)
    done = run("convert", "cells.npz", "cells.h5ad")
    assert_one_line(done, "threecpo[anndata]")


def test_faults_of_our_own_are_not_hidden(run, monkeypatch):
    def fail(*_):
        message = "a fault"
        raise RuntimeError(message)

    monkeypatch.setattr("threecpo.cli.info.described", fail)
    with pytest.raises(RuntimeError, match="a fault"):
        main(["info", "cells.npz"])


def test_tracebacks_can_be_asked_for(run, monkeypatch):
    monkeypatch.setenv("THREECPO_TRACEBACK", "1")
    with pytest.raises(ValueError, match="nowhere"):
        main(["info", "nowhere.csv"])


def test_too_little_memory_is_one_line(run, monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr("threecpo.cli.info.described", fail)
    done = run("info", "cells.npz")
    assert done.code == 1
    assert done.err.startswith("threecpo: not enough memory")


def test_the_warnings_of_others_are_not_shown(run, monkeypatch):
    def warn(_):
        warnings.warn("soon gone", FutureWarning, stacklevel=1)
        warnings.warn("look here", UserWarning, stacklevel=1)
        return {"fine": True}

    monkeypatch.setattr("threecpo.cli.info.described", warn)
    done = run("info", "cells.npz", "--json")
    assert done.err == "threecpo: note: look here\n"
    assert done.json["fine"] is True


def test_signals_are_as_before(run):
    import signal

    before = signal.getsignal(signal.SIGTERM)
    run("info", "cells.npz")
    assert signal.getsignal(signal.SIGTERM) is before


CLEANED = [
    ("two\nlines\tof  it", "two lines of it"),
    ("\x1b[31m", "\\x1b[31m"),
    ("[red]", "[red]"),
    ("\u202ereversed", "\\x202ereversed"),
    ("naïve 基因", "naïve 基因"),
    (ValueError("x"), "x"),
]


def test_lines_are_clean():
    for text, cleaned in CLEANED:
        assert clean(text) == cleaned


PRINTED = [
    ("pass layer= as one of 'raw'", "pass --layer as one of 'raw'"),
    ("pass format='h5ad'.", "pass --format 'h5ad'."),
    ("pass header=False if it is", "pass --no-header if it is"),
    ("out exists; pass force=True to", "out exists; pass --force to"),
    ("pass it as labels= or index=.", "pass it as --labels or --index."),
    ("n_clusters=3 is wrong", "n_clusters=3 is wrong"),
    ("by drop=['a', \"b's\"]", "by --drop 'a' --drop \"b's\""),
    ("pass index='my id'", "pass --index 'my id'"),
    ("with robust=True.", "with --robust."),
]


def test_messages_name_the_options_of_commands():
    for text, printed in PRINTED:
        assert as_options(text) == printed


def test_tables_show_few_digits_and_names_as_they_are(capsys):
    print_table(
        {
            "[b]name[/b]": ["[red]", "b\n"],
            "loss": [-1234567.89, float("nan")],
            "ARI": [0.123456, 1.0],
            "n": [3, 12],
        }
    )
    assert capsys.readouterr().out.splitlines() == [
        "[b]name[/b]        loss     ARI   n",
        "[red]        -1234567.9  0.1235   3",
        "b                             1  12",
    ]


def test_json_has_no_numbers_that_it_does_not_know(capsys):
    import numpy as np

    given = {
        "a": np.array([1.5, np.nan]),
        "b": (np.int32(3), float("inf")),
        4: Path("x"),
    }
    print_json(given)
    shown = json.loads(capsys.readouterr().out)
    assert shown == {"a": [1.5, None], "b": [3, None], "4": "x"}


def test_every_command_has_its_module():
    folder = Path(_main.__file__).parent
    modules = {path.stem for path in folder.glob("[a-z]*.py")}
    used = {place.partition(":")[0] for place in _main.COMMANDS.values()}
    assert modules == used - {"_main"}


def test_a_terminal_has_bars(tmp_path):
    threecpo.write_counts(table(), tmp_path / "cells.npz")
    arguments = ["fit", "cells.npz", "-k", "3", "--json"]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120"}
    ours, theirs = pty.openpty()
    with started(*arguments, cwd=tmp_path, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = read_all(ours)
        out = process.stdout.read()
    assert process.returncode == 0, shown
    assert re.search("Runs.*[0-9]+/[0-9]+", shown)
    assert out.startswith("{")


def read_all(terminal):
    parts = []
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(terminal)
    return b"".join(parts).decode(errors="replace")


def test_names_reach_a_terminal_as_they_are(tmp_path):
    written_csv(tmp_path / "cells.csv", columns=["[bold]a[/bold]", *"bcdefghij"])
    ours, theirs = pty.openpty()
    with started("info", "cells.csv", cwd=tmp_path, stdout=theirs) as process:
        os.close(theirs)
        shown = read_all(ours)
    assert process.returncode == 0
    assert "[bold]a[/bold], b, c" in shown


def test_parameters_of_reading_are_spelled_as_options():
    parts = [parameter("drop", ["a", "b"]), parameter("header", value=False)]
    parts += [
        parameter("triples", ["x", "y"]),
        parameter("layer"),
        parameter("scratch"),
    ]
    error = DataFormatError(" ".join([*parts, shown("\ue000")]))
    assert str(error) == (
        "drop=['a', 'b'] header=False triples=['x', 'y'] layer= scratch= '\\ue000'"
    )
    assert in_options(error) == (
        "--drop 'a' --drop 'b' --no-header --triples 'x' 'y' --layer scratch= '\\ue000'"
    )
    # A long message may be cut in a parameter.
    assert str(DataFormatError(f"use {parts[0][:-4]}")) == "use "
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
