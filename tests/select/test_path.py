"""Paths: every fit is that of the estimator alone; arguments, tables and words."""

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from k_paths import ALL, TRUE, Restarted, X, assert_same_fit, assert_same_path, path_of

import oracle
from containers import CONTAINERS, names, planted
from paper.poisson import PoissonC, PoissonL
from threecpo import KPath, ThreeCPO, select_n_clusters
from threecpo.select._poisson import label_cost


@pytest.fixture(scope="module")
def path():
    return path_of()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [PoissonL, PoissonC])
def test_relatives_of_3cpo_have_paths(kind):
    path = path_of(estimator=kind())
    for k in ALL:
        alone = kind(k, n_init=3, random_state=0).fit(X)
        assert_same_fit(path.estimator(k), alone)
    np.testing.assert_array_equal(path.to_frame()["relevant"], X.shape[1])
    assert np.isfinite(path.totals).all()
    assert repr(path).startswith(f"KPath of {kind.__name__}, K = 1 to 5")
    with pytest.raises(ValueError, match="n_clusters='auto' must be an integer"):
        kind("auto").fit(X)


@pytest.fixture(scope="module")
def several_blocks():
    rng = np.random.default_rng(0)
    rates = rng.gamma(3.0, 0.5, size=(4, 120))
    return sp.csr_array(rng.poisson(rates[rng.integers(4, size=2500)]))


@pytest.mark.parametrize("n_init", [1, 3])
def test_the_number_of_threads_changes_no_bit(several_blocks, n_init):
    options = {"n_init": n_init, "n_clusters": (1, 3, 4)}
    estimator = Restarted(max_iter=20)
    reference = path_of(several_blocks, estimator=estimator, n_jobs=1, **options)
    path = path_of(several_blocks, estimator=estimator, n_jobs=2, **options)
    assert_same_path(path, reference)
    assert_same_path(path.choose("mdl"), reference.choose("mdl"))


def test_column_names_reach_every_fit():
    path = path_of(CONTAINERS["pandas"](X), [2, 3])
    for k in (2, 3):
        assert path.estimator(k).feature_names_in_.tolist() == names(X)


def test_extending_leaves_fits_alone_and_adds_those_of_a_longer_path(path):
    longer = path_of(n_clusters=[2, 4])
    before = {k: longer.estimator(k) for k in (2, 4)}
    assert longer.extend(X, [5, 1, 2, 3, 3]) is longer
    assert all(longer.estimator(k).record_ is before[k].record_ for k in before)
    assert_same_path(longer, path)
    assert_same_path(longer.choose("mdl"), path.choose("mdl"))
    fits = [longer.estimator(k).record_ for k in ALL]
    longer.extend(X, ALL)
    assert [longer.estimator(k).record_ for k in ALL] == fits


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_path_with_a_stateful_seed_is_extended_as_if_made_at_once(make):
    whole = path_of(random_state=make(5))
    parts = path_of(n_clusters=[3], random_state=make(5)).extend(X, ALL)
    assert_same_path(parts, whole)
    generator = make(5)
    first, second = (path_of(n_clusters=[3], random_state=generator) for _ in range(2))
    seeds = [p.estimator(3).random_state for p in (first, second)]
    assert all(type(seed) is int for seed in seeds)
    assert seeds[0] != seeds[1]


def test_a_path_without_a_seed_tells_the_one_it_drew():
    path = path_of(random_state=None, n_clusters=[4]).extend(X, [5])
    seed = path.estimator(4).random_state
    assert path.estimator(5).random_state == seed
    assert_same_path(path, path_of(random_state=seed, n_clusters=[4, 5]))


@pytest.mark.parametrize("outliers", ["iterative", "final"])
def test_dispersions_are_those_of_the_model_and_its_outliers(outliers):
    data, _ = planted(n_rows=20, n_background=20)
    path = path_of(data, [1, 3, 4], estimator=Restarted(outliers=outliers))
    for fit in path._fits.values():
        model = path.estimator(fit.n_clusters)
        labels = model.nearest_labels_ if outliers == "final" else model.labels_
        expected = oracle.dispersions(
            data + 1e-3, labels, model.column_groups_, prior=1e-3
        )
        np.testing.assert_allclose(fit.dispersions, expected.clip(1.0), rtol=1e-9)
    assert (path.estimator(3).labels_ == -1).any()


