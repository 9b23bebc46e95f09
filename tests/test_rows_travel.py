"""What belongs to rows, and how a fit weighs them, through every way that takes rows.

One option of a fit a column, one public entry point a line; each cell is compared with
a result that was computed another way, or must be refused in one sentence.
"""

import functools
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from anndata import AnnData
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import threecpo.anndata
from threecpo import CountTable, ThreeCPO, distributed, load, report, results
from threecpo._fit import driver
from threecpo.cluster.fitting import fitted
from threecpo.select import select_n_clusters

N_ROWS, N_COLUMNS, N_CLUSTERS = 160, 14, 3


def _table():
    """Three clusters in columns 0 to 8, two batches in 9 and 10, one wild column."""
    rng = np.random.default_rng(7)
    labels = rng.integers(N_CLUSTERS, size=N_ROWS)
    batch = rng.integers(2, size=N_ROWS)
    rates = np.full((N_ROWS, N_COLUMNS), 3.0)
    for k in range(N_CLUSTERS):
        rates[labels == k, 3 * k : 3 * k + 3] = 12.0
    rates[batch == 1, 9:11] *= 6.0
    rates[:, 11] *= rng.gamma(0.2, 5.0, size=N_ROWS)
    sizes = rng.gamma(6.0, 1 / 6, size=N_ROWS)
    sizes[:6] *= 12.0
    return sp.csr_array(rng.poisson(rates * sizes[:, None])), labels, batch


X, TRUTH, BATCH = _table()
RNG = np.random.default_rng(3)
WEIGHTS = RNG.choice([1.0, 2.0, 3.0], size=N_ROWS)
SOME_ZERO = np.where(RNG.random(N_ROWS) < 0.2, 0.0, 1.0)
KNOWN = np.where(RNG.random(N_ROWS) < 0.3, TRUTH, -1)
# Of cluster 0 and 1 some rows are known to somebody who is wrong.
KNOWN[np.flatnonzero(KNOWN == 0)[:2]] = 1

OPTIONS = {
    "plain": ({}, {}),
    "weights": ({}, {"sample_weight": WEIGHTS}),
    "weight 0": ({}, {"sample_weight": SOME_ZERO}),
    "batch": ({}, {"batch": BATCH}),
    "known held": ({}, {"known_labels": KNOWN}),
    "known released": ({}, {"known_labels": KNOWN, "hold_labels": False}),
    "seed columns": ({"seed_columns": {"b": [3, 4], "a": [0, 1]}}, {}),
    "fixed groups": ({"fixed_groups": {0: -1, 3: 0, 11: -1}}, {}),
    "outliers": ({"outliers": "iterative"}, {}),
    "robust columns": ({"robust": {"columns": 2.0}}, {}),
    "robust rows": ({"robust": {"rows": 2.0}}, {}),
    "prior 0": ({"prior": 0.0}, {}),
}
HELD = ("known held",)

every_option = pytest.mark.parametrize("option", OPTIONS)


def estimator(option, n_clusters=N_CLUSTERS, **more):
    parameters = {"random_state": 0, "n_init": 3} | OPTIONS[option][0] | more
    return ThreeCPO(n_clusters, **parameters)


def rows_of(option):
    return OPTIONS[option][1]


@functools.cache
def fit(option):
    return estimator(option).fit(X, **rows_of(option))


def calibrating(option, *n_clusters, **more):
    """An estimator whose fits calibrate their confidence."""
    model = estimator(option, *n_clusters, **more)
    model.calibrates = True
    return model


def batch_of(option, rows=slice(None)):
    """What predict and its friends take beside the counts."""
    given = rows_of(option)
    return {"batch": given["batch"][rows]} if "batch" in given else {}


def weights_and_batch(option):
    given = rows_of(option)
    return {name: given[name] for name in ("sample_weight", "batch") if name in given}


def assert_same_fit(first, second, *, loss=True):
    """Labels, groups and all that the fit weighed its rows and columns by."""
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.column_groups_, second.column_groups_)
    np.testing.assert_array_equal(first.row_weights_, second.row_weights_)
    np.testing.assert_allclose(first.column_weights_, second.column_weights_)
    if loss:
        np.testing.assert_allclose(first.loss_, second.loss_, rtol=1e-9)


