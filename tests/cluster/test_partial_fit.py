"""Rows that arrive after a fit, and the ordinary fit that refine makes of all."""

import numpy as np
import pytest

import oracle
from fitting import X, blocks_of
from threecpo import CountTable, ThreeCPO, distributed, load

FIRST, REST = X[:90], X[90:]


def model(n_clusters=3, **options):
    return ThreeCPO(n_clusters, **{"random_state": 0, "n_init": 3} | options)


@pytest.fixture
def fitted():
    return model().fit(FIRST)


def test_rows_join_by_the_present_profile(fitted):
    before, expected = fitted.labels_.copy(), fitted.predict(REST)
    scores = fitted.predict_proba(REST)
    assert fitted.partial_fit(REST) is fitted
    np.testing.assert_array_equal(fitted.labels_, np.append(before, expected))
    np.testing.assert_array_equal(fitted.probabilities_[90:], scores)
    for name in ("nearest_labels_", "outlier_scores_", "margins_", "row_scales_"):
        assert len(getattr(fitted, name)) == len(X)


def test_sums_and_loss_are_those_of_all_rows(fitted):
    fitted.partial_fit(REST[:20]).partial_fit(REST[20:])
    labels, groups = fitted.labels_, fitted.column_groups_
    sums = np.stack([X[labels == k].sum(axis=0) for k in range(3)])
    np.testing.assert_array_equal(fitted.record_.sums.clusters, sums)
    expected = oracle.loss(X + 1e-3, labels, groups, "mdl")
    assert fitted.loss_ == pytest.approx(expected, rel=1e-12)
    own = fitted.column_scores_[np.arange(10), groups + 1]
    assert fitted.loss_ == pytest.approx(-own.sum(), rel=1e-12)
    assert fitted.history_["loss"][-1] == fitted.loss_
    assert fitted.history_["rows_moved"][-2:].tolist() == [20, len(REST) - 20]


def test_columns_move_between_relevant_and_shared():
    """Columns 0 and 1 are mixed alike in the first rows, and apart in the others."""
    rng = np.random.default_rng(0)
    rates = np.array([[8.0, 8, 30, 2, 9], [8, 8, 2, 30, 9]])
    later = np.array([[15.0, 1, 30, 2, 9], [1, 15, 2, 30, 9]])
    kinds = rng.integers(2, size=400)
    Y = rng.poisson(np.where(np.arange(400)[:, None] < 60, rates[kinds], later[kinds]))
    found = ThreeCPO(2, random_state=0).fit(Y[:60])
    assert (found.column_groups_[:2] < 1).all()
    inside = found.column_groups_ != -1
    found.partial_fit(Y[60:])
    np.testing.assert_array_equal(found.column_groups_ != -1, inside)
    moved = inside[:2]
    assert (found.column_groups_[:2][moved] == 1).all()
    assert found.refine(Y).column_groups_[:2].tolist() == [1, 1]


def test_refine_is_an_ordinary_fixed_point(fitted):
    fitted.partial_fit(REST)
    refined = fitted.refine(X)
    assert refined.loss_ <= fitted.loss_
    again = ThreeCPO(3, init=refined.labels_, column_init=refined.column_groups_)
    assert again.fit(X).loss_ == pytest.approx(refined.loss_, rel=1e-12)
    np.testing.assert_array_equal(refined.predict(X), refined.labels_)
    assert refined.record_.rows.known is None
    assert refined.record_.converged
    assert len(refined.drift_) == 0


def test_refine_keeps_numbers_and_names(fitted):
    named = fitted.name_clusters(["a", "b", "c"])
    # Sizes turn round: the smallest cluster gets most of the new rows.
    more = X[fitted.predict(X) == 2]
    everything = np.vstack([FIRST, np.repeat(more, 5, axis=0)])
    named.partial_fit(everything[90:])
    refined = named.refine(everything)
    assert refined.cluster_names_.tolist() == ["a", "b", "c"]
    sizes = np.bincount(refined.labels_)
    assert sizes[2] == sizes.max()
    assert (refined.labels_ == named.labels_).mean() > 0.95


