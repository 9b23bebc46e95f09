"""Blocks from every kind of file give the fit of the same counts in memory."""

import gzip
import io

import numpy as np
import pytest
import scipy.sparse as sp
from block_fits import assert_same_bits, counts_of, evenly, fit, write
from scipy.io import mmwrite

from threecpo import CountTable, ThreeCPO, distributed, write_counts
from threecpo._errors import DataFormatError
from threecpo.io.blocks import open_blocks, read_row_labels, write_blocks

NAMES = [f"gene {j}" for j in range(8)]


@pytest.fixture(scope="module", name="X")
def counts():
    return counts_of()[0]


@pytest.fixture(scope="module")
def expected(X):
    return fit(X)


def read_all(blocks, **options):
    """All rows that a source reads, in one dense array."""
    with open_blocks(blocks, **options) as source:
        counts = [read() for read in source.readers]
        if source.largest is not None:
            assert max(len(part.data) for part in counts) <= source.largest
    return np.vstack([part.matrix().toarray() for part in counts])


def adata_of(X, **options):
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    return anndata.AnnData(sp.csr_matrix(X), var=pd.DataFrame(index=NAMES), **options)


class TestAnnData:
    @pytest.fixture
    def save(self, request, tmp_path):
        kind = getattr(request, "param", "h5ad")

        def save(adata):
            path = tmp_path / f"atlas.{kind}"
            if kind == "zarr":
                pytest.importorskip("zarr")
                adata.write_zarr(path)
            else:
                adata.write_h5ad(path)
            return path

        return save

    @pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
    @pytest.mark.parametrize("save", ["h5ad", "zarr"], indirect=True)
    def test_x_is_read_in_blocks(self, save, X, expected):
        path = save(adata_of(X.astype(np.float32)))
        found = fit(path, fitting={"max_memory": "100kB"})
        assert_same_bits(found, expected)
        assert found.feature_names_in_.tolist() == NAMES

    @pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
    def test_the_layer_of_counts_goes_before_x(self, save, X):
        adata = adata_of(np.log1p(X.toarray()), layers={"counts": sp.csr_matrix(X)})
        adata.layers["twice"] = sp.csr_matrix(2 * X)
        path = save(adata)
        np.testing.assert_array_equal(read_all(path), X.toarray())
        np.testing.assert_array_equal(read_all(path, layer="twice"), 2 * X.toarray())
        with pytest.raises(DataFormatError, match="no layer 'raw counts'"):
            read_all(path, layer="raw counts")

    @pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
    def test_x_that_holds_no_counts_is_refused_unless_named(self, save, X):
        path = save(adata_of(X * 0.7))
        with pytest.raises(ValueError, match="not integers, and no other matrix"):
            fit(path)
        with pytest.warns(UserWarning, match="not integers"):
            fit(path, fitting={"layer": "X"})

    @pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
    def test_full_matrices_are_read_by_rows(self, save, X):
        adata = adata_of(X)
        adata.X = X.toarray()
        path = save(adata)
        found = read_all(path, block_counts=100)
        np.testing.assert_array_equal(found, X.toarray())

    @pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
    @pytest.mark.parametrize("save", ["h5ad", "zarr"], indirect=True)
    def test_matrices_by_columns_are_sorted_into_rows(self, save, X, expected):
        adata = adata_of(X)
        adata.X = sp.csc_matrix(X)
        path = save(adata)
        for block_counts in (50, 1000, 10**6):
            found = read_all(path, block_counts=block_counts)
            np.testing.assert_array_equal(found, X.toarray())
        model = fit(path, fitting={"max_memory": "100kB"})
        assert_same_bits(model, expected)
        assert model.feature_names_in_.tolist() == NAMES
        adata.X = sp.csc_matrix(X * 0.7)
        path = save(adata)
        with pytest.raises(ValueError, match="not integers, and no other matrix"):
            fit(path)

    def test_what_is_no_anndata_is_refused(self, tmp_path):
        h5py = pytest.importorskip("h5py")
        path = tmp_path / "other.h5ad"
        with h5py.File(path, "w") as file:
            file["values"] = [1, 2]
        with pytest.raises(DataFormatError, match="lacks obs or var"):
            read_all(path)
        path.write_bytes(b"no HDF5 at all")
        with pytest.raises(DataFormatError, match="cannot be read"):
            read_all(path)

    @pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
    @pytest.mark.parametrize(
        ("place", "form"), [("indptr", sp.csr_matrix), ("indices", sp.csc_matrix)]
    )
    def test_damaged_indices_are_refused(self, tmp_path, X, place, form):
        h5py = pytest.importorskip("h5py")
        path = tmp_path / "atlas.h5ad"
        adata = adata_of(X)
        adata.X = form(X)
        adata.write_h5ad(path)
        with h5py.File(path, "r+") as file:
            file["X"][place][5] = 10**6
        with pytest.raises(DataFormatError, match=str(path)):
            fit(path)


