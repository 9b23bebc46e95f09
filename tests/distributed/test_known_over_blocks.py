"""Known clusters over blocks of rows: the fit in memory, however the rows are cut."""

import numpy as np
import pytest

from containers import planted
from fitting import TRUE, X
from threecpo import ThreeCPO, distributed, select_n_clusters
from threecpo._fit.blocks import rows_to_sample

KNOWN = np.full(len(X), -1)
for number, k in enumerate((2, 0)):
    KNOWN[np.flatnonzero(k == TRUE)[:4]] = number


def readers(X, size):
    return [lambda i=i: X[i : i + size] for i in range(0, len(X), size)]


def asked(**options):
    return ThreeCPO(4, **{"random_state": 0, "n_init": 2} | options)


def test_a_sample_has_rows_of_every_known_cluster():
    many, true = planted(n_rows=900, n_background=20)
    known = np.full(len(many), -1)
    for number, k in enumerate((2, 0)):
        known[np.flatnonzero(true == k)[[5, 77]]] = number
    names = np.where(known >= 0, np.array(["b", "a"])[known], "")
    fits = []
    for size in (100, 333):
        model = asked(n_init=2)
        blocks = readers(many, size)
        options = {"known_labels": names, "sample_rows": 60}
        fits.append(distributed.fit(model, blocks, **options))
    first, second = fits
    numbers = np.where(known >= 0, 1 - known, -1)
    np.testing.assert_array_equal(first.labels_[known >= 0], numbers[known >= 0])
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert first.cluster_names_[:2].tolist() == ["a", "b"]


def test_rows_to_sample():
    known = np.full(1000, -1, dtype=np.int32)
    known[:5] = 0
    known[500:900] = -3  # starts in cluster 1
    drawn = rows_to_sample(1000, 100, 0, known)
    assert len(np.unique(drawn)) == len(drawn)
    assert np.count_nonzero(known[drawn] == 0) == 5
    assert np.count_nonzero(known[drawn] == -3) >= 25
    plain = rows_to_sample(1000, 100, 0)
    assert set(plain) <= set(drawn)
    assert len(plain) == 100


def test_weights_batches_and_checkpoints(tmp_path):
    rng = np.random.default_rng(0)
    rows = {
        "sample_weight": rng.integers(0, 3, size=len(X)).astype(float),
        "batch": rng.integers(2, size=len(X)),
        "known_labels": KNOWN,
    }
    rows["sample_weight"][KNOWN >= 0] = 1.0
    for hold in (True, False):
        rows["hold_labels"] = hold
        expected = asked().fit(X, **rows)
        found = distributed.fit(asked(), readers(X, 50), **rows)
        np.testing.assert_array_equal(found.labels_, expected.labels_)
        options = rows | {"sample_rows": 80}
        expected = distributed.fit(asked(), readers(X, 70), **options)
        options["checkpoint"] = tmp_path / f"state-{hold}"
        for _ in range(2):  # the second goes on from a finished state
            found = distributed.fit(asked(), readers(X, 50), **options)
            np.testing.assert_array_equal(found.labels_, expected.labels_)
    other = options | {"known_labels": np.where(KNOWN == 1, -1, KNOWN)}
    with pytest.raises(ValueError, match="or known clusters differ"):
        distributed.fit(asked(), readers(X, 50), **other)


def test_rows_written_to_files(tmp_path):
    model = asked()
    distributed.fit(model, readers(X, 50), known_labels=KNOWN, write_to=tmp_path / "r")
    labels = distributed.read_rows(tmp_path / "r")
    np.testing.assert_array_equal(labels[KNOWN >= 0], KNOWN[KNOWN >= 0])


@pytest.mark.parametrize(
    ("hold", "sample_rows"), [(True, None), (True, 80), (False, 80)]
)
def test_paths_over_the_number_of_clusters(hold, sample_rows):
    options = {"estimator": asked(), "known_labels": KNOWN, "random_state": 0}
    options["hold_labels"] = hold
    path = distributed.select_n_clusters(
        readers(X, 60), [2, 3], n_init=2, sample_rows=sample_rows, **options
    )
    for k in (2, 3):
        record = path.estimator(k).record_
        assert record.n_clusters == k
        if hold:
            labels = record.rows.labels[KNOWN >= 0]
            np.testing.assert_array_equal(labels, KNOWN[KNOWN >= 0])
    if sample_rows is None:
        expected = select_n_clusters(X, [2, 3], n_init=2, **options)
        np.testing.assert_array_equal(path.totals, expected.totals)
    with pytest.raises(ValueError, match="but 2 clusters are known"):
        distributed.select_n_clusters(readers(X, 60), [1, 2], **options)


def test_auto_begins_with_the_known_clusters():
    model = asked().set_params(n_clusters="auto", max_clusters=4)
    distributed.fit(model, readers(X, 60), known_labels=KNOWN, sample_rows=80)
    assert model.k_path_.n_clusters.tolist() == [2, 3, 4]
    np.testing.assert_array_equal(model.labels_[KNOWN >= 0], KNOWN[KNOWN >= 0])
