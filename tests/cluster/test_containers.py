"""The same counts in any container give the same model, and stay as they are."""

from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp

from containers import (
    CONTAINERS,
    FRAMES,
    NARROW,
    SPARSE,
    names,
    planted,
    snapshot,
    with_spare_room,
)
from paper.poisson import PoissonC, PoissonL
from threecpo import ThreeCPO
from threecpo._validation import check_counts

SMALL, _ = planted(n_rows=15)
SMALL[3] = 0
SMALL[:, 8] = 0
LARGE = SMALL.copy()
LARGE[0, 0] = 300
ALL = CONTAINERS | {"csr with spare room": with_spare_room}


@contextmanager
def nothing_made_dense():
    def refuse(*args, **kwargs):
        pytest.fail("sparse input was made dense")

    kinds = (sp.csr_array, sp.csc_array, sp.coo_array, sp.bsr_array, sp.dok_array)
    with pytest.MonkeyPatch.context() as patch:
        for parent in {parent for kind in kinds for parent in kind.__mro__[:-1]}:
            for method in {"toarray", "todense"} & set(vars(parent)):
                patch.setattr(parent, method, refuse)
        yield


@pytest.mark.parametrize("name", ALL)
def test_every_container_gives_the_same_counts(name):
    array = SMALL if name in NARROW else LARGE
    X, estimator, expected = ALL[name](array), ThreeCPO(), check_counts(array)
    before = snapshot(X)
    with nothing_made_dense():
        counts = check_counts(X, estimator)
    for part in ("indptr", "indices", "data", "shape"):
        np.testing.assert_array_equal(getattr(counts, part), getattr(expected, part))
    assert (counts.indices.dtype, counts.data.dtype) == (np.int32, np.float64)
    found = list(getattr(estimator, "feature_names_in_", ()))
    assert found == (names(array) if name in FRAMES else [])
    assert snapshot(X) == before


@pytest.mark.parametrize("name", ["pandas sparse", "csc uint8 duplicates"])
@pytest.mark.parametrize("kind", [ThreeCPO, PoissonL, PoissonC])
def test_every_estimator_takes_containers(kind, name):
    X = CONTAINERS[name](LARGE)
    plain = FRAMES["pandas"](LARGE) if name in FRAMES else LARGE
    model, reference = (kind(3, n_init=2, random_state=0) for _ in range(2))
    before = snapshot(X)
    with nothing_made_dense():
        model.fit(X)
    reference.fit(plain)
    np.testing.assert_array_equal(model.labels_, reference.labels_)
    assert model.loss_ == reference.loss_
    for method in ("predict", "row_scores", "score"):
        if hasattr(model, method):
            with nothing_made_dense():
                found = getattr(model, method)(X)
            np.testing.assert_array_equal(found, getattr(reference, method)(plain))
    assert snapshot(X) == before


@pytest.mark.parametrize("init", ["k-means", "rf-k-means++", "random-labels"])
def test_no_start_changes_its_input(init):
    X = CONTAINERS["csc uint8 duplicates"](LARGE)
    before = snapshot(X)
    ThreeCPO(3, init=init, n_init=2, random_state=0).fit(X)
    assert snapshot(X) == before


def test_transform_keeps_sparse_input_sparse_and_chooses_columns():
    model = ThreeCPO(3, n_init=3, random_state=0).fit(SMALL)
    for make in SPARSE.values():
        X = make(SMALL)
        with nothing_made_dense():
            found = model.transform(X)
        assert sp.issparse(found)
        np.testing.assert_array_equal(
            found.toarray(), SMALL[:, model.column_groups_ == 1]
        )
