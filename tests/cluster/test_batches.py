"""Fits with batches: what differs between batches makes no cluster."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import oracle_batches
from fitting import blocks_of
from paper.poisson import PoissonC
from threecpo import CountTable, ThreeCPO, distributed, load
from threecpo._fit.starting import place_of
from threecpo.cluster.fitting import as_table


def planted(seed=0, n_batches=2, n_rows=400, effect=0.8):
    """Counts with clusters, columns of all groups, and an effect of each batch."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n_rows)
    batches = rng.choice(n_batches, n_rows, p=rng.dirichlet(np.full(n_batches, 3.0)))
    rates = np.tile(rng.gamma(1.0, 1.0, 30), (3, 1))
    rates[:, :10] *= np.exp(0.9 * rng.normal(size=(3, 10)))
    effects = np.exp(effect * rng.normal(size=(n_batches, 30)))
    mu = rng.gamma(5.0, 1.0, n_rows)[:, None] * rates[labels] * effects[batches]
    mu[:, 20:] = 5.0 * rates[0, 20:] * effects[batches][:, 20:]
    return rng.poisson(mu), labels, np.array(["lab a", "lab b", "lab c"])[batches % 3]


@pytest.fixture(scope="module")
def data():
    return planted()


@pytest.fixture(scope="module")
def fitted(data):
    X, _, batch = data
    return ThreeCPO(3, random_state=0).fit(X, batch=batch)


def test_clusters_are_those_of_the_rows_not_of_the_batches(data, fitted):
    X, labels, batch = data
    plain = ThreeCPO(3, random_state=0).fit(X)
    assert adjusted_rand_score(batch, plain.labels_) > 0.3
    assert adjusted_rand_score(labels, fitted.labels_) > 0.95
    assert abs(adjusted_rand_score(batch, fitted.labels_)) < 0.02


def test_predict_gives_the_labels_again_for_any_part_of_the_rows(data, fitted):
    X, labels, batch = data
    np.testing.assert_array_equal(fitted.predict(X, batch=batch), fitted.labels_)
    part = np.arange(7, 90, 3)
    np.testing.assert_array_equal(
        fitted.predict(X[part], batch=batch[part]), fitted.labels_[part]
    )
    unknown = fitted.predict(X)
    assert adjusted_rand_score(labels, unknown) > 0.5
    new = np.full(len(part), "lab z")
    with pytest.warns(UserWarning, match="28 of 28 rows come from batches"):
        found = fitted.predict(X[part], batch=new)
    np.testing.assert_array_equal(found, unknown[part])
    assert fitted.score(X, batch=batch) == pytest.approx(-fitted.loss_, rel=1e-9)


def test_one_batch_is_none_bit_for_bit(data):
    X, *_ = data
    plain = ThreeCPO(3, random_state=0).fit(X)
    one = ThreeCPO(3, random_state=0).fit(X, batch=["only"] * len(X))
    assert one.loss_ == plain.loss_
    np.testing.assert_array_equal(one.labels_, plain.labels_)
    np.testing.assert_array_equal(one.predict(X, batch=["x"] * len(X)), plain.labels_)


def test_effects_are_those_that_were_planted():
    X, _, batch = planted(seed=3, effect=0.0)
    X = X.copy()
    X[batch == "lab a", 4] *= 4
    model = ThreeCPO(3, random_state=0).fit(X, batch=batch)
    effects = model.batch_effects_
    ratio = effects[0] / effects[1]
    ratio /= np.median(ratio)
    assert ratio[4] == pytest.approx(4, rel=0.2)
    others = np.delete(ratio, 4)[np.delete(model.column_groups_, 4) != -1]
    assert np.median(np.abs(np.log(others))) < 0.1
    table = model.batch_columns(1)
    assert table["column"][0] == 4
    assert table["batch"][0] == "lab a"


