"""Files that are read: counts as spreadsheets, sequencers and libraries write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from pathlib import Path

# Cells x genes, with so many counts; a table of rows x columns; a sheet.
CELLS, GENES, STORED = 10_000, 20_000, 3_000_000
ROWS, COLUMNS = 20_000, 300
SHEET_ROWS, SHEET_COLUMNS = 4000, 100
_CHUNK = 80_000


def sparse_counts() -> Any:
    """Cells x genes, of which some have many more counts than others."""
    rng = np.random.default_rng(0)
    genes = (GENES * rng.beta(0.5, 3, size=STORED)).astype(int)
    places = (np.sort(rng.integers(CELLS, size=STORED)), np.minimum(genes, GENES - 1))
    counts = 1 + rng.poisson(1.0, size=STORED)
    return sp.coo_array((counts, places), shape=(CELLS, GENES)).tocsr()


def write_all(folder: Path) -> dict[str, Path]:
    """Write a file of each format; their paths."""
    import pandas as pd
    from scipy.io import mmwrite

    cells = sparse_counts()
    files = {
        "mtx": folder / "cells.mtx",
        "10x-h5": folder / "cells.h5",
        "csv": folder / "table.csv",
        "parquet": folder / "table.parquet",
        "xlsx": folder / "sheet.xlsx",
    }
    mmwrite(files["mtx"], cells.T.tocoo())
    _write_tenx(cells, files["10x-h5"])
    rng = np.random.default_rng(1)
    counts = rng.poisson(rng.gamma(0.3, 3, size=(1, COLUMNS)), size=(ROWS, COLUMNS))
    names = ([f"r{i}" for i in range(ROWS)], [f"c{j}" for j in range(COLUMNS)])
    frame = pd.DataFrame(counts, *names)
    frame.to_csv(files["csv"])
    frame.to_parquet(files["parquet"])
    frame.iloc[:SHEET_ROWS, :SHEET_COLUMNS].to_excel(files["xlsx"])
    return files


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
