"""The data sets of the experiments: Synth, the paper's, and prepared matrices."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from threecpo import CountTable
from threecpo.datasets import make_synth

from ..datasets import SOURCES, DataNotFoundError, load, missing_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

SYNTH = "Synth"
# The paper draws Synth once and does not say with which seed.
GENERATOR_SEED = 0


@dataclass(frozen=True, eq=False)
class Data:
    """Counts with their classes, under the name that results give them."""

    name: str
    X: sp.csr_array
    labels: NDArray[np.int64]
    column_names: NDArray[np.object_] | None = None
    label_names: NDArray[np.object_] | None = None

    def label_name(self, label: int) -> str:
        return str(label if self.label_names is None else self.label_names[label])

    @property
    def n_clusters(self) -> int:
        return len(np.unique(self.labels))

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the counts and classes; names and types do not matter."""
        digest = hashlib.sha256(repr(self.X.shape).encode())
        digest.update(self.X.data.astype(np.float64).tobytes())
        for part in (self.X.indices, self.X.indptr, self.labels):
            digest.update(part.astype(np.int64).tobytes())
        return digest.hexdigest()[:16]


def synth(
    random_state: int = GENERATOR_SEED, name: str = SYNTH, **options: Any
) -> Data:
    """Draw Synth or one of its variants."""
    X, labels = make_synth(random_state=random_state, **options)
    return _of_table(name, CountTable(sp.csr_array(X), labels=labels))


def paper_names() -> list[str]:
    return [SYNTH, *(source.paper_name for source in SOURCES.values())]


class Library:
    """Data sets by name, each loaded once; what is not at hand is told once."""

    def __init__(
        self, files: Sequence[Path], *, download: bool, say: Callable[[str], None]
    ) -> None:
        self._files = {path.stem: path for path in files}
        self._download = download
        self._say = say
        self._loaded: dict[str, Data | None] = {}
        self.reasons: dict[str, str] = {}

    @property
    def prepared(self) -> list[str]:
        """Names of the matrices that were given as files."""
        return list(self._files)

    def resolve(self, asked: Iterable[str]) -> list[str]:
        """Names as results give them; other ways to write them are understood."""
        known = {name.lower(): name for name in [*paper_names(), *self._files]}
        known |= {source.name: source.paper_name for source in SOURCES.values()}
        resolved = []
        for name in asked:
            if name.lower() not in known:
                message = (
                    f"There is no data set {name!r}; there are "
                    f"{', '.join([*paper_names(), *self._files])}."
                )
                raise ValueError(message)
            resolved.append(known[name.lower()])
        return list(dict.fromkeys(resolved))

    def load(self, names: Iterable[str]) -> list[Data]:
        """Return those of the data sets that are on this machine."""
        found = [self._one(name) for name in names]
        return [data for data in found if data is not None]

    def _one(self, name: str) -> Data | None:
        if name not in self._loaded:
            try:
                self._loaded[name] = self._read(name)
            except (DataNotFoundError, ImportError) as error:
                self.reasons[name] = str(error)
                self._say(f"{name} is left out: {error}")
                self._loaded[name] = None
        return self._loaded[name]

    def _read(self, name: str) -> Data:
        if name in self._files:
            return read_matrix(self._files[name])
        if name == SYNTH:
            return synth()
        (source,) = (s for s in SOURCES.values() if s.paper_name == name)
        missing = missing_files(source)
        if missing and not self._download:
            message = (
                f"no {' and no '.join(missing)} on this machine. Name its folder by "
                "THREECPO_DATA, or download it with --download."
            )
            raise DataNotFoundError(message)
        return _of_table(name, load(source.name))


def read_matrix(path: Path) -> Data:
    """Read a CSR matrix with labels from an .npz file."""
    with np.load(path, allow_pickle=False) as file:
        needed = {"data", "indices", "indptr", "shape", "labels"}
        if not needed <= set(file):
            message = f"{path} has no {', '.join(sorted(needed - set(file)))}."
            raise ValueError(message)
        parts = (file["data"], file["indices"], file["indptr"])
        X = sp.csr_array(parts, shape=tuple(file["shape"]))
        table = CountTable(
            X,
            column_names=file.get("feature_names"),
            labels=file["labels"],
            label_names=file.get("label_names"),
        )
    return _of_table(path.stem, table)


def _of_table(name: str, table: CountTable) -> Data:
    if table.labels is None or (table.labels < 0).any():
        message = f"{name} has no class for some rows; experiments need all."
        raise ValueError(message)
    names = table.column_names, table.label_names
    return Data(name, table.X, table.labels, *names)