def changed(model):
    """The same fitted model with other parameters, which must change nothing."""
    other = clone(model)
    vars(other).update(vars(model))
    limits = {"columns": 1.0, "rows": 1.0}
    return other.set_params(robust=limits, outliers="final", n_init=1, prior=0.5)


def readers(n_blocks=4):
    ends = [i * N_ROWS // n_blocks for i in range(n_blocks + 1)]
    return [lambda a=a, b=b: X[a:b] for a, b in pairwise(ends)]


def dask_array():
    return da.from_array(X.toarray(), chunks=(50, -1))


# The fit itself.


@every_option
def test_the_planted_clusters_are_found(option):
    known = KNOWN < 0 if option in HELD else np.ones(N_ROWS, dtype=bool)
    assert adjusted_rand_score(TRUTH[known], fit(option).nearest_labels_[known]) > 0.9


@every_option
@pytest.mark.parametrize("name", ["predict", "predict_proba", "row_scores"])
def test_rows_are_described_one_by_one(option, name):
    method = getattr(fit(option), name)
    some = np.arange(N_ROWS)[::-3]
    found = method(X[some], **batch_of(option, some))
    np.testing.assert_allclose(found, method(X, **batch_of(option))[some], rtol=1e-12)


@every_option
def test_a_table_carries_its_rows(option):
    given = dict(rows_of(option))
    hold = given.pop("hold_labels", True)
    table = CountTable(X).with_rows(**given)
    found = estimator(option).fit(table, hold_labels=hold)
    assert_same_fit(found, fit(option))


@every_option
def test_a_fit_goes_through_a_file(option, tmp_path):
    fit(option).save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert_same_fit(again, fit(option))
    ours, theirs = fit(option).record_, again.record_
    np.testing.assert_array_equal(theirs.rows.known, ours.rows.known)
    assert theirs.settings.n_known == ours.settings.n_known
    assert again.cluster_names_.tolist() == fit(option).cluster_names_.tolist()
    first = fit(option).refine(X, **weights_and_batch(option))
    assert_same_fit(again.refine(X, **weights_and_batch(option)), first)
    assert_same_fit(clone(again).fit(X, **rows_of(option)), fit(option))


# What is done with a fit afterwards.


def without_confidence(model):
    return fitted(model, replace(model.record_, confidence=None))


@every_option
@pytest.mark.parametrize("parameters", ["same", "changed"])
def test_confidence_is_measured_as_in_the_fit(option, parameters):
    model = calibrating(option).fit(X, **rows_of(option))
    bare = without_confidence(model)
    bare = bare if parameters == "same" else changed(bare)
    found = bare.measure_confidence(X)
    assert found.temperature_ >= fit(option).temperature_
    np.testing.assert_allclose(found.temperature_, model.temperature_, rtol=1e-9)
    np.testing.assert_allclose(found.probabilities_, model.probabilities_, rtol=1e-9)


@every_option
@pytest.mark.parametrize("parameters", ["same", "changed"])
def test_refine_stays_where_the_fit_ended(option, parameters):
    model = fit(option)
    going_on = model if parameters == "same" else changed(model)
    known = {"known_labels": rows_of(option)["known_labels"]} if option in HELD else {}
    found = going_on.refine(X, **weights_and_batch(option), **known)
    assert_same_fit(found, model)


def reference(option, start, groups):
    """An ordinary fit of the same options that starts from labels and groups."""
    model = estimator(option, int(start.max()) + 1, seed_columns=None)
    model.set_params(init=start, column_init=groups)
    return model.fit(X, **weights_and_batch(option))


@every_option
@pytest.mark.parametrize("parameters", ["same", "changed"])
@pytest.mark.parametrize("step", ["cut", "merge"])
def test_joined_clusters_go_on_with_counts(option, parameters, step):
    model = fit(option)
    going_on = model if parameters == "same" else changed(model)
    found = STEPS[step](going_on, X, **weights_and_batch(option))
    joined = STEPS[step](model, None)
    if option != "robust columns":  # whose weights of columns are those of the fit
        expected = reference(option, joined.labels_, joined.column_groups_)
        assert adjusted_rand_score(found.labels_, expected.labels_) == 1.0
        np.testing.assert_allclose(found.loss_, expected.loss_, rtol=1e-9)
    np.testing.assert_array_equal(found.row_weights_, model.row_weights_)
    np.testing.assert_array_equal(found.column_weights_, model.column_weights_)


@every_option
@pytest.mark.parametrize("parameters", ["same", "changed"])
def test_a_split_is_an_ordinary_fit_of_the_same_options(option, parameters):
    model = fit(option)
    going_on = model if parameters == "same" else changed(model)
    found = going_on.split(X, 0, **weights_and_batch(option))
    assert found.n_clusters_ == N_CLUSTERS + 1
    np.testing.assert_array_equal(found.row_weights_, model.row_weights_)
    np.testing.assert_array_equal(found.column_weights_, model.column_weights_)
    again = found.refine(X, **weights_and_batch(option))
    np.testing.assert_allclose(again.loss_, found.loss_, rtol=1e-9)


@every_option
@pytest.mark.parametrize("parameters", ["same", "changed"])
def test_clear_clusters_are_stable(option, parameters):
    model = fit(option)
    going_on = model if parameters == "same" else changed(model)
    table = going_on.stability(X, n_resamples=2)
    assert np.min(table["jaccard"][:N_CLUSTERS]) > 0.75
    pd.testing.assert_frame_equal(table, model.stability(X, n_resamples=2))


@every_option
def test_more_rows_join_with_what_belongs_to_them(option):
    rows = dict(rows_of(option))
    hold = {"hold_labels": rows.pop("hold_labels", True)}
    given = {name: values[:100] for name, values in rows.items()}
    later = {name: values[100:] for name, values in rows.items()}
    model = estimator(option).fit(X[:100], **given, **hold)
    before = clone(model).fit(X[:100], **given, **hold)
    model.partial_fit(X[100:], **later)
    np.testing.assert_array_equal(model.labels_[:100], before.labels_)
    weights = rows_of(option).get("sample_weight", np.ones(N_ROWS))
    mass = (weights * model.row_weights_).sum()
    np.testing.assert_allclose(model.record_.sums.total_weight, mass)


# Paths over the number of clusters.


@every_option
def test_auto_keeps_the_fit_of_its_path(option):
    model = calibrating(option, "auto", max_clusters=5).fit(X, **rows_of(option))
    best = model.k_path_.best_estimator
    assert_same_fit(model, best)
    again = without_confidence(best).measure_confidence(X)
    np.testing.assert_allclose(model.temperature_, again.temperature_, rtol=1e-9)
    np.testing.assert_allclose(model.dispersion_, again.dispersion_, rtol=1e-9)


def without_column_limit(option):
    """Paths measure dispersions with their largest number of clusters."""
    return {"robust": None} if option == "robust columns" else {}


@every_option
def test_a_path_holds_the_fits_of_the_estimator_also_when_it_is_extended(option):
    one = estimator(option, init="poisson-k-means++", **without_column_limit(option))
    given = rows_of(option)
    path = select_n_clusters(X, [N_CLUSTERS], estimator=one, n_init=3, **given)
    path.extend(X, [N_CLUSTERS + 1])
    for k in (N_CLUSTERS, N_CLUSTERS + 1):
        alone = clone(one).set_params(n_clusters=k).fit(X, **given)
        assert_same_fit(path.estimator(k), alone)


# Blocks and Dask.


@every_option
def test_blocks_are_fitted_as_memory_is(option):
    expected = fit(option)
    found = distributed.fit(estimator(option), readers(), **rows_of(option))
    assert_same_fit(found, expected)
    for name in ("temperature_", "dispersion_", "probabilities_"):
        found_, expected_ = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(found_, expected_, rtol=1e-9, err_msg=name)


@every_option
def test_blocks_beyond_the_sample_keep_their_rows(option):
    found = distributed.fit(
        estimator(option), readers(), sample_rows=100, **rows_of(option)
    )
    known = KNOWN < 0 if option in HELD else np.ones(N_ROWS, dtype=bool)
    assert adjusted_rand_score(TRUTH[known], found.nearest_labels_[known]) > 0.9
    np.testing.assert_array_equal(found.row_weights_, fit(option).row_weights_)
    for column, group in OPTIONS[option][0].get("fixed_groups", {}).items():
        assert found.column_groups_[column] == group


@every_option
def test_a_path_over_blocks_is_that_of_memory(option):
    given = {"estimator": estimator(option), "n_init": 3, **rows_of(option)}
    wanted = [N_CLUSTERS, N_CLUSTERS + 1]
    found = distributed.select_n_clusters(readers(), wanted, **given)
    expected = select_n_clusters(X, wanted, **given)
    for k in wanted:
        assert_same_fit(found.estimator(k), expected.estimator(k))


@every_option
@pytest.mark.parametrize("name", ["predict", "predict_proba"])
def test_blocks_are_described_as_memory_is(option, name):
    model = fit(option)
    found = getattr(distributed, name)(model, readers(), **batch_of(option))
    expected = getattr(model, name)(X, **batch_of(option))
    np.testing.assert_array_equal(found, expected)


@every_option
def test_the_score_of_blocks_is_that_of_memory(option):
    given = weights_and_batch(option)
    found = distributed.score(fit(option), readers(), **given)
    np.testing.assert_allclose(found, fit(option).score(X, **given), rtol=1e-9)


@every_option
@pytest.mark.parametrize("sample_rows", [N_ROWS, 120])
def test_blocks_are_split_as_memory_is(option, sample_rows):
    given = weights_and_batch(option)
    found = distributed.split(
        fit(option), readers(), 0, sample_rows=sample_rows, **given
    )
    np.testing.assert_array_equal(found.row_weights_, fit(option).row_weights_)
    np.testing.assert_array_equal(found.column_weights_, fit(option).column_weights_)
    if sample_rows == N_ROWS:
        assert_same_fit(found, fit(option).split(X, 0, **given))


def test_known_rows_of_blocks_are_held_by_refine():
    model, known = fit("plain"), {"known_labels": KNOWN}
    expected = model.refine(X, **known)
    assert (model.labels_[KNOWN >= 0] != KNOWN[KNOWN >= 0]).any()
    np.testing.assert_array_equal(expected.labels_[KNOWN >= 0], KNOWN[KNOWN >= 0])
    step = functools.partial(driver.refit, keep_numbers=True)
    options = {"rows": known, "how": {"sample_rows": 60, "tol": 0.0}}
    found = distributed.refitted(model, readers(), step, **options)
    assert_same_fit(found, expected)


STEPS = {
    "refine": lambda model, Y, **rows: model.refine(Y, **rows),
    "cut": lambda model, Y, **rows: model.cut(2, X=Y, **rows),
    "merge": lambda model, Y, **rows: model.merge([[0, 1]], X=Y, **rows),
    "split": lambda model, Y, **rows: model.split(Y, 0, **rows),
}


@every_option
@pytest.mark.parametrize("step", ["fit", *STEPS])
def test_a_dask_array_is_taken_as_memory_is(option, step):
    if step == "fit":
        found = estimator(option).fit(dask_array(), **rows_of(option))
        assert_same_fit(found, fit(option))
        return
    given = weights_and_batch(option)
    if step == "refine" and option in HELD:
        given |= {"known_labels": KNOWN}
    model = fit(option).name_clusters(["one", "two", "three"])
    found, expected = (STEPS[step](model, Y, **given) for Y in (dask_array(), X))
    assert_same_fit(found, expected)
    if step in ("refine", "cut"):
        np.testing.assert_array_equal(found.cluster_names_, expected.cluster_names_)


# What is shown.


def neighbours_in_the_same_batch(places):
    from scipy.spatial import cKDTree

    _, near = cKDTree(places).query(places, k=11)
    return float(np.mean(BATCH[near[:, 1:]] == BATCH[:, None]))


@every_option
def test_the_map_shows_what_the_fit_sees(option):
    model = fit(option)
    places = results.row_map(model, X)
    if option == "batch":
        assert neighbours_in_the_same_batch(places) < 0.65
    table = results.row_table(model, X)
    np.testing.assert_array_equal(table["cluster"], model.labels_)
    np.testing.assert_array_equal(table["map_x"], places[:, 0])


@every_option
def test_the_report_is_of_the_fit(option, tmp_path):
    made = report.Report(fit(option), X)
    assert f"{N_ROWS} rows in {N_CLUSTERS} clusters" in repr(made)


def annotated(option):
    adata = AnnData(X.astype(np.float32))
    given = rows_of(option)
    keys = {}
    if "batch" in given:
        adata.obs["lab"], keys["batch_key"] = given["batch"].astype(float), "lab"
    if "known_labels" in given:
        adata.obs["kind"], keys["known_key"] = given["known_labels"], "kind"
        keys["hold_labels"] = given.get("hold_labels", True)
    threecpo.anndata.cluster(adata, N_CLUSTERS, n_init=3, **keys, **OPTIONS[option][0])
    return adata


@every_option
def test_an_annotated_table_is_fitted_as_an_array_is(option):
    if "sample_weight" in rows_of(option):
        pytest.skip("cells have no weights")
    adata = annotated(option)
    found = threecpo.anndata.model(adata)
    assert_same_fit(found, fit(option))
    table = CountTable(adata.X, column_names=adata.var_names)
    assert_same_fit(
        found.refine(table, **weights_and_batch(option)),
        fit(option).refine(X, **weights_and_batch(option)),
    )
    assert "clusters" in repr(threecpo.anndata.report(adata))
    parameters = found.get_params()
    for name, value in OPTIONS[option][0].items():
        assert parameters[name] == value


@every_option
def test_new_cells_are_placed_as_new_rows_are(option):
    if "sample_weight" in rows_of(option):
        pytest.skip("cells have no weights")
    adata = annotated(option)
    key = {"batch_key": "lab"} if "batch" in rows_of(option) else {}
    obs = adata.obs[["lab"]][:40] if key else None
    new = AnnData(X[:40].astype(np.float32), obs=obs)
    threecpo.anndata.predict(new, adata, **key)
    expected = fit(option).predict(X[:40], **batch_of(option, slice(40)))
    labels = new.obs["threecpo"].astype(str).replace("outlier", "-1").astype(int)
    np.testing.assert_array_equal(labels, expected)


# Names of batches.

FORMS = {
    "int": lambda codes: codes,
    "float": lambda codes: codes.astype(float),
    "float32": lambda codes: codes.astype(np.float32),
    "object": lambda codes: np.array([float(c) for c in codes], dtype=object),
    "text": lambda codes: codes.astype(str),
    "text of floats": lambda codes: np.array([f"{c}.0" for c in codes]),
    "category": lambda codes: pd.Series(codes).astype("category"),
    "list": lambda codes: codes.tolist(),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_name_of_a_batch_is_made_from_its_value_alone(form):
    model = fit("batch")
    found = model.predict(X, batch=FORMS[form](BATCH))
    np.testing.assert_array_equal(found, model.labels_)
    assert model.batch_names_.tolist() == ["0", "1"]


def test_other_rows_of_the_call_do_not_rename_a_batch():
    codes = np.where(np.arange(N_ROWS) < 80, BATCH.astype(float), 2.5)
    model = estimator("plain").fit(X, batch=codes)
    assert model.batch_names_.tolist() == ["0", "1", "2.5"]
    found = model.predict(X[:80], batch=codes[:80])
    np.testing.assert_array_equal(found, model.labels_[:80])


def test_rows_of_unknown_batches_are_counted():
    strange = np.where(np.arange(N_ROWS) < 7, "elsewhere", BATCH.astype(str))
    with pytest.warns(UserWarning, match="7 of 160 rows.*'elsewhere'"):
        fit("batch").predict(X, batch=strange)


BAD = {
    "batch": [None, np.nan, pd.NA, pd.NaT, np.inf, 1e308, ""],
    "known_labels": [np.inf, 1e308, 0.5, -3, 10**8, True],
    "sample_weight": [None, np.nan, pd.NA, pd.NaT, np.inf, 1e308, -1.0, "x"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, bad in BAD.items() for value in bad]
)
def test_a_bad_value_is_named_with_its_row(name, value):
    good = {"batch": "a", "known_labels": 0, "sample_weight": 1.0}[name]
    values = np.full(N_ROWS, good, dtype=object)
    values[5] = value
    with pytest.raises(ValueError, match=rf"{name}.*\b5\b"):
        estimator("plain").fit(X, **{name: values})


def test_rows_of_weight_0_do_not_choose_starts():
    weights = np.ones(N_ROWS)
    weights[:40] = 0.0
    model = estimator("seed columns").fit(X, sample_weight=weights)
    alone = estimator("seed columns").fit(X[40:])
    np.testing.assert_array_equal(model.labels_[40:], alone.labels_)


def test_auto_needs_no_more_rows_than_count():
    weights = np.zeros(N_ROWS)
    weights[:9] = 1.0
    model = estimator("plain", "auto").fit(X, sample_weight=weights)
    assert model.n_clusters_ <= 9


def test_rows_without_counts_have_no_cluster_after_a_cut():
    empty = sp.vstack([X, sp.csr_array((2, N_COLUMNS))]).tocsr()
    batch = np.append(BATCH, [0, 1])
    model = estimator("batch").fit(empty, batch=batch).cut(2)
    table = results.row_table(model)
    assert table["cluster"][-2:].tolist() == [-2, -2]


# The command line.

FIT = ["fit", "t.csv", "-k", 3, "--n-init", 3, "--no-report", "-o", "out"]
FLAGS = {
    "plain": [],
    "batch": ["--batch", "lab", "--drop", "kind"],
    "known held": ["--known", "kind", "--drop", "lab"],
    "seed columns": ["--seed-columns", "seeds.json"],
    "fixed groups": ["--fix-group", "c0=noise", "--fix-group", "c3=shared"],
    "outliers": ["--outliers", "iterative"],
}


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(X.toarray(), columns=[f"c{j}" for j in range(N_COLUMNS)])
    kinds = np.array(["zero", "one", "two", ""])[KNOWN]
    frame.insert(0, "kind", kinds)
    frame.insert(0, "lab", BATCH.astype(float))
    frame.insert(0, "id", [f"r{i}" for i in range(N_ROWS)])
    frame.to_csv("t.csv", index=False)
    Path("seeds.json").write_text('{"b": ["c3", "c4"], "a": ["c0", "c1"]}')
    frame.assign(lab=BATCH).drop(columns="kind").to_csv("new.csv", index=False)


def run(*arguments):
    from threecpo.cli import main

    assert main([str(each) for each in arguments]) == 0


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("option", FLAGS)
def test_commands_fit_as_the_library_does(option):
    flags = FLAGS[option]
    if "lab" not in flags:
        flags = [*flags, "--drop", "lab", "--drop", "kind"]
    if option == "fixed groups":
        flags += ["--fix-group", "c11=noise"]
    run(*FIT, *flags)
    found = load("out/model.npz")
    expected = fit(option)
    if option.startswith("known"):  # names are numbered in their order
        assert adjusted_rand_score(found.labels_, expected.labels_) == 1.0
    else:
        assert_same_fit(found, expected)
    for step, more in (("cut", ["-k", 2]), ("merge", ["0,1"])):
        run(step, "out", *more, "--counts", "t.csv", "--no-report", "-o", step)
        joined = load(f"{step}/model.npz")
        assert joined.n_clusters_ == 2
        np.testing.assert_array_equal(joined.row_weights_, found.row_weights_)
        np.testing.assert_array_equal(joined.column_weights_, found.column_weights_)


@pytest.mark.usefixtures("written")
def test_commands_know_a_batch_written_as_a_fraction():
    run(*FIT, *FLAGS["batch"])
    run("predict", "out", "new.csv", "--batch", "lab", "-o", "p.csv")
    np.testing.assert_array_equal(pd.read_csv("p.csv")["cluster"], fit("batch").labels_)
