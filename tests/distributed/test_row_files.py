"""Results of rows as files, one for each block, and models without rows."""

import errno

import numpy as np
import pytest
from block_fits import ROWS, assert_same_bits, attributes, counts_of, evenly, fit

import threecpo
from threecpo import distributed
from threecpo._fit import row_results


@pytest.fixture(scope="module", name="X")
def counts():
    return counts_of()[0]


@pytest.fixture(scope="module")
def expected(X):
    return fit(X, outliers="iterative")


def written(X, folder, n_blocks=6):
    options = {"outliers": "iterative", "fitting": {"write_to": folder}}
    return fit(evenly(X, n_blocks), **options)


def test_files_hold_what_the_attributes_would(X, expected, tmp_path):
    model = written(X, tmp_path / "rows", 12)
    for name in ROWS:
        assert not hasattr(model, name)
        found = distributed.read_rows(tmp_path / "rows", name.removesuffix("_"))
        np.testing.assert_array_equal(found, getattr(expected, name))
        assert found.dtype == getattr(expected, name).dtype
    assert len(list((tmp_path / "rows").iterdir())) == 12 * len(ROWS)
    np.testing.assert_array_equal(model.predict(X), expected.labels_)


def test_a_model_without_rows_is_saved_and_loaded(X, expected, tmp_path):
    model = written(X, tmp_path / "rows")
    model.save(tmp_path / "model.npz")
    again = threecpo.load(tmp_path / "model.npz")
    assert attributes(again).keys() == attributes(model).keys()
    np.testing.assert_array_equal(again.predict(X), expected.labels_)
    assert again.score(X) == model.score(X)
    assert_same_bits(fit(evenly(X, 4), init=again), fit(X, init=model))


def test_half_of_the_rows_is_a_damaged_model(expected, tmp_path):
    expected.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as file:
        arrays = {name: file[name] for name in file.files if name != "margins"}
    np.savez(tmp_path / "model.npz", **arrays)
    with pytest.raises(ValueError, match="damaged"):
        threecpo.load(tmp_path / "model.npz")


def test_rows_of_an_earlier_fit_are_forgotten(X, tmp_path):
    model = fit(X)
    distributed.fit(model, X, write_to=tmp_path / "rows")
    assert not hasattr(model, "labels_")


def test_an_existing_folder_is_left_alone_and_named_before_the_fit(X, tmp_path):
    (tmp_path / "rows").mkdir()
    readers = evenly(X, 3)
    with pytest.raises(FileExistsError, match=r"write_to=.* exists; name a new folder"):
        fit(readers, fitting={"write_to": tmp_path / "rows"})
    assert all(read.reads == 0 for read in readers)


def test_a_full_disk_leaves_nothing_half_written(X, tmp_path, monkeypatch):
    before = written(X, tmp_path / "earlier")
    whole = np.save

    def full(file, values, **options):
        whole(file, values[:1], **options)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(row_results.np, "save", full)
    with pytest.raises(OSError, match=r"could not be written .* No space left"):
        written(X, tmp_path / "rows")
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["earlier"]
    found = distributed.read_rows(tmp_path / "earlier")
    np.testing.assert_array_equal(found, before.predict(X))


def test_a_folder_without_rows_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not contain margins"):
        distributed.read_rows(tmp_path, "margins")
