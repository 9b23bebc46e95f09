"""A column of batches on the command line."""

import numpy as np
import pandas as pd
import pytest
from running import runner

from threecpo import ThreeCPO, load


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    labels, batch = rng.integers(2, size=200), rng.integers(2, size=200)
    rates = np.exp(rng.normal(size=(2, 8)))
    effects = np.exp(0.7 * rng.normal(size=(2, 8)))
    X = rng.poisson(6 * rates[labels] * effects[batch])
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    frame.insert(0, "truth", [f"t{k}" for k in labels])
    frame.insert(0, "lab", [f"lab {b}" for b in batch])
    path = tmp_path / "counts.csv"
    frame.to_csv(path, index=False)
    return path, X, batch


def test_batches_are_a_column_of_the_file(table, tmp_path, capsys):
    path, X, batch = table
    target = tmp_path / "out"
    options = ["-k", "2", "--batch", "lab", "--labels", "truth", "--seed", "0"]
    done = runner(capsys)("fit", path, *options, "--no-report", "-o", target)
    assert done.code == 0
    model = load(target / "model.npz")
    expected = ThreeCPO(2, random_state=0).fit(X, batch=batch)
    assert model.loss_ == expected.loss_
    assert model.batch_names_.tolist() == ["lab 0", "lab 1"]


def test_new_rows_have_batches_too(table, tmp_path, capsys):
    path, X, batch = table
    options = ["--batch", "lab", "--labels", "truth"]
    run, target = runner(capsys), tmp_path / "out"
    run("fit", path, "-k", "2", *options, "--no-report", "-o", target)
    done = run("predict", target, path, *options, "-o", tmp_path / "new.csv")
    assert done.code == 0
    found = pd.read_csv(tmp_path / "new.csv")["cluster"].to_numpy()
    names = np.array(["lab 0", "lab 1"])[batch]
    model = load(target / "model.npz")
    assert np.array_equal(found, model.labels_)
    frame = pd.DataFrame(X, columns=model.feature_names_in_)
    scores = model.row_scores(frame, batch=names)
    assert not np.array_equal(model.row_scores(frame), scores)


def test_blocks_have_batches_beside_their_counts(table, tmp_path, capsys):
    anndata = pytest.importorskip("anndata")
    _, X, batch = table
    names = np.array(["lab 0", "lab 1"])[batch]
    index = [f"r{i}" for i in range(len(X))]
    obs = pd.DataFrame({"lab": pd.Categorical(names)}, index=index)
    anndata.AnnData(X.astype(float), obs=obs).write_h5ad(tmp_path / "counts.h5ad")
    options = ["-k", "2", "--batch", "lab", "--max-memory", "1GB", "--no-report"]
    run, target = runner(capsys), tmp_path / "out"
    done = run("fit", tmp_path / "counts.h5ad", *options, "-o", target)
    assert done.code == 0, done.err
    expected = ThreeCPO(2, random_state=0).fit(X, batch=names)
    assert load(target / "model.npz").loss_ == expected.loss_
    done = run(
        "fit", tmp_path / "counts.h5ad", "-k", "2", "--batch", "day", *options[4:]
    )
    assert done.code == 2
    assert "obs has no column 'day'" in done.err
