"""Typical mistakes in Python: a clear sentence each; its advice leads to a fit."""

import shutil
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import threecpo
from threecpo import (
    CountTable,
    ThreeCPO,
    distributed,
    read_counts,
    report,
    results,
    select_n_clusters,
    write_counts,
)
from threecpo._fit.checkpoint import _locked
from threecpo.text import count_terms

pytestmark = pytest.mark.filterwarnings("ignore:Only . of n_clusters")
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


def saved(name):
    FRAME.to_csv(name)
    return name


# What is called, the sentence, and calls that do what it advises: each leads to a fit.
IN_PYTHON = {
    "a column of text": (
        lambda: fit(FRAME.assign(name="bob")),
        r"Column 'name' of X contains 'bob', .* X\.drop\(columns=\['name'\]\)",
        lambda: fit(FRAME.assign(name="bob").drop(columns=["name"])),
    ),
    "a column of dates": (
        lambda: fit(FRAME.assign(day=pd.Timestamp("2020-01-01"))),
        "Column 'day' of X contains the date 2020-01-01",
    ),
    "names of two levels": (
        lambda: fit(pd.DataFrame(X, columns=LEVELS)),
        "names of 2 levels; join them",
        lambda: fit(pd.DataFrame(X, columns=["_".join(name) for name in LEVELS])),
    ),
    "a name twice": (
        lambda: fit(pd.DataFrame(X, columns=list("abca"))),
        "several columns called 'a'",
    ),
    "missing counts": (
        lambda: fit(FRAME.where(FRAME > 2)),
        "Drop or fill such entries first; an absent count is 0",
        lambda: fit(FRAME.where(FRAME > 2).fillna(0)),
    ),
    "the name of a file": (
        lambda: fit("sales.csv"),
        r"read the file first: threecpo\.read_counts\('sales\.csv'\)",
        lambda: fit(read_counts(saved("sales.csv"))),
    ),
    "one column": (
        lambda: fit(FRAME["a"]),
        r"X\.to_frame\(\)",
        lambda: fit(FRAME["a"].to_frame()),
    ),
    "one dimension": (
        lambda: fit(np.arange(5)),
        r"Reshape your data: X\.reshape\(1, -1\) is one row, X\.reshape\(-1, 1\) one",
        lambda: fit(np.arange(5).reshape(-1, 1)),
        lambda: fit(np.arange(5).reshape(1, -1), k=1),
    ),
    "nothing": (lambda: fit(None), "X is of type NoneType"),
    "a dict": (
        lambda: fit({"a": [1, 2]}),
        r"pandas\.DataFrame\(X\)",
        lambda: fit(pd.DataFrame({"a": [1, 2]})),
    ),
    "texts": (
        lambda: fit(["a cat", "a dog"]),
        r"threecpo\.text\.count_terms\(X\)",
        lambda: fit(count_terms(["a cat", "a dog"])),
    ),
    "numbers as text": (
        lambda: fit(X.astype(str)),
        r"X\.astype\(float\)",
        lambda: fit(X.astype(str).astype(float)),
    ),
    "counts as the number of clusters": (
        lambda: ThreeCPO(X).fit(X),
        r"n_clusters=array\(.*… must be an integer",
    ),
    "a seed of text": (
        lambda: ThreeCPO(2, random_state="lucky").fit(X),
        "random_state='lucky' is not a seed: pass an integer .*, a RandomState",
        lambda: ThreeCPO(2, random_state=7).fit(X),
        lambda: ThreeCPO(2, random_state=np.random.RandomState(7)).fit(X),
        lambda: ThreeCPO(2, random_state=np.random.default_rng(7)).fit(X),
    ),
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
        "one batch for each of the 30 rows",
    ),
    "a row without a batch": (
        lambda: fit(X, batch=[np.nan, "b"] * 15),
        "batch of row 0 is missing; give every row a batch",
        lambda: fit(X, batch=["a", "b"] * 15),
    ),
    "batches and a rule without": (
        lambda: ThreeCPO(2, assignment="paper").fit(X, batch=["a", "b"] * 15),
        "with batch= use assignment='exact'",
        lambda: ThreeCPO(2, assignment="exact").fit(X, batch=["a", "b"] * 15),
    ),
    "known names and numbers": (
        lambda: fit(X, known_labels=["a", 1] + [-1] * 28),
        "give names or numbers, and -1 where it is unknown",
        lambda: fit(X, known_labels=["a", "b"] + [-1] * 28),
        lambda: fit(X, known_labels=[0, 1] + [-1] * 28),
    ),
    "known numbers with a gap": (
        lambda: fit(X, known_labels=[0, 2] + [-1] * 28, k=3),
        "number known clusters without gaps, or give names",
        lambda: fit(X, known_labels=[0, 1] + [-1] * 28, k=3),
        lambda: fit(X, known_labels=["0", "2"] + [-1] * 28, k=3),
    ),
    "one number for a path": (
        lambda: select_n_clusters(X, 5),
        r"range\(2, 31\)",
        lambda: select_n_clusters(X, range(2, 4)).best_estimator,
    ),
    "a frame to be read": (
        lambda: read_counts(FRAME),
        "not a DataFrame: a table in memory goes to fit, or to CountTable, as it is",
        lambda: fit(FRAME),
        lambda: fit(CountTable(FRAME)),
    ),
    "a frame to be written": (lambda: write_counts(FRAME, "a.npz"), "not DataFrame"),
    "an unnamed report": (
        lambda: report.summarise(fitted(), results.row_table(fitted()), row_noun=""),
        "row_noun must be a word such as",
    ),
}


