"""Typical mistakes, in Python and on the command line: one clear sentence each."""

import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import threecpo
from threecpo import (
    CountTable,
    ThreeCPO,
    load,
    read_counts,
    report,
    results,
    select_n_clusters,
    write_counts,
)
from threecpo.cli import main

X = np.random.default_rng(0).poisson(5, (30, 4))
FRAME = pd.DataFrame(X, columns=list("abcd"))
LEVELS = pd.MultiIndex.from_product([["x", "y"], ["a", "b"]])
PACKAGE = str(Path(threecpo.__file__).parent)


def fit(data, **options):
    return ThreeCPO(options.pop("k", 2), random_state=0).fit(data, **options)


def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(FRAME)


IN_PYTHON = {
    "a column of text": (
        lambda: fit(FRAME.assign(name="bob")),
        r"Column 'name' of X holds 'bob', .* X\.drop\(columns=\['name'\]\)",
    ),
    "a column of dates": (
        lambda: fit(FRAME.assign(day=pd.Timestamp("2020-01-01"))),
        "Column 'day' of X holds the date 2020-01-01",
    ),
    "a column of durations": (
        lambda: fit(FRAME.assign(span=pd.Timedelta(1, "h"))),
        "Column 'span' of X holds Timedelta",
    ),
    "a column of categories": (
        lambda: fit(FRAME.assign(kind=pd.Categorical(["u", "v"] * 15))),
        "Column 'kind' of X holds 'u'",
    ),
    "a column of lists": (
        lambda: fit(FRAME.assign(many=[[1]] * 30)),
        r"Column 'many' of X holds \[1\]",
    ),
    "names of two levels": (
        lambda: fit(pd.DataFrame(X, columns=LEVELS)),
        "names of 2 levels; join them",
    ),
    "a name twice": (
        lambda: fit(pd.DataFrame(X, columns=list("abca"))),
        "several columns called 'a'",
    ),
    "missing counts": (lambda: fit(FRAME.where(FRAME > 2)), "an absent count is 0"),
    "the name of a file": (
        lambda: fit("sales.csv"),
        r"read the file first: threecpo\.read_counts\('sales\.csv'\)",
    ),
    "a path": (lambda: fit(Path("sales.csv")), "read the file first"),
    "one column": (lambda: fit(FRAME["a"]), r"X\.to_frame\(\)"),
    "one dimension": (lambda: fit(np.arange(5)), "Reshape your data"),
    "nothing": (lambda: fit(None), "X is of type NoneType"),
    "a dict": (lambda: fit({"a": [1, 2]}), r"pandas\.DataFrame\(X\)"),
    "a generator": (lambda: fit(row for row in X), "X is of type generator"),
    "texts": (lambda: fit(["a cat", "a dog"]), r"threecpo\.text\.count_terms\(X\)"),
    "numbers as text": (lambda: fit(X.astype(str)), r"X\.astype\(float\)"),
    "dates": (lambda: fit(X.astype("datetime64[D]")), "X holds dates"),
    "rows of two lengths": (lambda: fit([[1, 2], [3]]), "row 1 has 1"),
    "negative numbers": (lambda: fit(X - 9), "row 0, column 0 holds -6"),
    "more clusters than rows": (lambda: fit(X, k=99), "at least one row"),
    "half a cluster": (lambda: fit(X, k=2.5), "n_clusters=2.5 must be a whole number"),
    "counts as the number of clusters": (
        lambda: ThreeCPO(X).fit(X),
        r"n_clusters=array\(.*… must be a whole number",
    ),
    "a seed of text": (
        lambda: ThreeCPO(2, random_state="lucky").fit(X),
        "random_state='lucky' is no seed",
    ),
    "a seed below 0": (lambda: ThreeCPO(2, random_state=-1).fit(X), "is no seed"),
    "an unknown start": (
        lambda: ThreeCPO(2, init="kmeans").fit(X),
        "init='kmeans' is not one of",
    ),
    "weights of other rows": (
        lambda: fit(X, sample_weight=[1, 2]),
        "one weight for each row",
    ),
    "batches of other rows": (
        lambda: fit(X, batch=["a"]),
        "one code for each of the 30 rows",
    ),
    "one number for a path": (lambda: select_n_clusters(X, 5), r"range\(2, 31\)"),
    "a frame to be read": (lambda: read_counts(FRAME), "not a DataFrame"),
    "a file that is not there": (lambda: read_counts("no.csv"), "does not exist"),
    "a file that is no model": (lambda: load(__file__), "is not a model file"),
    "a frame to be written": (lambda: write_counts(FRAME, "a.npz"), "not DataFrame"),
    "an unknown suffix": (
        lambda: write_counts(CountTable(X), "a.foo"),
        "choose another suffix",
    ),
    "too few names": (
        lambda: CountTable(X, column_names=["a"]),
        "has 1 names, but X has 4 columns",
    ),
    "labels of other rows": (
        lambda: results.agreement([0, 1], [0]),
        "one of each for every row",
    ),
    "more clusters than there are": (
        lambda: fitted().cut(9),
        "more than the . clusters of this model",
    ),
    "no columns": (lambda: fitted().top_columns(0), "n=0 must be a whole number"),
    "a file name for predict": (lambda: fitted().predict("new.csv"), "read the file"),
    "an unnamed report": (
        lambda: report.summarise(
            fitted(), results.row_table(fitted()), called={"x": 1}
        ),
        "called must give words",
    ),
}


