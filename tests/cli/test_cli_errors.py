"""How commands end: exit codes, one line whose advice leads on, bars on terminals."""

import json
import os
import pickle
import pty
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xlsxwriter
from running import X, assert_one_line, everything, started, table, written_csv

import threecpo
from threecpo import CountTable, ThreeCPO, write_counts
from threecpo._errors import DataFormatError, parameter, shown
from threecpo.cli import _main, main
from threecpo.cli._printing import as_options, clean, in_options, print_table

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
    threecpo.ThreeCPO(2, random_state=0).fit(X).save("model.npz")
    (tmp_path / "folder").mkdir()
    if name in WRONG:
        (tmp_path / name).write_bytes(WRONG[name])
    before = everything(tmp_path)
    model = ["model.npz"] if command == "predict" else []
    assert_one_line(
        run.wrong(command, *model, name, *READING[command]),
        clean(name) if name in WRONG else "",
    )
    assert everything(tmp_path) == before


def test_a_folder_that_may_not_be_written(run):
    assert_one_line(
        run.wrong("fit", "cells.npz", "-k", 2, "-o", "/proc/nowhere/out"), "/proc"
    )


def test_a_missing_library_names_its_extra(run, monkeypatch):
    for name in ("anndata", "h5py"):
        monkeypatch.setitem(sys.modules, name, None)
    assert_one_line(
        run.wrong("convert", "cells.npz", "cells.h5ad"), "threecpo[anndata]"
    )


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
    done = run("info", "cells.npz", code=1)
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


