"""``threecpo fit``: which counts of a file are clustered, and what they are called."""

import json
from pathlib import Path

import numpy as np
import pytest
from running import (
    COLUMNS,
    KINDS,
    ROWS,
    TRUE,
    X,
    assert_one_line,
    contents,
    same,
    written_csv,
)

import threecpo
from threecpo import CountTable, ThreeCPO, results
from threecpo.cli._input_file import InputFile
from threecpo.cli._result_folder import default_folder


def test_csv_and_npz_of_the_same_counts_give_the_same(run, npz, tmp_path):
    kinds = [KINDS[k + 1] for k in TRUE]
    path = written_csv(tmp_path / "cells.csv", kind=kinds)
    assert run("fit", path, "-k", 3, "--labels", "kind", "-o", "a").code == 0
    assert run("fit", npz, "-k", 3, "-o", "b").code == 0
    for name in ("columns.csv", "top_columns.csv", "model.npz"):
        assert contents("a")[name] == contents("b")[name]
    of_csv, of_npz = (
        results.read_table(f"{out}/labels.csv", results.ROWS) for out in "ab"
    )
    assert of_csv.pop("label_kind").tolist() == of_npz.pop("label").tolist()
    assert all(same(of_csv[name], of_npz[name]) for name in of_npz)
    assert list(of_csv) == list(of_npz)
    facts = [json.loads(Path(out, "run.json").read_text()) for out in "ab"]
    scores = facts[0]["agreement"]["kind"], facts[1]["agreement"]["label"]
    assert scores[0] == pytest.approx(scores[1])


def test_triples_and_a_table_turned_round(run, tmp_path):
    wide = written_csv(tmp_path / "wide.csv")
    long = ["cell,gene,count"]
    long += [
        f"{ROWS[i]},{COLUMNS[j]},{X[i, j]}" for i, j in zip(*X.nonzero(), strict=True)
    ]
    (tmp_path / "long.csv").write_text("\n".join(long))
    turned = written_csv(tmp_path / "turned.csv", X.T, COLUMNS, ROWS)
    assert run("fit", wide, "-k", 3, "-o", "a").code == 0
    assert run("fit", "long.csv", "-k", 3, "--triples", "-o", "b").code == 0
    assert run("fit", turned, "-k", 3, "--transpose", "-o", "c").code == 0
    assert contents("a")["labels.csv"] == contents("c")["labels.csv"]
    assert contents("a")["columns.csv"] == contents("c")["columns.csv"]
    a, b = (results.read_table(f"{out}/labels.csv", results.ROWS) for out in "ab")
    of_row = dict(zip(b["row"], b["cluster"], strict=True))
    assert [of_row[row] for row in a["row"]] == a["cluster"].tolist()


def test_a_layer_of_an_h5ad_file(run, tmp_path):
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(np.log1p(X.astype(float)), layers={"raw": X})
    adata.write_h5ad(tmp_path / "cells.h5ad")
    assert_one_line(run("fit", "cells.h5ad", "-k", 3), "layer", "cells.h5ad")
    assert run("fit", "cells.h5ad", "-k", 3, "--layer", "raw").code == 0
    model = ThreeCPO(3, random_state=0).fit(X)
    read = results.read_table("cells.threecpo/labels.csv", results.ROWS)
    scores = model.outlier_scores_
    np.testing.assert_allclose(read["outlier_score"], scores, rtol=1e-5)
    facts = json.loads(Path("cells.threecpo/run.json").read_text())
    assert facts["input"]["options"] == {"layer": "raw"}


@pytest.mark.parametrize(
    ("options", "n_columns"),
    [
        ([], 10),
        (["--index", 0], 10),
        (["--index", "none"], 11),
        (["--drop", "gene 3"], 9),
    ],
)
def test_row_names_may_be_chosen(options, n_columns, run, tmp_path):
    path = written_csv(tmp_path / "cells.csv", rows=[str(i) for i in range(len(X))])
    facts = run("info", path, *options, "--json").json
    assert facts["columns"] == n_columns


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("atlas.csv", "atlas.threecpo"),
        ("atlas.v2.csv", "atlas.v2.threecpo"),
        ("atlas.tsv.gz", "atlas.threecpo"),
        (".hidden.csv", ".hidden.threecpo"),
        ("sub/atlas.csv", "atlas.threecpo"),
    ],
)
def test_the_folder_is_named_after_the_file(name, folder):
    assert default_folder(Path(name)) == Path(folder)


