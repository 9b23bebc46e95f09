"""A matrix that lies about its indices is an error, never a crash or a result."""

import pickle
import re
import sys

import anndata
import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from fuzz import crafted
from fuzz.child import Pool
from fuzz.crafted import matrices
from fuzz.lies import N_COLUMNS, N_ROWS, sound
from fuzz.outcomes import Limits, Tally
from paper.poisson import PoissonL
from threecpo import CountTable, ThreeCPO, read_counts
from threecpo._core.matrices import DamagedMatrixError
from threecpo.io import DataFormatError
from threecpo.io.blocks import open_blocks, write_blocks

CONTAINERS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")


def test_there_are_enough_of_every_container():
    names = list(crafted.matrices())
    assert len(names) >= 500
    for container in CONTAINERS:
        for kind in ("array", "matrix"):
            assert any(name.startswith(f"{container}_{kind}") for name in names)


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
def test_none_is_accepted_and_none_is_a_signal(tmp_path):
    target, tally = crafted.Crafted(), Tally(tmp_path, 0)
    # Coprime to the number of doors, so that all of them have a turn.
    numbers = range(0, len(target.cases), 211)
    pool = Pool("fuzz.crafted", 0, Limits(seconds=60), 1)
    pool.run(crafted.batches(numbers), tally.add)
    assert tally.causes() == ""
    assert tally.counts[target.name] == {"own error": len(numbers)}


MATRICES = matrices()
# One of each kind of damage, and of each array that may have it.
KINDS = (
    "csr_array of 32 bits: pointers fall",
    "csr_array of 32 bits: pointers end far beyond",
    "csr_array of 32 bits: an index far too large",
    "csr_array of 64 bits: an index that wraps to 1",
    "csr_array of 32 bits: too few values",
    "csr_array of 32 bits: NaN",
)
REFUSED = r"damaged|holds|exceeds"


@pytest.fixture(scope="module")
def fitted():
    return ThreeCPO(2, n_init=2, random_state=0).fit(sound())


def refuse(door, names):
    for name in names:
        with pytest.raises(ValueError, match=REFUSED) as caught:
            pytest.fail(f"accepted: {name}, {door(MATRICES[name]())}")
        assert "\n" not in str(caught.value), name


def test_the_one_check_refuses_every_lie():
    # Values of other types are refused by scikit-learn, in words of its own.
    names = [name for name in MATRICES if not name.endswith(("text", "complex values"))]
    refuse(CountTable, names)


def test_every_door_has_the_check(fitted):
    names = [*KINDS, "csc_array of 32 bits: an index far too large"]
    names += ["coo_array of 32 bits: a row far too large", "lil_array: NaN"]
    doors = [fitted.predict, fitted.row_scores, fitted.score]
    doors += [clone.fit for clone in (ThreeCPO(2, n_init=1), PoissonL(2, n_init=1))]
    for door in doors:
        refuse(door, names)


def test_columns_are_chosen_of_sound_matrices_alone(fitted):
    values = ("NaN", "infinity", "negative value", "text", "complex values")
    names = [name for name in MATRICES if not name.endswith(values)]
    refuse(fitted.transform, names)
    table = CountTable(sound())
    expected = fitted.transform(sound())
    np.testing.assert_array_equal(fitted.transform(table).toarray(), expected)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "csr_array of 32 bits: pointers fall",
            "X is a damaged sparse matrix: its row pointers decrease after row 3;",
        ),
        (
            "csc_array of 64 bits: pointers start at 2",
            "column pointers start at 2, not",
        ),
        (
            "csr_array of 64 bits: an index that wraps to 1",
            f"row 0 has a count in column 4294967297, but there are {N_COLUMNS} col",
        ),
        (
            "coo_array of 32 bits: a row of -1",
            f"entry 5 lies in row -1, but there are {N_ROWS} rows",
        ),
        (
            "csr_array of 32 bits: one pointer too few",
            "it has 30 row pointers for 30 rows",
        ),
    ],
)
def test_the_error_says_where(name, sentence):
    with pytest.raises(DamagedMatrixError) as caught:
        CountTable(MATRICES[name]())
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


def refused_by_blocks(blocks):
    """Whether a block cannot be opened or read, or its bad entry is known."""
    try:
        with open_blocks(blocks) as source:
            return source.readers[0]().bad_entry is not None
    except DataFormatError as error:
        said = r"damaged|row pointers end at|is no list of numbers"
        return re.search(said, str(error)) is not None


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("suffix", ["npz", "h5ad"])
def test_a_file_that_holds_it_is_refused_by_name(suffix, name, tmp_path):
    X, path = MATRICES[name](), tmp_path / f"counts.{suffix}"
    arrays = {part: getattr(X, part) for part in ("data", "indices", "indptr")}
    if suffix == "npz":
        np.savez(path, format=b"csr", shape=X.shape, **arrays)
    else:
        anndata.AnnData(sp.csr_array(sound())).write_h5ad(path)
        with h5py.File(path, "r+") as file:
            for part, values in arrays.items():
                del file["X"][part]
                file["X"][part] = values
    with pytest.raises(DataFormatError, match=f"counts.{suffix}"):
        read_counts(path)
    assert refused_by_blocks(path)


def test_a_block_is_refused_or_its_bad_entry_is_known(tmp_path):
    for name in KINDS:
        assert refused_by_blocks([MATRICES[name]]), name
        if not name.endswith("NaN"):
            with pytest.raises(ValueError, match="damaged"):
                write_blocks([MATRICES[name]()], tmp_path / "blocks")
            assert not list(tmp_path.iterdir())
