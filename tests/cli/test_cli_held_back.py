"""Columns and rows held back, and transformed counts, on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from running import runner

from threecpo import ThreeCPO, load
from threecpo.preprocessing import SublinearCounts


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=120)
    X = rng.poisson(8 * np.exp(rng.normal(size=(2, 8)))[labels])
    X = np.hstack([X, rng.negative_binomial(0.3, 0.02, (120, 2))])
    X[:2] *= 9
    path = tmp_path / "counts.csv"
    pd.DataFrame(X, columns=[f"c{j}" for j in range(10)]).to_csv(path, index=False)
    return path, X


def test_what_is_held_back_is_named(table, tmp_path, capsys):
    path, X = table
    target = tmp_path / "out"
    options = ["-k", "2", "--robust"]
    done = runner(capsys)("fit", path, *options, "-o", target)
    assert done.code == 0, done.err
    model = load(target / "model.npz")
    expected = ThreeCPO(2, random_state=0, robust=True).fit(X)
    assert model.loss_ == expected.loss_
    columns = pd.read_csv(target / "columns.csv")
    assert np.allclose(columns["weight"], expected.column_weights_, rtol=1e-5)
    rows = pd.read_csv(target / "labels.csv")
    assert np.allclose(rows["weight"], expected.row_weights_)
    page = (target / "report.html").read_text("utf-8")
    assert "vary too much and are downweighted: c" in page
    assert "with many counts are downweighted" in page


def test_transformed_counts_are_said_once(table, tmp_path, capsys):
    path, X = table
    run, target = runner(capsys), tmp_path / "out"
    options = ["-k", "2", "--transform", "log1p", "--no-report"]
    done = run("fit", path, *options, "-o", target)
    assert done.code == 0
    assert "integers" not in done.err
    values = SublinearCounts("log1p", table=True).fit_transform(X)
    expected = ThreeCPO(2, random_state=0).fit(values)
    assert load(target / "model.npz").loss_ == expected.loss_
    assert json.loads((target / "run.json").read_text())["input"]["options"] == {
        "transform": "log1p"
    }
    new = tmp_path / "new.csv"
    done = run("predict", target, path, "--transform", "log1p", "-o", new)
    assert done.code == 0
    assert np.array_equal(pd.read_csv(new)["cluster"], expected.labels_)