def test_a_folder_is_hashed_by_names_and_contents(tmp_path):
    def hashed(files):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return InputFile(folder, {}).sha256()

    one = hashed({"a/1.txt": "x", "a/2.txt": "y"})
    assert one == hashed({"a/2.txt": "y", "a/1.txt": "x"})
    different = [
        {"a/1.txt": "y", "a/2.txt": "x"},
        {"a/1.txt": "x", "b/2.txt": "y"},
        {"a/1.txt": "x", "a/2.txt": "y", "a/3.txt": ""},
        {"a/1.txt": "xy", "a/2.txt": ""},
    ]
    assert len({one, *map(hashed, different)}) == 5


def test_counts_of_a_file_are_checked_once(run, tmp_path, monkeypatch):
    """What makes counts of arrays is called for the file alone."""
    from threecpo import _validation

    path = written_csv(tmp_path / "cells.csv")
    calls = []
    for name in ("from_sparse", "from_dense"):
        made = getattr(_validation, name)

        def counted(*arguments, made=made, **options):
            calls.append(made)
            return made(*arguments, **options)

        monkeypatch.setattr(_validation, name, counted)
    assert run("info", path).code == 0
    of_reading = len(calls)
    assert run("fit", path, "-k", 3, "-o", "out").code == 0
    assert len(calls) == 2 * of_reading <= 2


def test_triples_among_more_columns(run, tmp_path):
    lines = ["day,who,what,n", "1,ann,milk,2", "1,bob,bread,1", "2,ann,milk,3"]
    (tmp_path / "sales.csv").write_text("\n".join(lines))
    advice = run("info", "sales.csv", "--triples").err
    assert "--triples needs three columns, but there are 4. Pass the names of" in advice
    for given in (
        ("sales.csv", "--triples", "who", "what", "n"),
        ("--triples", "who", "what", "n", "sales.csv"),
        ("--triples", "sales.csv", "--drop", "day"),
    ):
        facts = run("info", *given, "--json").json
        assert (facts["rows"], facts["columns"], facts["total"]) == (2, 2, 6)
    done = run("fit", "sales.csv", "-k", 1, "--triples", "who", "what", "n", "-o", "c")
    assert done.code == 0, done.err


DEGENERATE = {
    "nothing": [[0]],
    "one row": [[1, 2, 3]],
    "one column": [[1], [5], [0], [7]],
    "all alike": np.full((6, 3), 4),
    "huge counts": [[2**51, 1], [3, 2**51], [1, 1]],
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_tables_go_all_the_way(name, run, tmp_path):
    threecpo.write_counts(CountTable(np.array(DEGENERATE[name])), "x.npz")
    for k in (1, "auto"):
        assert run("fit", "x.npz", "-k", k, "--force").code == 0
        assert run("predict", "x.threecpo", "x.npz").code == 0
        assert run("report", "x.threecpo").code == 0
    assert run("info", "x.npz").code == 0
    assert run("select-k", "x.npz", "--json").code == 0


HOSTILE = [
    "[bold red]gene[/]",
    "[/]",
    "<script>alert(1)</script>",
    "=1+1",
    "a,b",
    'say "hi"',
    "\u202eevil",
    "naïve 基因 🧬",
    "%s %d {x}",
    "c:\\path",
]


def test_hostile_names_come_through_as_they_are(run, tmp_path):
    path = written_csv(
        tmp_path / "cells.csv", columns=HOSTILE, rows=[f"[{i}]" for i in range(len(X))]
    )
    done = run("fit", path, "-k", 3, "-o", "out")
    assert done.code == 0, done.err
    assert results.read_table("out/columns.csv")["column"].tolist() == HOSTILE
    assert results.read_table("out/labels.csv", results.ROWS)["row"][0] == "[0]"
    assert threecpo.load("out/model.npz").feature_names_in_.tolist() == HOSTILE
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    shown = run("info", path)
    assert "[bold red]gene[/], [/]" in shown.out
