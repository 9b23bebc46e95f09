"""A matrix that lies about its indices is an error, never a crash or a result."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp

from damaged_matrices import CASES, N_COLUMNS, N_ROWS, OTHERS, damaged, sound
from threecpo import CountTable, ThreeCPO, read_counts
from threecpo._core.inspection import DamagedMatrixError
from threecpo.cluster import PoissonL
from threecpo.io import DataFormatError
from threecpo.io.blocks import open_blocks, write_blocks
from threecpo.preprocessing import SublinearCounts

FITTED = ThreeCPO(2, n_init=2, random_state=0)
DOORS = {
    "fit": lambda X: ThreeCPO(2, n_init=2, random_state=0).fit(X),
    "predict": FITTED.predict,
    "row_scores": FITTED.row_scores,
    "PoissonL": lambda X: PoissonL(2, n_init=2, random_state=0).fit(X),
    "transform": SublinearCounts().transform,
    "CountTable": CountTable,
}


@pytest.fixture(autouse=True, scope="module")
def _fitted():
    FITTED.fit(sound())


def refused(blocks):
    """Whether a block cannot be opened or read, or its bad entry is known."""
    try:
        with open_blocks(blocks) as source:
            return source.readers[0]().bad_entry is not None
    except DataFormatError as error:
        said = r"damaged|row pointers end at|is no list of numbers"
        return re.search(said, str(error)) is not None


@pytest.mark.parametrize("case", CASES)
def test_every_door_refuses_it(case):
    for door in DOORS.values():
        with pytest.raises(ValueError, match=r"damaged sparse matrix|holds") as caught:
            door(damaged(case))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("case", OTHERS)
def test_every_door_refuses_other_formats_and_shapes(case):
    for door in DOORS.values():
        with pytest.raises(ValueError, match=r"damaged|expecting|exceeds|must agree"):
            door(OTHERS[case]())


VALUES = ("NaN", "infinity", "minus infinity")


@pytest.mark.parametrize("case", [case for case in CASES if not case.endswith(VALUES)])
def test_columns_of_it_are_not_chosen(case):
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        FITTED.transform(damaged(case))


@pytest.mark.parametrize("case", OTHERS)
def test_columns_of_other_formats_are_not_chosen(case):
    with pytest.raises(ValueError, match=r"damaged|expecting|exceeds|must agree"):
        FITTED.transform(OTHERS[case]())


def test_columns_of_a_table_are_chosen_without_a_check():
    table = CountTable(sound())
    expected = FITTED.transform(table.X.toarray())
    np.testing.assert_array_equal(FITTED.transform(table).toarray(), expected)


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        (
            "csr of 32 bits, fall",
            "X is a damaged sparse matrix: its row pointers fall behind row 3; build",
        ),
        ("csc of 64 bits, start at 2", "its column pointers start at 2, not at 0"),
        (
            "csr of 64 bits, wrap round to 1",
            f"row 0 has a count in column 4294967297, but there are {N_COLUMNS} col",
        ),
        (
            "coo of 32 bits, row below 0",
            f"entry 5 lies in row -1, but there are {N_ROWS} rows",
        ),
        ("csr of 32 bits, are one too few", "it has 30 row pointers for 30 rows"),
    ],
)
def test_the_error_says_where(case, sentence):
    with pytest.raises(DamagedMatrixError) as caught:
        CountTable(damaged(case))
    assert sentence in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_unused_space_behind_the_last_pointer_is_no_damage():
    X = sp.csr_array(sound())
    X.indices = np.append(X.indices, -1).astype(np.int32)
    X.data = np.append(X.data, np.nan)
    np.testing.assert_array_equal(CountTable(X).X.toarray(), sound())


def test_more_columns_than_indices_can_number_are_refused():
    X = sp.csr_array(([1.0], [0], [0, 1]), shape=(1, 1 << 33))
    with pytest.raises(ValueError, match="X has 8589934592 columns, more than"):
        CountTable(X)


@pytest.mark.parametrize("case", [case for case in CASES if "csr of" in case])
def test_a_file_that_holds_it_is_refused_by_name(case, tmp_path):
    X = damaged(case)
    arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    path = tmp_path / "counts.npz"
    np.savez(path, format=b"csr", shape=X.shape, **arrays)
    with pytest.raises(DataFormatError, match=r"counts\.npz"):
        read_counts(path)
    assert refused(path)


@pytest.mark.parametrize("case", [case for case in CASES if "csr of" in case])
def test_an_h5ad_that_holds_it_is_refused_by_name(case, tmp_path):
    h5py = pytest.importorskip("h5py")
    anndata = pytest.importorskip("anndata")
    path = tmp_path / "counts.h5ad"
    anndata.AnnData(sp.csr_array(sound())).write_h5ad(path)
    X = damaged(case)
    with h5py.File(path, "r+") as file:
        for name in ("data", "indices", "indptr"):
            del file["X"][name]
            file["X"][name] = getattr(X, name)
    with pytest.raises(DataFormatError, match=r"counts\.h5ad"):
        read_counts(path, layer="X")
    assert refused(path)


@pytest.mark.parametrize("case", CASES)
def test_a_block_is_refused_or_its_bad_entry_is_known(case, tmp_path):
    assert refused([lambda: damaged(case)])
    if "NaN" not in case and "infinity" not in case:
        with pytest.raises(ValueError, match="damaged"):
            write_blocks([damaged(case)], tmp_path / "blocks")
        assert not list(tmp_path.iterdir())
