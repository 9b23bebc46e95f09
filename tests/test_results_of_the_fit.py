"""Results show what the fit used, not what parameters were set to afterwards."""

import json

import numpy as np
import pytest

from fitting import X, fit
from threecpo import load, plot, report, results

LATER = {
    "outlier_threshold": 5.0,
    "outliers": None,
    "column_penalty": None,
    "prior": 0.5,
    "n_clusters": 9,
    "groups": (1,),
    "random_state": 99,
}
MADE = {
    "rows": lambda model: results.row_table(model, X),
    "columns": results.column_table,
    "top columns": results.top_table,
    "clusters": results.cluster_table,
    "new rows": lambda model: results.predicted_rows(model, X[:9]),
    "facts": results.fit_facts,
    "summary": lambda model: report.summarise(model, results.row_table(model, X)),
}


def content(made):
    """All bits of a table or dict, as text."""
    return json.dumps(made, default=lambda array: [str(array.dtype), *array.tolist()])


@pytest.fixture
def model():
    return fit(outliers="final", outlier_threshold=1.0, n_init=2)


def test_set_params_changes_no_result(model, tmp_path):
    for make in MADE.values():
        before = content(make(model))
        model.set_params(**LATER)
        assert content(make(model)) == before
        model.save(tmp_path / "model.npz")
        assert content(make(load(tmp_path / "model.npz"))) == before


def test_set_params_changes_no_file(model, tmp_path):
    report.write(model, X, tmp_path / "before.html", title="the same")
    results.write_table(results.row_table(model, X), tmp_path / "before.csv")
    model.set_params(**LATER)
    report.write(model, X, tmp_path / "after.html", title="the same")
    results.write_table(results.row_table(model, X), tmp_path / "after.csv")
    for kind in ("html", "csv"):
        before, after = (tmp_path / f"{when}.{kind}" for when in ("before", "after"))
        assert before.read_bytes() == after.read_bytes()


def test_the_report_lists_the_parameters_of_the_fit(model):
    model.set_params(**LATER)
    summary = report.summarise(model, results.row_table(model))
    listed = dict(summary["parameters"])
    assert listed["outlier_threshold"] == "1"
    assert listed["column_penalty"] == "mdl"
    assert listed["outliers"] == "final"
    assert listed["n_clusters"] == "3"
    assert listed["groups"] == "1, 0, -1"
    assert summary["outliers"]["threshold"] == 1.0
    assert summary["outliers"]["above"] == summary["outliers"]["marked"]


def test_a_figure_has_the_threshold_of_the_fit(model):
    pytest.importorskip("matplotlib").use("Agg")
    model.set_params(**LATER)
    ax = plot.outliers(model)
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), [1.0, 1.0])
    beyond = [bar.get_height() for bar in ax.patches if bar.get_hatch()]
    assert sum(beyond) == (model.labels_ < 0).sum() > 0


def test_a_finished_path_does_not_change(tmp_path):
    model = fit(n_clusters="auto", max_clusters=4, n_init=2)
    before = content(results.path_table(model.k_path_))
    report.write(model, X, tmp_path / "before.html")
    model.k_path_.estimator(3).set_params(column_penalty=None)
    model.k_path_.best_estimator.set_params(column_penalty=None)
    model.set_params(column_penalty=None)
    assert content(results.path_table(model.k_path_)) == before
    report.write(model, X, tmp_path / "after.html")
    pages = [(tmp_path / f"{when}.html").read_bytes() for when in ("before", "after")]
    assert pages[0] == pages[1]
