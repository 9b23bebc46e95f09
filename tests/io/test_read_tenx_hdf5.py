"""10x files in HDF5, of Cell Ranger 2 and 3 and of CellBender."""

import numpy as np
import pytest
import scipy.sparse as sp

from threecpo import read_counts
from threecpo.io import DataFormatError
from threecpo.io.blocks import open_blocks

h5py = pytest.importorskip("h5py")
RNG = np.random.default_rng(0)
Y = RNG.poisson(0.7, (7, 5))
CELLS = [f"AAAC-{i}" for i in range(7)]
IDS = [f"ENSG{j}" for j in range(5)]
SYMBOLS = ["CD3E", "GNLY", "MS4A1", "GNLY", ""]
NAMES = ["CD3E", "GNLY (ENSG1)", "MS4A1", "GNLY (ENSG3)", "ENSG4"]
KINDS = ["Gene Expression"] * 3 + ["Antibody Capture"] * 2


def write_matrix(file, name, version=3, **changes):
    """Write a group as Cell Ranger does: genes x cells by columns, names as bytes."""
    X = sp.csc_matrix(Y.T)
    parts = {"data": X.data.astype(np.int32), "indices": X.indices.astype(np.int64)}
    parts |= {"indptr": X.indptr.astype(np.int64), "shape": np.array(X.shape, "i4")}
    parts["barcodes"] = np.array(CELLS, "S")
    ids, symbols = np.array(IDS, "S"), np.array(SYMBOLS, "S")
    if version == 2:
        parts |= {"genes": ids, "gene_names": symbols}
    else:
        parts |= {"features/id": ids, "features/name": symbols}
        parts["features/feature_type"] = np.array(KINDS, "S")
        parts["features/_all_tag_keys"] = np.array(["genome"], "S")
    for part, values in (parts | changes).items():
        if values is not None:
            file[f"{name}/{part}"] = values


def cellbender(file):
    write_matrix(file, "matrix")
    file["metadata/fraction"] = 0.5
    file["droplet_latents/cell_probability"] = np.ones(7)
    file["global_latents/phi"] = [1.0, 2.0]


def read_blocks(path, **options):
    with open_blocks(path, block_counts=4, **options) as source:
        return [read().matrix().toarray() for read in source.readers]


@pytest.fixture(params=["version 3", "version 2", "cellbender"])
def path(request, tmp_path):
    path = tmp_path / "cells.h5"
    with h5py.File(path, "w") as file:
        if request.param == "version 2":
            write_matrix(file, "hg19", 2)
        elif request.param == "version 3":
            file.attrs["chemistry_description"] = "Single Cell 3' v3"
            write_matrix(file, "matrix")
        else:
            cellbender(file)
    return path


def test_cells_become_rows(path):
    table = read_counts(path)
    np.testing.assert_array_equal(table.X.toarray(), Y)
    assert table.row_names.tolist() == CELLS
    assert table.column_names.tolist() == NAMES


def test_blocks_are_the_same_rows(path):
    with open_blocks(path, block_counts=4) as source:
        blocks = [read().matrix().toarray() for read in source.readers]
    assert len(blocks) > 2
    np.testing.assert_array_equal(np.vstack(blocks), Y)
    assert source.column_names.tolist() == NAMES
    assert source.row_names.tolist() == CELLS


def test_scanpy_reads_the_same(path):
    scanpy = pytest.importorskip("scanpy")
    with pytest.warns(UserWarning, match="unique"):
        adata = scanpy.read_10x_h5(path, gex_only=False)
    np.testing.assert_array_equal(read_counts(path).X.toarray(), adata.X.toarray())


def test_one_kind_of_features(tmp_path):
    path = tmp_path / "cells.h5"
    with h5py.File(path, "w") as file:
        write_matrix(file, "matrix")
    table = read_counts(path, layer="Antibody Capture")
    np.testing.assert_array_equal(table.X.toarray(), Y[:, 3:])
    assert table.column_names.tolist() == NAMES[3:]
    blocks = read_blocks(path, layer="Antibody Capture")
    np.testing.assert_array_equal(np.vstack(blocks), Y[:, 3:])
    assert read_counts(path).description == (
        "counts of matrix: 3 of Gene Expression, 2 of Antibody Capture"
    )


def test_one_of_two_genomes(tmp_path):
    path = tmp_path / "cells.h5"
    with h5py.File(path, "w") as file:
        write_matrix(file, "hg19", 2)
        write_matrix(file, "mm10", 2, data=np.full(np.count_nonzero(Y), 9))
    with pytest.raises(DataFormatError, match=r"layer= as one of 'hg19', 'mm10'\.$"):
        read_counts(path)
    assert set(read_counts(path, layer="mm10").X.data) == {9}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"features/id": None}, "neither genes nor features/id"),
        ({"features/name": np.array([b"x"])}, "1 entries for 5 genes"),
        ({"features/name": np.zeros((5, 2))}, r"is no(t a)? list of "),
        ({"shape": np.array([5])}, r"shape \[5\]"),
        ({"shape": np.array([9, 7])}, "names of 5 genes"),
        ({"shape": np.array([5, 9])}, "damaged|pointers"),
        ({"indices": np.full(np.count_nonzero(Y), 99)}, "damaged"),
        ({"indptr": np.array([0, 3, 2, 4, 5, 6, 7, 8])}, "damaged"),
        ({"data": np.array([b"x"])}, r"not? (a )?list of numbers|beyond its counts"),
        ({"barcodes": np.array([b"x"])}, "1 names for 7 rows"),
        ({"barcodes": np.array([b"x"] * 7)}, "rows 1 and 2 are both called 'x'"),
        ({"barcodes": None}, r"not a 10x file: no group in it has barcodes"),
    ],
)
def test_damage_is_named(changes, reason, tmp_path):
    path = tmp_path / "cells.h5"
    with h5py.File(path, "w") as file:
        write_matrix(file, "matrix", **changes)
    for read, layer in ((read_counts, None), (read_blocks, "Gene Expression")):
        with pytest.raises(DataFormatError, match=reason) as raised:
            read(path, layer=layer)
        assert "\n" not in str(raised.value)


def test_a_negative_count_is_named(tmp_path):
    path = tmp_path / "cells.h5"
    with h5py.File(path, "w") as file:
        write_matrix(file, "matrix", data=np.full(np.count_nonzero(Y), -1))
    with pytest.raises(DataFormatError, match=r"row 'AAAC-0', column .* holds -1"):
        read_counts(path)


def test_every_advice_of_an_error_leads_to_a_table(tmp_path):
    path = tmp_path / "cells.h5"
    anndata = pytest.importorskip("anndata")
    anndata.AnnData(sp.csr_matrix(Y.astype("f4"))).write_h5ad(path)
    with pytest.raises(DataFormatError, match="pass format='h5ad'"):
        read_counts(path)
    assert read_counts(path, format="h5ad").shape == Y.shape
    other = tmp_path / "cells.h5ad"
    with h5py.File(other, "w") as file:
        write_matrix(file, "matrix")
    with pytest.raises(DataFormatError, match="pass format='10x-h5'"):
        read_counts(other)
    assert read_counts(other, format="10x-h5").shape == Y.shape
    with pytest.raises(DataFormatError, match="one of 'Gene Expression', 'Antibody"):
        read_counts(other, format="10x-h5", layer="RNA")
