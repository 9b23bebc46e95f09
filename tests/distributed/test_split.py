"""A cluster divided, of rows that come in blocks."""

import numpy as np
import pytest
import scipy.sparse as sp
from block_fits import assert_same_bits, evenly, model_of, write
from sklearn.metrics import adjusted_rand_score

from paper.poisson import PoissonL
from threecpo import distributed
from threecpo.distributed import local_client

RNG = np.random.default_rng(0)
PLANTED = RNG.integers(4, size=600)
X = sp.csr_array(RNG.poisson(RNG.gamma(0.5, 8.0, size=(4, 30))[PLANTED]))


@pytest.fixture(scope="module")
def joined():
    """Model of three clusters, one of which is two that were planted."""
    model = model_of(4).fit(X)
    assert adjusted_rand_score(PLANTED, model.labels_) > 0.95
    return model.cut(3)


def unclear(model):
    """The cluster that holds two planted ones."""
    table = np.zeros((model.n_clusters_, 4))
    np.add.at(table, (model.labels_, PLANTED), 1)
    return int((table > 20).sum(axis=1).argmax())


def test_beyond_the_sample_the_planted_clusters_are_found(joined):
    blocks = evenly(X, 6)
    found = distributed.split(joined, blocks, unclear(joined), sample_rows=50)
    assert found.n_clusters_ == 4
    assert adjusted_rand_score(PLANTED, found.labels_) > 0.95
    np.testing.assert_array_equal(found.predict(X), found.labels_)
    assert joined.n_clusters_ == 3


def test_the_answer_does_not_depend_on_blocks_or_workers(joined, tmp_path):
    how = {"cluster": unclear(joined), "sample_rows": 100}
    expected = distributed.split(joined, evenly(X, 1), **how)
    folder = write(X, tmp_path / "blocks", 4)
    assert_same_bits(
        distributed.split(joined, folder, max_memory="1GB", **how), expected
    )
    with local_client(2) as client:
        found = distributed.split(joined, folder, client=client, **how)
    assert_same_bits(found, expected)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"cluster": 3}, "3 is not a cluster; they are 0 to 2"),
        ({"cluster": 0, "into": 1}, "into=1"),
        ({"cluster": 0, "into": 599, "sample_rows": 599}, "too few for into=599"),
        ({"cluster": 0, "into": 5, "sample_rows": 4}, "sample_rows=4"),
        ({"cluster": 0, "sample_rows": 700.5}, r"sample_rows=700\.5"),
        ({"cluster": 0, "max_memory": 1000}, "max_memory"),
    ],
)
def test_refuses(joined, options, text):
    with pytest.raises(ValueError, match=text):
        distributed.split(joined, evenly(X, 3), **{"sample_rows": 100} | options)


def test_other_columns_and_models_are_refused(joined):
    with pytest.raises(ValueError, match="columns"):
        distributed.split(joined, evenly(X[:, 1:], 3), 0, sample_rows=100)
    with pytest.raises(TypeError, match="not a ThreeCPO"):
        distributed.split(PoissonL(3, random_state=0).fit(X), evenly(X, 3), 0)
