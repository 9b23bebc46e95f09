"""What a path tells: its table, the best fit, a line of text, progress."""

import numpy as np
import pytest
from k_paths import ALL, TRUE, Restarted, X, assert_same_path, path_of

from threecpo import KPath
from threecpo.select._poisson import label_cost


@pytest.fixture(scope="module")
def path():
    return path_of()


def test_the_table_holds_what_the_fits_say(path):
    table = path.choose("mdl").to_frame()
    assert list(table) == [
        "n_clusters",
        "found",
        "loss",
        "price",
        "v",
        "regained",
        "relevant",
        "converged",
        "total",
        "reproducibility",
        "seconds",
    ]
    models = [path.estimator(k) for k in ALL]
    assert table["n_clusters"].tolist() == list(ALL)
    assert table["found"].tolist() == [m.n_clusters_ for m in models]
    assert table["loss"].tolist() == [m.loss_ for m in models]
    relevant = [m.column_groups_ == 1 for m in models]
    assert table["relevant"].tolist() == [r.sum() for r in relevant]
    prices = [
        (m.n_clusters_ - 1) * np.log(m.shared_rates_[r]).sum()
        for m, r in zip(models, relevant, strict=True)
    ]
    np.testing.assert_allclose(table["price"], prices, rtol=1e-12)
    costs = [label_cost(m.n_clusters_, len(X)) for m in models]
    np.testing.assert_allclose(table["v"], costs, rtol=1e-14)
    np.testing.assert_array_equal(table["total"], table["loss"] + table["v"])
    np.testing.assert_array_equal(path.to_frame()["total"], path.totals)
    assert (table["seconds"] >= 0).all()


def test_without_pandas_the_table_is_a_dict(path, hide_pandas):
    frame = path.to_frame()
    hide_pandas()
    table = path.to_frame()
    assert type(table) is dict
    assert list(table) == list(frame)
    for name, values in table.items():
        np.testing.assert_array_equal(values, frame[name])


def test_the_best_fit_is_the_one_of_least_total(path):
    assert path.criterion == "mdl-dispersion"
    assert path.best_k == 3
    least = path.n_clusters[path.totals.argmin()]
    assert path.best_record is path.estimator(least).record_
    np.testing.assert_array_equal(path.best_estimator.labels_, TRUE)


def structureless(seed=0):
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(4, 0.25, size=(80, 1)) * rng.gamma(4, 2.0, size=12))


def test_the_best_k_counts_clusters_found_not_asked_for():
    too_dear = Restarted(column_penalty=lambda totals, K, n: 1e9 * (K > 1))
    path = path_of(n_clusters=[3, 4], estimator=too_dear)
    assert path.n_clusters.tolist() == [3, 4]
    assert path.to_frame()["found"].tolist() == [1, 1]
    assert path.best_k == 1
    # A tie goes to the smaller K.
    assert path.best_estimator.record_ is path.estimator(3).record_
    np.testing.assert_allclose(path.to_frame()["v"], label_cost(1, len(X)))


def test_choosing_shares_the_fits_and_leaves_the_path_alone(path):
    other = path.choose("mdl")
    assert (path.criterion, other.criterion) == ("mdl-dispersion", "mdl")
    assert all(other.estimator(k).record_ is path.estimator(k).record_ for k in ALL)
    other.extend(X, [6])
    assert 6 not in path.n_clusters
    assert_same_path(path.choose("mdl").choose("mdl-dispersion"), path)


def test_what_a_path_says():
    path = path_of()
    said = "KPath of ThreeCPO, K = 1 to 5 by 'mdl-dispersion': 3 clusters."
    assert repr(path) == said
    assert repr(path.choose("mdl")) == said.replace("mdl-dispersion", "mdl")
    assert repr(path_of(n_clusters=[1, 3])).endswith(
        "3 clusters (the end of the path: a larger K may be better)."
    )
    assert repr(path_of(structureless(), [1, 2, 3])).endswith(": no clusters found.")
    assert repr(KPath(path.fitter, "mdl")) == "KPath of ThreeCPO, empty."


def test_progress_is_told_in_lines_where_there_is_no_terminal(capsys):
    path_of(n_clusters=[2, 3, 4], verbose=1, n_jobs=1)
    told = capsys.readouterr()
    assert told.out == ""
    expected = ["Runs: 1/9 K = 2", "Runs: 4/9 K = 3", "Runs: 7/9 K = 4"]
    assert told.err.splitlines() == expected


def test_nothing_is_told_unless_asked(capsys):
    path_of(estimator=Restarted(verbose=2)).extend(X, [6])
    assert capsys.readouterr() == ("", "")