COUNTS = np.random.default_rng(0).poisson(5, (30, 4))
FRAME = pd.DataFrame(COUNTS, columns=list("abcd"))
TWO = ("-k", "2", "--no-report")
TOWN = ("--metadata", "few.csv", "--labels", "town")
# Arguments, the sentence, and commands that do what it advises, one after the other.
ON_THE_COMMAND_LINE = {
    "no clusters": (
        ["fit", "t.csv", "-k", "0"],
        "'0' is not an integer of 1 or more or 'auto'.",
        ["fit", "t.csv", *TWO],
    ),
    "a typing error in an option": (
        ["fit", "names.csv", *TWO, "--label", "town"],
        "No such option '--label'",
        ["fit", "names.csv", *TWO, "--labels", "town"],
    ),
    "results that are there already": (
        ["fit", "two.csv", *TWO, "-o", "two.threecpo"],
        "two.threecpo exists",
        ["fit", "two.csv", *TWO, "-o", "two.threecpo", "--force"],
    ),
    "a group that does not exist": (
        ["fit", "t.csv", *TWO, "--fix-group", "a=important"],
        "is not a column and its group, such as total_reads=noise",
        ["fit", "t.csv", *TWO, "--fix-group", "a=noise"],
    ),
    "neither processes nor an address": (
        ["fit", "t.h5ad", *TWO, "--workers", "many"],
        "--workers many is neither a number nor an address",
    ),
    "a cluster that does not exist": (
        ["merge", "two.threecpo", "0,9"],
        "There is no cluster '9'; clusters are 0 to 1, or their names.",
        ["merge", "two.threecpo", "0,1"],
    ),
    "a single cluster to merge": (
        ["merge", "two.threecpo", "1"],
        "'1' is a single cluster; separate several by commas: 0,3",
        ["merge", "two.threecpo", "0,1"],
    ),
    "a file for a results folder": (
        ["report", "two.csv"],
        "two.csv is not a results folder; `threecpo fit` writes one.",
        ["fit", "two.csv", *TWO],
        ["report", "two.threecpo"],
    ),
    "more clusters than rows": (["fit", "t.csv", "-k", "99"], "at least one row"),
    "an unknown command": (
        ["fitt", "t.csv"],
        "Did you mean 'fit'?",
        ["fit", "t.csv", *TWO],
    ),
    "a folder for a table": (
        ["fit", "mixed", *TWO],
        "name a file in it, or pass --format 'texts' to read all .txt files below it",
        ["fit", "mixed", *TWO, "--format", "texts"],
    ),
    "a layer of a csv": (
        ["fit", "t.csv", *TWO, "--layer", "raw"],
        "--layer does not apply to csv, only to 10x-h5, h5ad, zarr; leave it out",
        ["fit", "t.csv", *TWO],
    ),
    "a layer that is not there": (
        ["fit", "t.h5ad", *TWO, "--layer", "raw"],
        "pass --layer as one of 'X'",
        ["fit", "t.h5ad", *TWO, "--layer", "X"],
    ),
    "another kind than its name": (
        ["fit", "market.npz", *TWO],
        "rename it or pass --format 'mtx'",
        ["fit", "market.npz", *TWO, "--format", "mtx"],
    ),
    "thousands or fractions": (
        ["info", "german.csv"],
        "Pass --thousands '.' or --decimal '.'.",
        ["info", "german.csv", "--thousands", ".", "--empty", "zero"],
    ),
    "an empty cell": (
        ["info", "german.csv", "--thousands", "."],
        "or pass --empty 'zero'.",
        ["fit", "german.csv", *TWO, "--thousands", ".", "--empty", "zero"],
    ),
    "a sheet of notes": (
        ["info", "t.xlsx"],
        "--sheet takes another: 'counts'",
        ["fit", "t.xlsx", *TWO, "--sheet", "counts"],
    ),
    "points for two things": (
        ["fit", "t.csv", *TWO, "--decimal", ".", "--thousands", "."],
        "--decimal and --thousands must differ, but both are '.'",
        ["fit", "t.csv", *TWO, "--decimal", ".", "--thousands", ","],
    ),
    "words of a table": (
        ["fit", "reviews.csv", *TWO, "--max-words", "3"],
        "--max-words applies to texts, but this is a table of counts. Name a column",
        ["fit", "reviews.csv", *TWO, "--max-words", "3", "--text", "what"],
    ),
    "a size that is none": (
        ["info", "t.csv", "--max-unpacked", "lots"],
        "must be a size such as '10GB'",
        ["info", "t.csv", "--max-unpacked", "10GB"],
    ),
    "too little to unpack": (
        ["fit", "t.csv", *TWO, "--max-unpacked", "10B"],
        "allow more by --max-unpacked",
        ["fit", "t.csv", *TWO, "--max-unpacked", "1MB"],
    ),
    "a row without a batch": (
        ["fit", "batches.csv", *TWO, "--batch", "day"],
        "1 row of 30 without a batch in batches.csv (0): fill it in, for example",
        ["fit", "t.csv", *TWO, "--metadata", "names.csv", "--batch", "town"],
    ),
    "a table in blocks": (
        ["fit", "t.jsonl", *TWO, "--max-memory", "1GB"],
        "make it one by `threecpo convert` or threecpo.write_counts, or read all",
        ["convert", "t.jsonl", "new.csv"],
        ["fit", "new.csv", *TWO, "--max-memory", "1GB"],
    ),
    "names in a list of another length": (
        ["report", "two.threecpo", "--names", "three.txt"],
        "three.txt: there are 3 names for 2 clusters.",
        ["report", "two.threecpo", "--names", "utf-8.txt"],
    ),
    "known clusters that are not there": (
        ["fit", "t.csv", *TWO, "--known", "zebra"],
        "it has no column 'zebra' for --known. Available",
        ["fit", "batches.csv", *TWO, "--known", "day"],
    ),
    "a batch that is not there": (
        ["fit", "t.csv", *TWO, "--batch", "zebra"],
        "it has no column 'zebra' for --batch. Available",
        ["fit", "names.csv", *TWO, "--batch", "town"],
    ),
    "texts in blocks": (
        ["fit", "t.csv", *TWO, "--text", "town", "--max-memory", "1MB"],
        "--text cannot be used with --max-memory",
    ),
    "a checkpoint among other files": (
        ["fit", "t.h5ad", *TWO, "--checkpoint", "mixed"],
        "name a folder of its own",
        ["fit", "t.h5ad", *TWO, "--checkpoint", "state"],
    ),
    "names in another encoding": (
        ["report", "two.threecpo", "--names", "cp1252.txt"],
        "save it as text in UTF-8",
        ["report", "two.threecpo", "--names", "utf-8.txt"],
    ),
    "a file of an unknown kind": (
        ["convert", "t.csv", "t.xyz"],
        "name one of these (write_counts by format, threecpo convert by --to)",
        ["convert", "t.csv", "t.xyz", "--to", "npz"],
        ["fit", "t.xyz", *TWO],
    ),
    "metadata without labels": (
        ["fit", "t.csv", *TWO, "--metadata", "names.csv"],
        "name the columns to take by --labels",
        ["fit", "t.csv", *TWO, "--metadata", "names.csv", "--labels", "town"],
    ),
    "a column less": (
        ["predict", "model.npz", "less.csv"],
        "--missing zero reads missing columns as zeros",
        ["predict", "model.npz", "less.csv", "--missing", "zero"],
    ),
    "a model that is none": (["predict", "t.csv", "t.csv"], "is not a model file"),
    "a column of names counted": (
        ["fit", "names.csv", *TWO],
        "--drop 'town', or compare clusters with it by --labels 'town'",
        ["fit", "names.csv", *TWO, "--drop", "town"],
        ["fit", "names.csv", *TWO, "--labels", "town", "--force"],
    ),
}


