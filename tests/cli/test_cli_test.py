"""The command test."""

import numpy as np
import pytest
from running import KINDS, ROWS, TRUE, X, assert_one_line, written_csv

from threecpo import results

LABELS = np.array(KINDS)[TRUE + 1]
BATCH = ["x" if i % 2 else "y" for i in range(len(X))]


@pytest.fixture
def metadata(tmp_path):
    """A table that lacks the last row."""
    lines = map(",".join, zip(ROWS[:-1], LABELS, BATCH, strict=False))
    (tmp_path / "about.csv").write_text("\n".join(["row,kind,site", *lines]))


@pytest.mark.parametrize("flags", [[], ["--independent"]])
def test_table_and_tree_are_those_of_the_library(flags, run):
    done = run("test", "cells.npz", *flags, "-o", "tested.csv")
    assert (done.code, done.err) == (0, "")
    expected = results.label_significance(X, LABELS, independent=bool(flags))
    kinds = {name: np.asarray(expected.table[name]).dtype for name in expected.table}
    read = results.read_table("tested.csv", kinds)
    for name, values in results.rounded_table(expected.table, 6).items():
        np.testing.assert_array_equal(read[name], values)
    assert expected.summary in done.out
    tree = done.out.split("Distinct")[0].splitlines()
    assert len(tree) == len(expected.table["node"])
    assert tree[0].startswith("p ")
    for k, name in enumerate(expected.groups):
        rows, verdict = (expected.table[each][k] for each in ("rows", "verdict"))
        assert sum(f"{name} ({rows} rows): {verdict}" in line for line in tree) == 1


def test_labels_and_batches_of_a_table_beside_the_counts(run, tmp_path, metadata):
    written_csv(tmp_path / "counts.csv")
    about = ["--metadata", "about.csv", "--only-matched", "--labels", "kind"]
    done = run("test", "counts.csv", *about, "--batch", "site", "--seed", 3, "--json")
    found = results.label_significance(
        X[:-1], LABELS[:-1], batch=BATCH[:-1], random_state=3
    )
    assert done.json["name"] == "kind"
    assert done.json["sentences"] == found.sentences
    assert done.json["linkage"] == found.linkage.tolist()
    p_values = np.array(done.json["table"]["p_value"], dtype=float)
    np.testing.assert_array_equal(p_values, found.table["p_value"])


def test_blocks_are_refused(run):
    done = run("test", "cells.npz", "--max-memory", "1GB")
    assert_one_line(done, "reads all counts into memory", "a sample of the rows")


def test_one_column_of_labels_is_needed(run, tmp_path, metadata):
    written_csv(tmp_path / "counts.csv")
    done = run("test", "counts.csv", "-o", "tested.csv")
    assert_one_line(done, "Choose one column of groups with --labels COLUMN")
    about = ["--metadata", "about.csv", "--only-matched"]
    done = run("test", "counts.csv", *about, "--labels", "kind", "--labels", "site")
    assert_one_line(done, "such as kind, site")
    written_csv(tmp_path / "one.csv", site=["x"] * len(X))
    done = run("test", "one.csv", "--labels", "site")
    assert_one_line(done, "labels 'site' has one group, 'x'", "nothing to test")
    assert not (tmp_path / "tested.csv").exists()
