"""The commands cut, merge and split."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from running import FILES, assert_one_line, beside_cells

import threecpo
from threecpo.results import ROWS, read_table


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    run = beside_cells(capsys, tmp_path, monkeypatch)
    assert run("fit", "cells.npz", "-k", 5).code == 0
    return run


def test_a_cut_needs_no_counts(run):
    table = threecpo.read_counts("cells.npz")
    Path("cells.npz").unlink()
    done = run("cut", "cells.threecpo", "-k", 3)
    assert done.code == 0, done.err
    new = Path("cells-3.threecpo")
    assert {path.name for path in new.iterdir()} == FILES
    model = threecpo.load(new / "model.npz")
    rows, before = (
        read_table(Path(name, "labels.csv"), ROWS) for name in (new, "cells.threecpo")
    )
    assert model.n_clusters_ == 3
    np.testing.assert_array_equal(model.labels_, model.predict(table))
    np.testing.assert_array_equal(rows["cluster"], model.labels_)
    assert list(rows) == list(before)
    np.testing.assert_array_equal(rows["map_x"], before["map_x"])
    again = run("report", new, "--title", "Three & more", "--rows", "sites")
    assert again.code == 0, again.err
    page = (new / "report.html").read_text(encoding="utf-8")
    assert "<h1>Three &amp; more</h1>" in page
    assert 'id="colour-column"' in page  # by the counts of the fit before
    assert run("predict", new, "cells.threecpo").code == 2


def test_with_counts_it_goes_on_from_there(run):
    facts = run(
        "cut", "cells.threecpo", "-k", 3, "--counts", "cells.npz", "--json"
    ).json
    model = threecpo.load(Path(facts["output"], "model.npz"))
    assert model.record_.fine is None
    assert facts["changed_from"]["clusters"] == 5
    plain = threecpo.load("cells.threecpo/model.npz").cut(3)
    assert model.loss_ <= plain.loss_


def test_merge_joins_what_is_named(run):
    done = run("merge", "cells.threecpo", "0,3", "1,2", "-o", "m", "--no-report")
    assert done.code == 0, done.err
    before = threecpo.load("cells.threecpo/model.npz")
    merged = threecpo.load("m/model.npz")
    np.testing.assert_array_equal(
        merged.labels_, before.merge([[0, 3], [1, 2]]).labels_
    )
    assert not Path("m/report.html").exists()


def lines_of(done):
    """Origin, size and name of each new cluster, as printed."""
    assert done.code == 0, done.err
    header, *lines = done.out.splitlines()[1:]
    assert header.split()[:5] == ["new", "=", "old", "size", "name"]
    parts = [re.split(r"\s{2,}", line.strip()) for line in lines]
    return [each[1:4] for number, each in enumerate(parts) if each[0] == str(number)]


def test_old_numbers_are_printed_and_kept(run):
    before = threecpo.load("cells.threecpo/model.npz")
    done = run("merge", "cells.threecpo", "1,4", "-o", "m")
    model = threecpo.load("m/model.npz")
    origins = json.loads(Path("m/run.json").read_text())["changed_from"]["origins"]
    for new, old in enumerate(origins):
        inside = np.isin(before.labels_, old)
        np.testing.assert_array_equal(inside, model.labels_ == new)
        assert lines_of(done)[new][0] == " + ".join(map(str, old))
    assert [1, 4] in origins


def test_clusters_may_be_named_in_place_of_numbers(run):
    names = threecpo.load("cells.threecpo/model.npz").cluster_names_.tolist()
    by_name = run("merge", "cells.threecpo", f"{names[0]},{names[3]}", "-o", "a")
    by_number = run("merge", "cells.threecpo", "0,3", "-o", "b")
    assert lines_of(by_name) == lines_of(by_number)


def test_names_are_given_by_old_numbers(run):
    names = {"0": "all", "1": "all", "2": "c", "3": "d", "4": "e"}
    Path("names.json").write_text(json.dumps(names))
    given = ["--names", "names.json"]
    found = lines_of(run("merge", "cells.threecpo", "0,1", *given, "-o", "m"))
    for origin, _, name in found:
        assert name == names[origin.split()[0]]
    # The same in a list, where every line is an old cluster.
    Path("names.txt").write_text("\n".join(names.values()))
    again = run("merge", "cells.threecpo", "0,1", "--names", "names.txt", "-o", "n")
    assert lines_of(again) == found
    # Names of old clusters that stay apart must tell them apart.
    done = run("merge", "cells.threecpo", "2,3", *given, "-o", "twice")
    assert_one_line(done, "both named 'all'")
    assert not Path("twice").exists()


@pytest.mark.parametrize("more", [[], ["--counts", "cells.npz"]])
def test_given_names_stay_with_their_clusters(more, run):
    assert run("fit", "cells.npz", "-k", 3, "-o", "three").code == 0
    Path("names.txt").write_text("kind 0\nkind 1\nkind 2")
    assert run("report", "three", "--names", "names.txt").code == 0
    found = lines_of(run("merge", "three", "0,2", *more))
    assert {origin for origin, *_ in found} == {"0 + 2", "1"}
    for origin, _, name in found:
        assert (name == f"kind {origin}") == ("+" not in origin)
    found = lines_of(run("split", "three", "kind 1", *more))
    assert len(found) == 4
    assert [origin for origin, *_ in found].count("part of 1") == 2
    for origin, _, name in found:
        assert (name == f"kind {origin}") == ("part" not in origin)


def test_a_table_of_other_clusters_is_refused(run):
    assert run("merge", "cells.threecpo", "0,1", "-o", "m").code == 0
    done = run("report", "m", "--names", "cells.threecpo/clusters.csv")
    assert_one_line(done, "describes other clusters: cluster 0 has")


def test_a_split_reads_the_counts_of_the_fit_again(run):
    assert len(lines_of(run("split", "cells.threecpo", 0, "--into", 3))) == 7
    model = threecpo.load("cells-split.threecpo/model.npz")
    table = threecpo.read_counts("cells.npz")
    expected = threecpo.load("cells.threecpo/model.npz").split(table, 0, 3)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    Path("cells.npz").rename("other.npz")
    assert_one_line(
        run("split", "cells.threecpo", 2, "-o", "new"),
        "split needs the counts of the fit, and cells.npz is not there; pass --counts",
    )


def test_words_for_rows_are_remembered(run):
    assert run("report", "cells.threecpo", "--rows", "mouse").code == 0
    done = run("merge", "cells.threecpo", "0,1")
    assert done.out.startswith("155 mice in 4 clusters")
    done = run("cut", "cells-merged.threecpo", "-k", 2)
    assert done.out.startswith("155 mice in 2 clusters")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("cut", "cells.threecpo"), "either -k or --height"),
        (("cut", "cells.threecpo", "-k", 2, "--height", 1), "either -k or --height"),
        (("cut", "cells.threecpo", "-k", 9), "more than the 5 clusters"),
        (("cut", "cells.npz", "-k", 2), "is not a results folder"),
        (("merge", "cells.threecpo", "0"), "'0' is a single cluster"),
        (("merge", "cells.threecpo", "0,x"), "There is no cluster 'x'"),
        (("merge", "cells.threecpo", "0,9"), "clusters are 0 to 4, or their names"),
        (("split", "cells.threecpo", "7"), "There is no cluster '7'"),
        (("split", "cells.threecpo", "0", "--into", 500), "too few for"),
        (("split", "cells.threecpo", "0", "--counts", "no.npz"), "no.npz"),
        (("merge", "cells.threecpo"), "A,B"),
        (("merge", "nowhere", "0,1"), "is not a results folder"),
    ],
)
def test_bad_input_is_one_line(arguments, text, run):
    before = sorted(Path().iterdir())
    assert_one_line(run(*arguments), text)
    assert sorted(Path().iterdir()) == before
