"""The commands cut and merge."""

from pathlib import Path

import numpy as np
import pytest
from running import FILES, assert_one_line, beside_cells

import threecpo
from threecpo.results import read_table


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
        read_table(Path(name, "labels.csv")) for name in (new, "cells.threecpo")
    )
    assert model.n_clusters_ == 3
    np.testing.assert_array_equal(model.labels_, model.predict(table))
    np.testing.assert_array_equal(rows["cluster"], model.labels_)
    assert list(rows) == list(before)
    np.testing.assert_array_equal(rows["map_x"], before["map_x"])
    again = run("report", new)
    assert again.code == 0, again.err
    assert run("predict", new, "cells.threecpo").code == 2


def test_with_counts_it_goes_on_from_there(run):
    facts = run(
        "cut", "cells.threecpo", "-k", 3, "--counts", "cells.npz", "--json"
    ).json
    model = threecpo.load(Path(facts["output"], "model.npz"))
    assert model.record_.fine is None
    assert facts["joined_from"]["clusters"] == 5
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


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("cut", "cells.threecpo"), "one of -k and --height"),
        (("cut", "cells.threecpo", "-k", 2, "--height", 1), "one of -k and --height"),
        (("cut", "cells.threecpo", "-k", 9), "more than the 5 clusters"),
        (("cut", "cells.npz", "-k", 2), "no folder of results"),
        (("merge", "cells.threecpo", "0"), "no list of clusters"),
        (("merge", "cells.threecpo", "0,x"), "no list of clusters"),
        (("merge", "cells.threecpo", "0,9"), "9 is no cluster"),
        (("merge", "cells.threecpo"), "A,B"),
        (("merge", "nowhere", "0,1"), "no folder of results"),
    ],
)
def test_bad_input_is_one_line(arguments, text, run):
    before = sorted(Path().iterdir())
    assert_one_line(run(*arguments), text)
    assert sorted(Path().iterdir()) == before
