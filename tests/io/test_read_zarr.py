"""AnnData in zarr folders, read as a table."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from threecpo import read_counts
from threecpo.io import DataFormatError

anndata = pytest.importorskip("anndata")
pd = pytest.importorskip("pandas")
X = np.array([[3, 0, 1], [0, 5, 0]], dtype=np.float32)


@pytest.fixture(params=[2, 3])
def write(request, tmp_path):
    """Write an AnnData with labels in a format of zarr."""

    def written(matrix, **parts):
        obs = pd.DataFrame({"kind": pd.Categorical(["u", "v"])}, index=["p1", "p2"])
        var = pd.DataFrame(index=["a", "b", "c"])
        adata = anndata.AnnData(matrix, obs=obs, var=var, **parts)
        with (
            warnings.catch_warnings(action="ignore"),
            anndata.settings.override(zarr_write_format=request.param),
        ):
            adata.write_zarr(tmp_path / "t.zarr")
        return tmp_path / "t.zarr"

    return written


@pytest.mark.parametrize("form", [sp.csc_matrix, np.array])
def test_a_matrix_is_read_with_names_and_labels(write, form):
    table = read_counts(write(form(X)), labels="kind")
    np.testing.assert_array_equal(table.X.toarray(), X)
    assert list(table.row_names) == ["p1", "p2"]
    assert list(table.column_names) == ["a", "b", "c"]
    assert list(table.label_names) == ["u", "v"]
    assert table.description == "counts of X"


def test_the_layer_of_counts_goes_first(write):
    path = write(X / 2, layers={"counts": sp.csr_matrix(X)})
    np.testing.assert_array_equal(read_counts(path).X.toarray(), X)
    np.testing.assert_array_equal(read_counts(path, layer="X").X.toarray(), X / 2)


def test_values_that_are_no_counts_are_asked_about(write):
    path = write(X / 2, layers={"raw counts": sp.csr_matrix(X)})
    with pytest.raises(DataFormatError, match="Pass layer='raw counts', which"):
        read_counts(path)


def test_what_is_no_anndata_is_refused(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.open_group(tmp_path / "t.zarr", mode="w").create_array("x", data=X)
    with pytest.raises(DataFormatError, match="it is not an AnnData"):
        read_counts(tmp_path / "t.zarr")


def test_links_and_sizes_are_looked_at_before_anything_is_opened(write, tmp_path):
    path = write(sp.csr_matrix(X))
    (path / "link").symlink_to(tmp_path)
    with pytest.raises(DataFormatError, match="link is a link or a device"):
        read_counts(path)
    (path / "link").unlink()
    with pytest.raises(DataFormatError, match="unpacks to more than 10 bytes"):
        read_counts(path, max_unpacked=10)