@pytest.mark.parametrize("case", IN_PYTHON)
def test_in_python(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, sentence, *advised = IN_PYTHON[case]
    with pytest.raises((ValueError, TypeError), match=sentence) as raised:
        call()
    text = str(raised.value)
    assert "\n" not in text
    assert text.endswith(".")
    (*_, last) = traceback.extract_tb(raised.value.__traceback__)
    assert last.filename.startswith(PACKAGE), "raised by somebody else"
    for follow in advised:
        assert len(follow().labels_)


def test_frames_that_are_right_stay_right():
    mixed = FRAME.astype({"a": "Int64", "b": object, "c": "Sparse[int64]", "d": "i1"})
    expected = fitted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(fit(mixed).labels_, expected.labels_)
        again = fit(pl.from_pandas(FRAME))
    np.testing.assert_array_equal(again.labels_, expected.labels_)


def test_a_polars_frame_with_a_text_column():
    frame = pl.DataFrame({"a": [1, 2], "town": ["Rome", "Oslo"]})
    with pytest.raises(
        ValueError, match=r"'town' of X contains 'Rome', .*drop\(\['town"
    ):
        fit(frame)


def checkpointed(folder, k=2, data=X):
    model = ThreeCPO(k, n_init=2, random_state=0)
    return distributed.fit(model, data, sample_rows=20, checkpoint=folder)


def cut(folder):
    content = (folder / "state.json").read_bytes()
    (folder / "state.json").write_bytes(content[:-9])


# What is done to a checkpoint, or tried with it, and the sentence.
CHECKPOINTS = {
    "another fit": ({"k": 3}, None, "name another folder, or remove it to start again"),
    "other data": ({"data": X + 1}, None, "name another folder, or remove it"),
    "damage": ({}, cut, "is damaged: .*; remove it to start again"),
}


@pytest.mark.parametrize("case", CHECKPOINTS)
def test_checkpoints_of_something_else(case, tmp_path):
    other, damaged, sentence = CHECKPOINTS[case]
    checkpointed(tmp_path / "state")
    if damaged is not None:
        damaged(tmp_path / "state")
    with pytest.raises(ValueError, match=sentence):
        checkpointed(tmp_path / "state", **other)
    if "another folder" in sentence:
        checkpointed(tmp_path / "another", **other)
    shutil.rmtree(tmp_path / "state")
    checkpointed(tmp_path / "state", **other)


def test_a_checkpoint_among_other_files(tmp_path):
    (tmp_path / "thesis.tex").write_text("all of it")
    with pytest.raises(ValueError, match="name a folder of its own"):
        checkpointed(tmp_path)
    checkpointed(tmp_path / "state")


def test_a_checkpoint_in_use(tmp_path):
    (tmp_path / "state").mkdir()
    with _locked(tmp_path / "state"):
        with pytest.raises(ValueError, match="wait for it to end, or name another"):
            checkpointed(tmp_path / "state")
        checkpointed(tmp_path / "another")
    checkpointed(tmp_path / "state")