@pytest.mark.parametrize("case", ON_THE_COMMAND_LINE)
def test_on_the_command_line(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_files()
    if "two.threecpo" in ON_THE_COMMAND_LINE[case][0]:
        assert main(["fit", "two.csv", *TWO]) == 0
        capsys.readouterr()
    arguments, sentence, *advised = ON_THE_COMMAND_LINE[case]
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("threecpo: ")
    assert printed.err.count("\n") == 1
    assert sentence in printed.err
    for follow in advised:
        assert main(follow) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("limit", "clusters", "sample"),
    [
        ("1kB", ["2"], "9"),
        ("2.88kB", ["auto", "--max-clusters", "4"], "30"),
        ("3.5kB", ["2"], "30"),
    ],
)
def test_the_memory_that_is_advised_is_enough(
    limit, clusters, sample, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    write_counts(CountTable(FRAME), "t.h5ad")
    sampled = ["--no-report", "--sample-rows", sample]
    command = ["fit", "t.h5ad", *sampled, "-k", *clusters]
    assert main([*command, "--max-memory", limit]) == 2
    found = re.search(r"(?:allow|at least) ([\d.]+ k?B)", capsys.readouterr().err)
    assert main([*command, "--max-memory", found[1]]) == 0, capsys.readouterr().err


def write_files():
    FRAME.to_csv("t.csv")
    pd.concat([FRAME * [9, 1, 9, 1], FRAME]).reset_index(drop=True).to_csv("two.csv")
    FRAME.assign(town="Rome").to_csv("names.csv")
    FRAME[:9].assign(town="Rome").to_csv("few.csv")
    Path("three.txt").write_text("red\nblue\ngrey\n")
    lines = [json.dumps({"a": i % 7, "b": 9 - i}) for i in range(9)]
    Path("t.jsonl").write_text("\n".join(lines))
    FRAME.assign(day=["", *"ab" * 14, "a"]).to_csv("batches.csv")
    FRAME.drop(columns="d").to_csv("less.csv")
    for name in ("t.h5ad", "market.mtx"):
        write_counts(CountTable(FRAME), name)
    Path("market.mtx").rename("market.npz")
    Path("reviews.csv").write_text("id,what\n" + "1,red wool\n2,blue wool\n3,wool\n")
    ThreeCPO(1, random_state=0).fit(FRAME).save("model.npz")
    for encoding in ("cp1252", "utf-8"):
        Path(f"{encoding}.txt").write_text("Käse\nBär\n", encoding=encoding)
    Path("german.csv").write_text("Kunde;Brot;Milch\nAnna;1.234;\nBert;3;5\n")
    with xlsxwriter.Workbook("t.xlsx") as book:
        book.add_worksheet("notes").write_row(0, 0, ["made by", "Ann"])
        sheet = book.add_worksheet("counts")
        for at, row in enumerate((["plot", "ants"], ["p1", 3], ["p2", 5])):
            sheet.write_row(at, 0, row)
    Path("mixed").mkdir()
    for name in ("a.txt", "b.txt", "c.md", "d.md", "e.md"):
        Path("mixed", name).write_text("red wool")
