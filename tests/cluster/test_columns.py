"""Selection of columns by a fitted ThreeCPO."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from containers import names
from fitting import X, fit
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


def test_an_unfitted_model_says_so():
    model = ThreeCPO()
    for call in (model.predict, model.row_scores, model.score, model.transform):
        with pytest.raises(NotFittedError):
            call(X)
    for call in (model.get_support, model.top_columns):
        with pytest.raises(NotFittedError):
            call()
    for call in (model.name_clusters, model.save):
        with pytest.raises(NotFittedError):
            call("never written")
    with pytest.raises(NotFittedError):
        _ = model.cluster_names_
