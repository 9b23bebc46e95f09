"""What a fitted ThreeCPO says about columns: selection, top columns."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from containers import names
from fitting import X, fit, sums_by_label
from threecpo import ThreeCPO


def test_support_and_transform_select_the_relevant_columns(model):
    chosen = model.column_groups_ == 1
    np.testing.assert_array_equal(model.get_support(), chosen)
    np.testing.assert_array_equal(
        model.get_support(indices=True), np.flatnonzero(chosen)
    )
    np.testing.assert_array_equal(model.transform(X), X[:, chosen])
    np.testing.assert_array_equal(
        model.inverse_transform(model.transform(X)), X * chosen
    )
    sparse = model.transform(sp.csr_array(X))
    assert sp.issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), X[:, chosen])


def test_fit_transform_is_fit_then_transform(model):
    chosen = ThreeCPO(3, n_init=3, random_state=0).fit_transform(X)
    np.testing.assert_array_equal(chosen, model.transform(X))


def test_set_output_gives_frames_with_names():
    frame = pd.DataFrame(X, columns=names(X))
    model = ThreeCPO(3, n_init=3, random_state=0).set_output(transform="pandas")
    out = model.fit_transform(frame)
    assert isinstance(out, pd.DataFrame)
    assert out.columns.tolist() == names(X)[:6]
    assert model.get_feature_names_out().tolist() == names(X)[:6]


def test_names_without_a_frame_are_numbered(model):
    assert model.get_feature_names_out().tolist() == [f"x{j}" for j in range(6)]


def test_a_refit_without_names_forgets_them():
    model = fit(pd.DataFrame(X, columns=names(X)))
    assert model.feature_names_in_.tolist() == names(X)
    assert not hasattr(model.fit(X), "feature_names_in_")


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.predict(X),
        lambda model: model.row_scores(X),
        lambda model: model.score(X),
        lambda model: model.transform(X),
        lambda model: model.get_support(),
        lambda model: model.top_columns(),
        lambda model: model.save("never written"),
    ],
)
def test_an_unfitted_model_says_so(call):
    with pytest.raises(NotFittedError):
        call(ThreeCPO())


def expected_top(model, values, group, n):
    members = np.flatnonzero(model.column_groups_ == group)
    return members[np.argsort(-values[members], kind="stable")[:n]].tolist()


def test_top_columns_rank_by_the_difference_of_rates(model):
    table = model.top_columns(4)
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == ["group", "cluster", "rank", "column", "value"]
    for k in range(3):
        part = table[(table["group"] == 1) & (table["cluster"] == k)]
        difference = model.cluster_rates_[k] - model.shared_rates_
        assert part["column"].tolist() == expected_top(model, difference, 1, 4)
        assert part["rank"].tolist() == [1, 2, 3, 4]
        np.testing.assert_allclose(part["value"], difference[part["column"]])


@pytest.mark.parametrize(
    ("group", "rates"), [(0, "shared_rates_"), (-1, "noise_rates_")]
)
def test_top_columns_of_the_other_groups_have_the_largest_rates(model, group, rates):
    table = model.top_columns()
    part = table[table["group"] == group]
    values = getattr(model, rates)
    assert part["column"].tolist() == expected_top(model, values, group, 10)
    assert (part["cluster"] == -1).all()
    np.testing.assert_allclose(part["value"], values[part["column"]])


def check_shares(model, data):
    sums = sums_by_label(data, model.labels_)
    used = model.column_groups_ >= 0
    share = sums / sums[:, used].sum(axis=1, keepdims=True)
    overall = sums.sum(axis=0) / sums[:, used].sum()
    table = model.top_columns(3)
    for k in range(3):
        part = table[(table["group"] == 1) & (table["cluster"] == k)]
        expected = share[k] - overall
        assert part["column"].tolist() == expected_top(model, expected, 1, 3)
        np.testing.assert_allclose(part["value"], expected[part["column"]])


@pytest.mark.parametrize("n_shared", [0, 1])
def test_top_columns_compare_shares_with_at_most_one_shared_column(n_shared):
    data = X[:, : 6 + n_shared]
    groups = (1, 0) if n_shared else (1, -1)
    model = fit(data, groups=groups, column_penalty=None if not n_shared else "mdl")
    assert np.count_nonzero(model.column_groups_ == 0) == n_shared
    check_shares(model, data)


def test_top_columns_compare_shares_where_shared_columns_are_nearly_empty():
    rng = np.random.default_rng(0)
    rare = (rng.random((len(X), 2)) < 0.05).astype(X.dtype)
    data = np.hstack([X[:, :6], rare])
    model = fit(data, groups=(1, 0))
    assert model.column_groups_.tolist() == [1] * 6 + [0] * 2
    check_shares(model, data)


def test_top_columns_use_the_names_of_a_frame():
    model = fit(pd.DataFrame(X, columns=names(X)))
    table = model.top_columns(2)
    found = {frozenset(part["column"]) for _, part in table.groupby("cluster")}
    assert frozenset({"column 0", "column 1"}) in found


def test_top_columns_without_pandas_are_a_dict_of_lists(model, monkeypatch):
    frame = model.top_columns(2)
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = model.top_columns(2)
    assert isinstance(table, dict)
    assert table == {name: frame[name].tolist() for name in frame.columns}


@pytest.mark.parametrize("n", [0, -1, 1.5, "many"])
def test_top_columns_refuses_a_bad_number(model, n):
    with pytest.raises(ValueError, match="n="):
        model.top_columns(n)