@pytest.mark.parametrize("case", IN_PYTHON)
def test_in_python(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, sentence = IN_PYTHON[case]
    with pytest.raises((ValueError, TypeError), match=sentence) as raised:
        call()
    text = str(raised.value)
    assert "\n" not in text
    assert text.endswith(".")
    (*_, last) = traceback.extract_tb(raised.value.__traceback__)
    assert last.filename.startswith(PACKAGE), "raised by somebody else"


ON_THE_COMMAND_LINE = {
    "no number of clusters": (["fit", "t.csv"], "Missing option '-k'"),
    "a number in words": (["fit", "t.csv", "-k", "two"], "nor 'auto'"),
    "no clusters": (["fit", "t.csv", "-k", "0"], "whole number of 1 or more"),
    "more clusters than rows": (["fit", "t.csv", "-k", "99"], "at least one row"),
    "a file that is not there": (["fit", "no.csv", "-k", "2"], "does not exist"),
    "no file": (["fit", "-k", "2"], "Missing argument 'FILE'"),
    "an unknown command": (["cluster", "t.csv"], "No such command 'cluster'"),
    "an unknown option": (["fit", "t.csv", "-k", "2", "--sede", "1"], "--sede"),
    "an unknown column": (
        ["fit", "t.csv", "-k", "2", "--drop", "zebra"],
        "zebra",
    ),
    "a folder for a table": (["fit", ".", "-k", "2"], "folder"),
    "labels that are not there": (
        ["fit", "t.csv", "-k", "2", "--labels", "zebra"],
        "zebra",
    ),
    "a layer of a csv": (["info", "t.csv", "--layer", "raw"], "--layer"),
    "a model that is none": (["predict", "t.csv", "t.csv"], "is not a model file"),
    "no model": (["predict", "no.threecpo", "t.csv"], "no.threecpo"),
    "results that are there": (["fit", "t.csv", "-k", "2", "-o", "old"], "--force"),
    "a report of no results": (["report", "."], "no folder of results"),
    "a share in words": (
        ["fit", "t.csv", "-k", "2", "--hold-out-deepest", "few"],
        "such as 5% or 0.05",
    ),
    "a column of names counted": (["fit", "names.csv", "-k", "2"], "--drop 'town'"),
}


@pytest.mark.parametrize("case", ON_THE_COMMAND_LINE)
def test_on_the_command_line(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("t.csv")
    FRAME.assign(town="Rome").to_csv("names.csv")
    Path("old").mkdir()
    arguments, sentence = ON_THE_COMMAND_LINE[case]
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("threecpo: ")
    assert printed.err.count("\n") == 1
    assert sentence in printed.err


def test_frames_that_are_right_stay_right():
    mixed = FRAME.astype({"a": "Int64", "b": object, "c": "Sparse[int64]", "d": "i1"})
    expected = fitted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(fit(mixed).labels_, expected.labels_)
        polars = pytest.importorskip("polars")
        again = fit(polars.from_pandas(FRAME))
    np.testing.assert_array_equal(again.labels_, expected.labels_)


def test_a_polars_frame_with_a_text_column():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, 2], "town": ["Rome", "Oslo"]})
    with pytest.raises(ValueError, match=r"'town' of X holds 'Rome', .*drop\(\['town"):
        fit(frame)
