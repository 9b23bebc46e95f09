"""Files that are read: counts as spreadsheets, sequencers and libraries write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from pathlib import Path

# Kinds of files, and what they hold.
KINDS = {
    "csv, narrow": "18 846 rows x 2 000 columns",
    "csv, wide": "6 000 rows x 20 000 columns",
    "csv, long": "triples, a count a line",
    "parquet, narrow": "18 846 rows x 2 000 columns",
    "parquet, wide": "6 000 rows x 20 000 columns",
    "xlsx": "4 000 rows x 100 columns",
    "mtx": "10 000 cells x 20 000 genes, 3 million counts",
    "10x": "the same in HDF5",
}
SMALL = {kind: f"small {kind}" for kind in KINDS}
_SHAPES = {"narrow": (18_846, 2000), "wide": (6000, 20_000)}
_SHEET = (4000, 100)
_CELLS, _GENES, _STORED = 10_000, 20_000, 3_000_000
_CHUNK = 80_000
_ROWS_AT_A_TIME = 500


def write_file(kind: str, folder: Path, long_megabytes: int) -> Path:
    """Write a file of this kind; its path."""
    small = kind.startswith("small ")
    form = kind.removeprefix("small ").partition(",")[0]
    shape = (20, 5) if small else _SHAPES.get(kind.rpartition(" ")[2], _SHEET)
    path = folder / f"{kind.replace(', ', '-').replace(' ', '-')}.{_suffix(form)}"
    if kind.endswith("long"):
        _write_triples(path, 1 if small else long_megabytes)
    elif form == "csv":
        _write_csv(path, shape)
    elif form in ("parquet", "xlsx"):
        frame = _frame(shape)
        (frame.to_parquet if form == "parquet" else frame.to_excel)(path)
    else:
        _write_cells(path, small=small)
    return path


def _suffix(form: str) -> str:
    return {"10x": "h5"}.get(form, form)


def _counts(shape: tuple[int, int], rows: int) -> Any:
    rng = np.random.default_rng(rows)
    return rng.poisson(rng.gamma(0.1, 0.5, size=(1, shape[1])), size=(rows, shape[1]))


def _frame(shape: tuple[int, int]) -> Any:
    import pandas as pd

    names = ([f"r{i}" for i in range(shape[0])], [f"c{j}" for j in range(shape[1])])
    return pd.DataFrame(_counts(shape, shape[0]), *names)


def _write_csv(path: Path, shape: tuple[int, int]) -> None:
    with path.open("w") as file:
        file.write(",".join(["", *(f"c{j}" for j in range(shape[1]))]) + "\n")
        for start in range(0, shape[0], _ROWS_AT_A_TIME):
            rows = min(_ROWS_AT_A_TIME, shape[0] - start)
            for i, row in enumerate(_counts(shape, rows).tolist(), start):
                file.write(f"r{i}," + ",".join(map(str, row)) + "\n")


def _write_triples(path: Path, megabytes: int) -> None:
    rng, cell = np.random.default_rng(0), 0
    with path.open("w") as file:
        file.write("cell,gene,count\n")
        while file.tell() < megabytes * 1_000_000:
            genes = rng.integers(0, 20_000, size=1000).tolist()
            file.write(
                "".join(f"CELL{cell:07d},ENSG{g:011d},{g % 5 + 1}\n" for g in genes)
            )
            cell += 1


def _write_cells(path: Path, *, small: bool) -> None:
    """Cells x genes, of which some have many more counts than others."""
    from scipy.io import mmwrite

    n_cells, n_genes, stored = (20, 20, 50) if small else (_CELLS, _GENES, _STORED)
    rng = np.random.default_rng(0)
    genes = np.minimum(
        (n_genes * rng.beta(0.5, 3, size=stored)).astype(int), n_genes - 1
    )
    places = (np.sort(rng.integers(n_cells, size=stored)), genes)
    counts = 1 + rng.poisson(1.0, size=stored)
    cells = sp.coo_array((counts, places), shape=(n_cells, n_genes)).tocsr()
    if path.suffix == ".mtx":
        mmwrite(path, cells.T.tocoo())
    else:
        _write_tenx(cells, path)


def _write_tenx(cells: Any, path: Path) -> None:
    """Write a file as Cell Ranger 3 does."""
    import h5py

    packed = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
    n_cells, n_genes = cells.shape
    features = {
        "id": [f"ENSG{i:011d}" for i in range(n_genes)],
        "name": [f"GENE{i}" for i in range(n_genes)],
        "feature_type": ["Gene Expression"] * n_genes,
        "genome": ["GRCh38"] * n_genes,
    }
    arrays = {
        "data": cells.data.astype(np.int32),
        "indices": cells.indices.astype(np.int64),
        "indptr": cells.indptr.astype(np.int64),
        "barcodes": np.array([f"BC{i:08d}-1" for i in range(n_cells)], dtype="S"),
        **{f"features/{name}": np.array(v, dtype="S") for name, v in features.items()},
    }
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix")
        for name, values in arrays.items():
            chunks = (min(_CHUNK, len(values)),)
            group.create_dataset(name, data=values, chunks=chunks, **packed)
        group["shape"] = np.array([n_genes, n_cells], dtype=np.int32)
