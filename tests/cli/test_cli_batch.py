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
