"""Typical mistakes in commands: a clear sentence each; its advice leads to a fit."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from threecpo import CountTable, ThreeCPO, write_counts
from threecpo.cli import main

X = np.random.default_rng(0).poisson(5, (30, 4))
FRAME = pd.DataFrame(X, columns=list("abcd"))
K = ("-k", "2", "--no-report")
TOWN = ("--metadata", "few.csv", "--labels", "town")
# Arguments, the sentence, and commands that do what it advises, one after the other.
ON_THE_COMMAND_LINE = {
    "no clusters": (
        ["fit", "t.csv", "-k", "0"],
        "'0' is not an integer of 1 or more or 'auto'.",
        ["fit", "t.csv", *K],
    ),
    "a typing error in an option": (
        ["fit", "names.csv", *K, "--label", "town"],
        "No such option '--label'",
        ["fit", "names.csv", *K, "--labels", "town"],
    ),
    "results that are there already": (
        ["fit", "two.csv", *K, "-o", "two.threecpo"],
        "two.threecpo exists",
        ["fit", "two.csv", *K, "-o", "two.threecpo", "--force"],
    ),
    "a group that does not exist": (
        ["fit", "t.csv", *K, "--fix-group", "a=important"],
        "is not a column and its group, such as total_reads=noise",
        ["fit", "t.csv", *K, "--fix-group", "a=noise"],
    ),
    "neither processes nor an address": (
        ["fit", "t.h5ad", *K, "--workers", "many"],
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
        ["fit", "two.csv", *K],
        ["report", "two.threecpo"],
    ),
    "more clusters than rows": (["fit", "t.csv", "-k", "99"], "at least one row"),
    "an unknown command": (
        ["fitt", "t.csv"],
        "Did you mean 'fit'?",
        ["fit", "t.csv", *K],
    ),
    "a folder for a table": (
        ["fit", "mixed", *K],
        "name a file in it, or pass --format 'texts' to read all .txt files below it",
        ["fit", "mixed", *K, "--format", "texts"],
    ),
    "a layer of a csv": (
        ["fit", "t.csv", *K, "--layer", "raw"],
        "--layer does not apply to csv, only to 10x-h5, h5ad, zarr; leave it out",
        ["fit", "t.csv", *K],
    ),
    "a layer that is not there": (
        ["fit", "t.h5ad", *K, "--layer", "raw"],
        "pass --layer as one of 'X'",
        ["fit", "t.h5ad", *K, "--layer", "X"],
    ),
    "another kind than its name": (
        ["fit", "market.npz", *K],
        "rename it or pass --format 'mtx'",
        ["fit", "market.npz", *K, "--format", "mtx"],
    ),
    "points for two things": (
        ["fit", "t.csv", *K, "--decimal", ".", "--thousands", "."],
        "--decimal and --thousands must differ, but both are '.'",
        ["fit", "t.csv", *K, "--decimal", ".", "--thousands", ","],
    ),
    "words of a table": (
        ["fit", "reviews.csv", *K, "--max-words", "3"],
        "--max-words applies to texts, but this is a table of counts. Name a column",
        ["fit", "reviews.csv", *K, "--max-words", "3", "--text", "what"],
    ),
    "too little to unpack": (
        ["fit", "t.csv", *K, "--max-unpacked", "10B"],
        "allow more by --max-unpacked",
        ["fit", "t.csv", *K, "--max-unpacked", "1MB"],
    ),
    "a row without a batch": (
        ["fit", "batches.csv", *K, "--batch", "day"],
        "1 row of 30 without a batch in batches.csv (0): fill it in, for example",
        ["fit", "t.csv", *K, "--metadata", "names.csv", "--batch", "town"],
    ),
    "a table in blocks": (
        ["fit", "t.jsonl", *K, "--max-memory", "1GB"],
        "make it one by `threecpo convert` or threecpo.write_counts, or read all",
        ["convert", "t.jsonl", "new.csv"],
        ["fit", "new.csv", *K, "--max-memory", "1GB"],
    ),
    "names in a list of another length": (
        ["report", "two.threecpo", "--names", "three.txt"],
        "three.txt: there are 3 names for 2 clusters.",
        ["report", "two.threecpo", "--names", "utf-8.txt"],
    ),
    "known clusters that are not there": (
        ["fit", "t.csv", *K, "--known", "zebra"],
        "it has no column 'zebra' for --known. Available",
        ["fit", "batches.csv", *K, "--known", "day"],
    ),
    "a batch that is not there": (
        ["fit", "t.csv", *K, "--batch", "zebra"],
        "it has no column 'zebra' for --batch. Available",
        ["fit", "names.csv", *K, "--batch", "town"],
    ),
    "texts in blocks": (
        ["fit", "t.csv", *K, "--text", "town", "--max-memory", "1MB"],
        "--text cannot be used with --max-memory",
    ),
    "a checkpoint among other files": (
        ["fit", "t.h5ad", *K, "--checkpoint", "mixed"],
        "name a folder of its own",
        ["fit", "t.h5ad", *K, "--checkpoint", "state"],
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
        ["fit", "t.xyz", *K],
    ),
    "metadata without labels": (
        ["fit", "t.csv", *K, "--metadata", "names.csv"],
        "name the columns to take by --labels",
        ["fit", "t.csv", *K, "--metadata", "names.csv", "--labels", "town"],
    ),
    "a column less": (
        ["predict", "model.npz", "less.csv"],
        "--missing zero reads missing columns as zeros",
        ["predict", "model.npz", "less.csv", "--missing", "zero"],
    ),
    "a model that is none": (["predict", "t.csv", "t.csv"], "is not a model file"),
    "a column of names counted": (
        ["fit", "names.csv", *K],
        "--drop 'town', or compare clusters with it by --labels 'town'",
        ["fit", "names.csv", *K, "--drop", "town"],
        ["fit", "names.csv", *K, "--labels", "town", "--force"],
    ),
}


@pytest.mark.parametrize("case", ON_THE_COMMAND_LINE)
def test_on_the_command_line(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_files()
    if "two.threecpo" in ON_THE_COMMAND_LINE[case][0]:
        assert main(["fit", "two.csv", *K]) == 0
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
    Path("old").mkdir()
    Path("mixed").mkdir()
    for name in ("a.txt", "b.txt", "c.md", "d.md", "e.md"):
        Path("mixed", name).write_text("red wool")