def test_drift(fitted):
    assert len(fitted.drift_) == 0
    mixed = np.tile(X.sum(axis=0) // 60, (20, 1))
    fitted.partial_fit(REST).partial_fit(mixed)
    expected = (fitted.outlier_scores_[90 : len(X)] > 0).mean()
    assert fitted.drift_[0] == expected
    assert fitted.drift_[1] == 1.0


def test_weights_count_as_often(fitted):
    weights = np.arange(len(REST)) % 3
    twin = model().fit(FIRST)
    fitted.partial_fit(REST, sample_weight=weights)
    twin.partial_fit(np.repeat(REST, weights, axis=0))
    assert len(fitted.labels_) == len(X)
    assert fitted.record_.sums.total_weight == twin.record_.sums.total_weight
    np.testing.assert_array_equal(fitted.record_.sums.table, twin.record_.sums.table)
    assert fitted.loss_ == pytest.approx(twin.loss_, rel=1e-12)


def test_batches():
    batch = np.array(["x", "y"])[np.arange(len(X)) % 2]
    found = model().fit(FIRST, batch=batch[:90])
    found.partial_fit(REST, batch=batch[90:])
    for b, name in enumerate("xy"):
        cells = found.record_.sums.by_batch[:3, b]
        own = [(found.labels_ == k) & (batch == name) for k in range(3)]
        np.testing.assert_array_equal(cells, [X[rows].sum(axis=0) for rows in own])
    with pytest.raises(ValueError, match="batch of row 2 was not in the fit"):
        found.partial_fit(REST[:3], batch=["x", "y", "z"])
    with pytest.raises(ValueError, match="batch of row 0 was not in the fit"):
        found.partial_fit(REST[:3])


def test_known_rows_join_their_cluster(fitted):
    named = fitted.name_clusters(["a", "b", "c"])
    wrong = (named.predict(REST[:1])[0] + 1) % 3
    known = [wrong, *[-1] * (len(REST) - 1)]
    by_number = named.name_clusters({}).partial_fit(REST, known_labels=known)
    assert by_number.labels_[90] == wrong
    names = ["abc"[wrong], *[""] * (len(REST) - 1)]
    named.partial_fit(REST, known_labels=names)
    np.testing.assert_array_equal(named.labels_, by_number.labels_)
    everywhere = np.full(len(X), -1)
    everywhere[90] = wrong
    assert named.refine(X, known_labels=everywhere).labels_[90] == wrong
    for bad in (3, "d"):
        with pytest.raises(ValueError, match=f"row 0 is {bad!r}, .* not a cluster"):
            named.partial_fit(REST[:1], known_labels=[bad])


def test_the_first_call_is_a_fit():
    names = [f"r{i}" for i in range(len(X))]
    found = model().partial_fit(CountTable(FIRST, row_names=names[:90]))
    assert found.loss_ == model().fit(FIRST).loss_
    found.partial_fit(CountTable(REST, row_names=names[90:]))
    assert found.record_.row_names.tolist() == names
    found.partial_fit(REST)
    assert found.record_.row_names is None


def test_long_rows_count_no_more_than_the_longest_of_the_fit(tmp_path):
    sizes = FIRST.sum(axis=1)
    longest = 2 * np.sort(sizes[sizes > 0])[(np.count_nonzero(sizes) - 1) // 2]
    long = np.repeat(np.rint(FIRST[:3] * 50).astype(int), 2, axis=0)
    fits = [model(robust={"rows": 2}).fit(FIRST)]
    fits[0].save(tmp_path / "model.npz")
    fits.append(load(tmp_path / "model.npz"))
    readers = blocks_of(FIRST, 30)
    fits.append(distributed.fit(model(robust={"rows": 2}), readers))
    for found in fits:
        before = found.record_.sums.clusters.copy()
        found.partial_fit(long, sample_weight=[1, 2] * 3)
        weights = longest / long.sum(axis=1)
        np.testing.assert_allclose(found.row_weights_[90:], weights, rtol=1e-12)
        more = np.zeros_like(before)
        times = weights * np.tile([1, 2], 3)
        np.add.at(more, found.labels_[90:], times[:, None] * long)
        after = found.record_.sums.clusters
        np.testing.assert_allclose(after, before + more, rtol=1e-12)


def test_what_cannot_join(fitted):
    with pytest.raises(ValueError, match="9 features"):
        fitted.partial_fit(REST[:, :9])
    with pytest.raises(ValueError, match="was merged without counts"):
        fitted.cut(2).partial_fit(REST)
    with pytest.raises(ValueError, match="Negative values"):
        fitted.partial_fit(-REST)
    assert len(fitted.labels_) == 90
