"""What is known beforehand, on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from running import COLUMNS, TRUE, X

from threecpo import ThreeCPO, load, select_n_clusters

KNOWN = np.full(len(X), "", dtype=object)
for name, k in (("moss", 2), ("fern", 0)):
    KNOWN[np.flatnonzero(k == TRUE)[:4]] = name
FRAME = pd.DataFrame(X, columns=COLUMNS)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "counts.csv"
    frame = FRAME.copy()
    frame.insert(0, "habitat", KNOWN)
    frame.to_csv(path, index=False)
    return path


def test_known_clusters_are_a_column_of_the_file(path, tmp_path, run):
    target = tmp_path / "out"
    options = ["-k", "3", "--known", "habitat", "--seed", "0"]
    done = run("fit", path, *options, "-o", target, "--json")
    assert done.code == 0
    model = load(target / "model.npz")
    expected = ThreeCPO(3, random_state=0)
    expected.fit(FRAME, known_labels=KNOWN)
    assert model.loss_ == expected.loss_
    assert model.cluster_names_[:2].tolist() == ["fern", "moss"]
    facts = json.loads((target / "run.json").read_text())
    assert facts["input"]["known"] == "habitat"
    assert facts["known"]["rows"] == 8
    assert facts["known"]["clusters"] == ["fern", "moss"]
    assert "8 rows were held in known clusters" in (target / "report.html").read_text()


def test_groups_are_given_by_name(path, tmp_path, run):
    target = tmp_path / "out"
    options = ["-k", "3", "--known", "habitat", "--fix-group", f"{COLUMNS[0]}=noise"]
    options += ["--fix-group", f"{COLUMNS[6]}=relevant"]
    done = run("fit", path, *options, "-o", target)
    assert done.code == 0
    model = load(target / "model.npz")
    assert model.column_groups_[[0, 6]].tolist() == [-1, 1]
    page = (target / "report.html").read_text()
    said = f"{COLUMNS[0]} (noise), {COLUMNS[6]} (relevant)"
    assert f"2 columns have fixed groups: {said}." in page
    done = run("fit", path, "-k", "3", "--fix-group", "reads", "-o", tmp_path / "no")
    assert done.code == 2
    assert "'reads' is not a column and its group" in done.err
    options = ["-k", "3", "--known", "habitat", "--fix-group", "reads=noise"]
    done = run("fit", path, *options, "-o", tmp_path / "no")
    assert done.code == 2
    assert "'reads' is not a column of X" in done.err


@pytest.mark.parametrize("kind", ["json", "csv", "header"])
def test_seed_columns_are_a_file(kind, path, tmp_path, run):
    seeds = {"b first": [COLUMNS[2], COLUMNS[3]], "a": [COLUMNS[0]]}
    if kind == "json":
        file = tmp_path / "seeds.json"
        file.write_text(json.dumps(seeds))
    else:
        file = tmp_path / "seeds.csv"
        lines = [f"{name},{column}" for name, each in seeds.items() for column in each]
        header = ["cluster,column"] if kind == "header" else []
        file.write_text("\n".join([*header, *lines]))
    target = tmp_path / "out"
    options = ["-k", "3", "--seed-columns", file, "--labels", "habitat"]
    done = run("fit", path, *options, "--no-report", "-o", target)
    assert done.code == 0
    model = load(target / "model.npz")
    expected = ThreeCPO(3, random_state=0, seed_columns=seeds).fit(FRAME)
    assert model.loss_ == expected.loss_
    assert model.cluster_names_[:2].tolist() == ["b first", "a"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("seeds.json", "[1]", "must hold an object"),
        ("seeds.json", "{", "does not contain seed columns"),
        ("seeds.csv", "", "does not contain seed columns"),
        ("seeds.csv", "rugby,scrum", "'scrum' is not a column of X"),
    ],
)
def test_seeds_that_are_none(name, text, words, path, tmp_path, run):
    (tmp_path / name).write_text(text)
    options = ["-k", "3", "--seed-columns", tmp_path / name, "--labels", "habitat"]
    done = run("fit", path, *options, "-o", tmp_path / "out")
    assert done.code == 2
    assert words in done.err
    assert not (tmp_path / "out").exists()


def test_the_number_of_clusters(path, run):
    options = ["--known", "habitat", "--min", "2", "--max", "4", "--json"]
    done = run("select-k", path, *options)
    expected = select_n_clusters(FRAME, range(2, 5), random_state=0, known_labels=KNOWN)
    assert done.json["best"] == expected.best_k
    np.testing.assert_allclose(done.json["path"]["total"], expected.totals, rtol=1e-12)
    done = run("select-k", path, "--known", "habitat", "--min", "1", "--max", "3")
    assert done.code == 2
    assert "n_clusters=1, but 2 clusters are known; for example, row " in done.err
    assert "is in cluster 'moss'." in done.err


def test_files_in_blocks(tmp_path, run):
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame({"type": KNOWN}, index=[f"c{i}" for i in range(len(X))])
    adata = anndata.AnnData(X.astype(np.float32), obs=obs)
    path = tmp_path / "cells.h5ad"
    adata.write_h5ad(path)
    target = tmp_path / "out"
    options = ["-k", "3", "--known", "type", "--max-memory", "1GB", "--no-report"]
    done = run("fit", path, *options, "-o", target)
    assert done.code == 0
    model = load(target / "model.npz")
    expected = ThreeCPO(3, random_state=0).fit(X, known_labels=KNOWN)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