def random_fit(seed):
    """A small fit with awkward data and options."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = rng.integers(5, 30), rng.integers(1, 8)
    n_clusters = int(rng.integers(1, 5))
    X = rng.poisson(rng.gamma(0.5, 4.0, (n_rows, n_columns))).astype(float)
    X[rng.integers(n_rows)] = 0
    init = rng.integers(n_clusters, size=n_rows)
    init[:n_clusters] = np.arange(n_clusters)
    groups = [(1, 0, -1), (1, 0), (1, -1), (1,)]
    model = ThreeCPO(
        n_clusters,
        init=init if rng.random() < 0.5 else "merge",
        n_init=2,
        column_penalty=[None, "mdl", "bic"][rng.integers(3)],
        outliers=[None, "iterative", "final"][rng.integers(3)],
        prior=[1e-3, 0.0, 1.0][rng.integers(3)],
        groups=groups[rng.integers(4)],
        random_state=0,
        n_jobs=1,
    )
    return model.fit(X, batch=rng.integers(rng.integers(2, 5), size=n_rows))


@pytest.mark.filterwarnings("ignore")
def test_the_loss_never_rises():
    for seed in range(60):
        losses = random_fit(seed).history_["loss"]
        assert (np.diff(losses) <= 1e-9 * (1 + np.abs(losses[1:]))).all(), seed


def test_clusters_that_share_no_batch_are_named():
    rng = np.random.default_rng(0)
    X = rng.poisson([[20, 2, 5, 5]] * 30 + [[2, 20, 5, 5]] * 30)
    batch = np.repeat(["x", "y"], 30)
    init = np.repeat([0, 1], 30)
    with pytest.warns(UserWarning, match=r"2 parts .* cluster 0 in batch 'x' \(30 row"):
        ThreeCPO(2, init=init, groups=(1,), column_penalty=None).fit(X, batch=batch)


@pytest.mark.parametrize(
    "model", [ThreeCPO(3, assignment="paper"), PoissonC(3)], ids=repr
)
def test_rules_that_know_no_batches_say_so(data, model):
    X, _, batch = data
    with pytest.raises(ValueError, match="does not support batches"):
        model.fit(X, batch=batch)


def test_bad_batches_are_refused(data, fitted):
    X, _, batch = data
    with pytest.raises(ValueError, match="one batch for each of the 400 rows"):
        ThreeCPO(3).fit(X, batch=batch[:-1])
    with pytest.raises(ValueError, match="fitted without batch"):
        ThreeCPO(3, random_state=0, n_init=1).fit(X).predict(X, batch=batch)


def test_a_fit_without_clusters_in_a_batch_of_outliers_ends():
    rng = np.random.default_rng(2)
    X = rng.poisson(5.0, (40, 6))
    X[:4] = rng.poisson([0.1, 90.0, 0.1, 0.1, 90.0, 0.1], (4, 6))
    batch = np.repeat(["odd", "even"], [4, 36])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ThreeCPO(2, outliers="iterative", random_state=0).fit(X, batch=batch)
    assert np.isfinite(model.loss_)


def assert_joined_in_batches(model, X, batch, tmp_path):
    """Predict, loss, scales and file of a fit with batches and joined clusters."""
    prior, labels = model.record_.settings.prior, model.labels_
    codes = np.unique(batch, return_inverse=True)[1]
    np.testing.assert_array_equal(model.predict(X, batch=batch), labels)
    of_rates, groups = model.record_.labels_of_rates, model.column_groups_
    loss = oracle_batches.loss(X + prior, of_rates, groups, codes, model.column_penalty)
    assert model.loss_ == pytest.approx(loss, rel=1e-7)
    assert model.score(X, batch=batch) == pytest.approx(-model.loss_, rel=1e-9)
    counts = model.record_.in_batches(CountTable(X).with_rows(batch=batch).counts)
    scales = model.record_.describe(counts).row_scales
    np.testing.assert_allclose(model.row_scales_, scales, rtol=1e-9)
    model.save(tmp_path / "joined.npz")
    again = load(tmp_path / "joined.npz")
    np.testing.assert_array_equal(again.predict(X, batch=batch), labels)
    assert again.loss_ == model.loss_
    assert again.score(X, batch=batch) == model.score(X, batch=batch)
    np.testing.assert_array_equal(again.tree_, model.tree_)


@pytest.mark.parametrize("outliers", [None, "iterative", "final"])
def test_cut_and_merge_keep_the_promises(outliers, tmp_path):
    X, _, batch = planted(n_rows=150)
    model = ThreeCPO(4, random_state=0, outliers=outliers).fit(X, batch=batch)
    readers = blocks_of(X, 43)
    blocks = ThreeCPO(4, random_state=0, outliers=outliers, n_jobs=2)
    distributed.fit(blocks, readers, batch=batch)
    joins = [
        lambda model: model.cut(1),
        lambda model: model.merge([[0, 3]]),
        lambda model: model.cut(3).cut(2),
    ]
    for join in joins:
        joined, other = join(model), join(blocks)
        assert_joined_in_batches(joined, X, batch, tmp_path)
        assert joined.loss_ == other.loss_
        for name in ("labels_", "column_groups_", "probabilities_"):
            assert getattr(joined, name).tobytes() == getattr(other, name).tobytes()
        found = joined.probabilities_
        own = found[np.arange(len(X)), joined.nearest_labels_]
        assert (own >= found.max(axis=1)).all()


def test_cut_and_split_go_on_with_the_batches(tmp_path):
    X, _, batch = planted(n_rows=150)
    model = ThreeCPO(4, random_state=0).fit(X, batch=batch)
    refined = model.cut(3, X=X, batch=batch)
    assert refined.loss_ <= model.cut(3).loss_ + 1e-6
    assert refined.batch_names_.tolist() == model.batch_names_.tolist()
    assert_joined_in_batches(refined, X, batch, tmp_path)
    for step in (lambda: model.cut(2, X=X), lambda: model.split(X, 0)):
        with pytest.raises(ValueError, match="fitted with batch="):
            step()


def test_a_start_knows_batches_by_their_names(data, fitted):
    X, _, batch = data
    plain = ThreeCPO(3, random_state=0).fit(X)
    more = np.where(np.arange(400) < 10, "lab 0", batch)  # others move up by one
    counts = as_table(X, batch=more).counts
    for start in (plain, fitted):
        placed = place_of(start.record_, start.record_.settings)(counts)
        np.testing.assert_array_equal(placed[10:], start.labels_[10:])
    unknown = fitted.predict(X[:10])
    np.testing.assert_array_equal(placed[:10], unknown)
    many = as_table(X, batch=np.arange(400)).counts
    placed = place_of(fitted.record_, fitted.record_.settings)(many)
    np.testing.assert_array_equal(placed, fitted.predict(X))