def test_the_order_and_repetitions_of_the_range_do_not_matter(path):
    assert_same_path(path_of(n_clusters=(k for k in [5, 3, 3, 1, 2, 4, 5])), path)


def test_a_path_survives_a_file(path, tmp_path):
    joblib.dump(path, tmp_path / "path.joblib")
    again = joblib.load(tmp_path / "path.joblib")
    assert_same_path(again, path)
    pd.testing.assert_frame_equal(again.to_frame(), path.to_frame())
    assert repr(again) == repr(path)
    np.testing.assert_array_equal(again.best_estimator.predict(X), TRUE)
    assert_same_path(again.extend(X, [6]), path_of(n_clusters=range(1, 7)))


def test_what_is_given_wins_over_the_estimator_which_stays_as_it_is():
    estimator = Restarted(7, n_init=9, random_state=8, n_jobs=2, max_iter=50)
    before = estimator.get_params()
    path = path_of(n_clusters=[2], estimator=estimator, n_init=4, n_jobs=1)
    found = path.estimator(2)
    assert (found.n_init, found.random_state, found.n_jobs) == (4, 0, 1)
    assert (found.n_clusters, found.max_iter) == (2, 50)
    assert len(found.restart_losses_) == 4
    assert estimator.get_params() == before
    assert not hasattr(estimator, "labels_")


def test_seed_and_threads_not_given_are_the_estimators():
    estimator = Restarted(random_state=8, n_jobs=1)
    options = {"random_state": None, "n_init": 2, "n_clusters": [4]}
    found = path_of(estimator=estimator, **options).estimator(4)
    assert (found.random_state, found.n_jobs) == (8, 1)
    assert_same_fit(found, Restarted(4, n_init=2, random_state=8).fit(X))


@pytest.mark.parametrize(("init", "n_init"), [("random-centers", 20), ("merge", 4)])
def test_the_default_is_20_runs_or_4_that_merge(init, n_init):
    path = select_n_clusters(X, [1, 2], estimator=ThreeCPO(init=init))
    assert len(path.estimator(2).restart_losses_) == n_init


BY_NAME = r"^A path over the number of clusters needs init by name: [^.]*\.$"
BAD = [
    ({"criterion": "silhouette"}, r"^criterion='silhouette' is not one of 'mdl-disp"),
    ({"n_clusters": []}, r"^n_clusters is empty; pass numbers"),
    ({"n_clusters": [2, 500]}, r"^n_samples=105 should be >= n_clusters=500: [^.]*\.$"),
    ({"n_clusters": [0, 2]}, r"^n_clusters=0 must be an integer of 1 or more\.$"),
    ({"n_clusters": [2.5]}, r"^n_clusters=2\.5 must be an integer"),
    ({"n_clusters": ["auto"]}, r"^n_clusters='auto' must be an integer"),
    ({"n_init": 0}, r"^n_init=0 must be .* 1 or more, or 'auto'\.$"),
    ({"estimator": Restarted(init=TRUE)}, BY_NAME),
    ({"estimator": Restarted(init=Restarted(3, n_init=1).fit(X))}, BY_NAME),
]


def test_bad_arguments_are_refused_in_one_clear_sentence(path):
    for options, message in BAD:
        with pytest.raises(ValueError, match=message):
            path_of(**options)
    with pytest.raises(ValueError, match=r"(?i)negative|0 or more|below 0"):
        path_of(-X)
    message = r"^K = 9 is not in this path; it has 1, 2, 3, 4, 5\.$"
    with pytest.raises(ValueError, match=message):
        path.estimator(9)
    with pytest.raises(ValueError, match=r"^criterion='aic' is not one of"):
        path.choose("aic")


def test_values_that_are_not_whole_are_warned_of_once():
    with pytest.warns(UserWarning, match="X contains values") as caught:
        path_of(X * 0.5, [1, 2, 3], n_init=1)
    assert len(caught) == 1


def test_the_table_holds_what_the_fits_say(path):
    table = path.choose("mdl").to_frame()
    assert list(table) == [
        *("n_clusters", "found", "loss", "price", "v", "regained", "relevant"),
        *("converged", "total", "reproducibility", "seconds"),
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