class TestFolders:
    def test_npz_blocks_come_in_the_order_of_their_numbers(self, tmp_path, X, expected):
        write(X, tmp_path / "X", 12, column_names=NAMES)
        found = fit(tmp_path / "X")
        assert_same_bits(found, expected)
        assert found.feature_names_in_.tolist() == NAMES
        for i, read in enumerate(evenly(X, 12)):
            (tmp_path / "X" / f"{i:06d}.npz").unlink()
            sp.save_npz(tmp_path / "X" / f"block-{i}.npz", sp.csr_matrix(read()))
        np.testing.assert_array_equal(read_all(tmp_path / "X"), X.toarray())

    def test_one_npz_file_is_one_block(self, tmp_path, X, expected):
        sp.save_npz(tmp_path / "x.npz", X)
        assert_same_bits(fit(str(tmp_path / "x.npz")), expected)

    def test_parquet_blocks(self, tmp_path, X, expected):
        pytest.importorskip("pyarrow")
        import pandas as pd

        for i, read in enumerate(evenly(X, 4)):
            frame = pd.DataFrame(read().toarray().astype(int), columns=NAMES)
            frame.to_parquet(tmp_path / f"part-{i}.parquet")
        found = fit(tmp_path)
        assert_same_bits(found, expected)
        assert found.feature_names_in_.tolist() == NAMES
        frame[NAMES[::-1]].to_parquet(tmp_path / "part-9.parquet")
        with pytest.raises(DataFormatError, match=r"part-9.* other column names"):
            fit(tmp_path)

    def test_kinds_do_not_mix(self, tmp_path, X):
        sp.save_npz(tmp_path / "a.npz", X)
        (tmp_path / "b.parquet").write_bytes(b"PAR1")
        with pytest.raises(DataFormatError, match="both npz and parquet"):
            read_all(tmp_path)

    def test_pickles_are_not_opened(self, tmp_path):
        np.savez(tmp_path / "a.npz", data=np.array([print], dtype=object))
        with pytest.raises(DataFormatError, match=r"a\.npz"):
            read_all(tmp_path)

    @pytest.mark.parametrize("damage", ["cut", "index", "other"])
    def test_damaged_blocks_are_named(self, tmp_path, X, damage):
        write(X, tmp_path / "X", 3)
        path = tmp_path / "X" / "000001.npz"
        content = path.read_bytes()
        if damage == "index":
            with np.load(path) as file:
                arrays = dict(file)
            arrays["indices"][7] = 100
            np.savez(path, **arrays)
        elif damage == "other":
            np.savez(path, shape=np.array([1, 2]), data=np.ones(3))
        else:
            path.write_bytes(content[: len(content) // 2])
        with pytest.raises(DataFormatError, match=r"000001\.npz"):
            fit(tmp_path / "X")

    def test_blocks_are_written_at_once_or_not_at_all(self, tmp_path, X):
        def blocks():
            yield X[:10]
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_blocks(blocks(), tmp_path / "X")
        assert not list(tmp_path.iterdir())
        write(X, tmp_path / "X")
        with pytest.raises(FileExistsError):
            write(X, tmp_path / "X")

    def test_written_blocks_are_canonical_and_small(self, tmp_path):
        messy = sp.coo_array(([2.0, 3.0, 1.0], ([1, 1, 0], [2, 2, 0])), shape=(2, 4))
        write_blocks([messy, np.eye(2, 4) / 2], tmp_path / "X")
        stored = [np.load(path) for path in sorted((tmp_path / "X").iterdir())]
        assert stored[0]["data"].tolist() == [1, 5]
        assert [file["data"].dtype for file in stored] == [np.int32, np.float64]
        expected = np.vstack([messy.toarray(), np.eye(2, 4) / 2])
        np.testing.assert_array_equal(read_all(tmp_path / "X"), expected)


class TestMatrixMarket:
    def shuffled(self, X, path, *, field="integer", seed=0):
        coo = sp.coo_array(X)
        order = np.random.default_rng(seed).permutation(coo.nnz)
        lines = [
            f"{row + 1} {column + 1}" + (f" {value:g}" if field != "pattern" else "")
            for row, column, value in zip(
                coo.coords[0][order], coo.coords[1][order], coo.data[order], strict=True
            )
        ]
        header = f"%%MatrixMarket matrix coordinate {field} general\n% made up\n"
        sizes = f"{X.shape[0]} {X.shape[1]} {coo.nnz}\n"
        text = header + sizes + "\n".join(lines) + "\n"
        opened = gzip.open if path.suffix == ".gz" else io.open
        with opened(path, "wb") as file:
            file.write(text.encode())
        return path

    @pytest.mark.parametrize("name", ["x.mtx", "x.mtx.gz"])
    def test_lines_of_any_order_become_blocks(self, tmp_path, X, expected, name):
        path = self.shuffled(X, tmp_path / name)
        assert_same_bits(fit(path, fitting={"max_memory": "150kB"}), expected)
        assert [entry.name for entry in tmp_path.iterdir()] == [name]

    @pytest.mark.parametrize("block_counts", [1, 37])
    def test_any_size_of_blocks(self, tmp_path, block_counts):
        Y = np.random.default_rng(0).poisson(0.4, size=(50, 6))
        Y[[0, 20, 49]] = 0
        path = self.shuffled(Y, tmp_path / "x.mtx")
        np.testing.assert_array_equal(read_all(path, block_counts=block_counts), Y)

    def test_patterns_count_once(self, tmp_path, X):
        path = self.shuffled(X, tmp_path / "x.mtx", field="pattern")
        np.testing.assert_array_equal(read_all(path), X.toarray() > 0)

    def test_ten_x_folders_are_turned_round(self, tmp_path, X):
        from threecpo import CountTable, read_counts, write_counts

        names = [f"cell {i}" for i in range(X.shape[0])]
        table = CountTable(X, row_names=names, column_names=NAMES)
        write_counts(table, tmp_path / "cells", format="10x")
        found = read_all(tmp_path / "cells", block_counts=300)
        np.testing.assert_array_equal(
            found, read_counts(tmp_path / "cells").X.todense()
        )
        with open_blocks(tmp_path / "cells") as source:
            assert source.column_names.tolist() == NAMES
        matrix = tmp_path / "cells" / "matrix.mtx.gz"
        matrix.unlink()
        mmwrite(matrix.with_suffix(""), sp.coo_array(X))
        np.testing.assert_array_equal(read_all(tmp_path / "cells"), X.todense())

    @pytest.mark.parametrize(
        "lines",
        [
            "2 2 2\n1 1 3\n",
            "2 2 1\n3 1 5\n",
            "2 2 1\n1 0 5\n",
            "2 2 1\n1 1 x\n",
            "2 2 9999999999\n1 1 3\n",
            f"2 2 {'1' * 400}\n1 1 3\n",
        ],
    )
    def test_damaged_lines_are_refused(self, tmp_path, lines):
        path = tmp_path / "x.mtx"
        path.write_text(f"%%MatrixMarket matrix coordinate integer general\n{lines}")
        with pytest.raises(DataFormatError, match=r"x\.mtx"):
            read_all(path)


class TestCsv:
    def write(self, path, X):
        table = CountTable(X, row_names=[f"r{i}" for i in range(X.shape[0])])
        write_counts(table, path)

    def test_rows_are_those_in_memory(self, X, expected, tmp_path):
        self.write(tmp_path / "t.csv", X)
        with open_blocks(tmp_path / "t.csv", block_counts=200) as source:
            assert len(source.readers) > 2
            assert source.row_names.tolist() == [f"r{i}" for i in range(X.shape[0])]
        assert_same_bits(fit(tmp_path / "t.csv"), expected)
        kept = np.arange(X.shape[0]) % 3 > 0
        with open_blocks(tmp_path / "t.csv", block_counts=200, rows=kept) as source:
            assert len(source.row_names) == kept.sum()
        found = read_all(tmp_path / "t.csv", block_counts=200, rows=kept)
        np.testing.assert_array_equal(found, X.toarray()[kept])

    def test_options_and_errors_are_those_of_reading(self, X, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("k;a;b\nx;1,5;u\ny;2,0;v\n")
        with pytest.raises(DataFormatError, match="line 2, column 'a' holds '1,5'"):
            read_all(path)
        how = {"decimal": ",", "labels": ["b"]}
        assert read_all(path, reading=how).tolist() == [[1.5], [2.0]]
        assert read_row_labels(path, "b", {"decimal": ","}) == ["u", "v"]
        path.write_text("row,column,count\na,x,1\n")
        with pytest.raises(DataFormatError, match="it holds one count per line; only"):
            read_all(path)
        path.write_text("id,note\n1,the cat sat on the mat\n2,a dog lay on the rug\n")
        with pytest.raises(DataFormatError, match="it holds texts; only"):
            read_all(path)

    @pytest.mark.parametrize("name", ["t.csv", "t.h5ad", "t.npz"])
    def test_proportions_are_refused(self, name, X, tmp_path):
        pytest.importorskip("anndata")
        shares = X.toarray() + 1.0
        self.write(tmp_path / name, sp.csr_array(shares / shares.sum(1)[:, None]))
        with pytest.raises(DataFormatError, match="all rows sum to 1: these are prop"):
            read_all(tmp_path / name, block_counts=200)


class TestOthers:
    def test_missing_files(self, tmp_path):
        with pytest.raises(DataFormatError, match="does not exist"):
            read_all(tmp_path / "nowhere.h5ad")

    def test_files_without_blocks_and_empty_folders(self, tmp_path):
        path = tmp_path / "table.xlsx"
        path.write_text("a,b\n1,2\n")
        for given in (path, str(tmp_path)):
            with pytest.raises(DataFormatError, match="cannot be read in blocks"):
                read_all(given)
        with pytest.raises(DataFormatError, match="no blocks"):
            read_all([])

    def test_a_layer_needs_a_file_that_has_some(self, tmp_path, X):
        with pytest.raises(ValueError, match="selects a matrix of a file"):
            read_all(X, layer="counts")
        sp.save_npz(tmp_path / "x.npz", X)
        with pytest.raises(DataFormatError, match="for AnnData and 10x files"):
            read_all(tmp_path / "x.npz", layer="counts")

    def test_counts_in_memory_are_cut_but_not_copied(self, X):
        with open_blocks(X, block_counts=100) as source:
            parts = [read() for read in source.readers]
        assert len(parts) > 5
        assert all(np.shares_memory(part.data, X.data) for part in parts)

    def test_readers_that_fail_say_why(self):
        def read():
            message = "the tape is torn"
            raise OSError(message)

        with pytest.raises(OSError, match="the tape is torn"):
            fit([read])


def test_names_that_do_not_fit_are_told_before_they_are_written(tmp_path):
    with pytest.raises(ValueError, match="has 1 names for 2 columns"):
        write_blocks([np.ones((3, 2))], tmp_path / "X", column_names=["a"])
    assert list(tmp_path.iterdir()) == []


def test_no_blocks_are_no_folder(tmp_path):
    with pytest.raises(ValueError, match="There are no blocks to write"):
        write_blocks(iter([]), tmp_path / "X")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_count_is_told_as_it_is(tmp_path):
    """Cast to 32 bits it would be another number, perhaps a count."""
    block = np.ones((3, 2))
    block[1, 0] = -1e12
    write_blocks([block], tmp_path / "X")
    with pytest.raises(ValueError, match=r"row 1, column 0 holds -1e\+12"):
        distributed.fit(ThreeCPO(2), tmp_path / "X")
