"""What belongs to rows beside their counts: weights, batches, known clusters."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from .codes import FREE, all_held

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .codes import Floats, Ints


@dataclass(frozen=True, eq=False)
class RowInfo:
    """What is known of each row; None where nothing is.

    ``weights`` say how often a row counts; a fit leaves out rows of weight 0.
    ``batches`` are numbers of ``batch_names``. ``known`` is the cluster that a row is
    held in, ``FREE``, or below that ``starting_code`` of the cluster where it only
    starts; ``known_names`` are the names of these clusters, "" for none.
    """

    weights: Floats | None = None
    batches: Ints | None = None
    batch_names: tuple[str, ...] = ()
    known: Ints | None = None
    known_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, array in self.arrays().items():
            object.__setattr__(self, name, read_only(array))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays come out of a pickle writeable.
        vars(self).update(state)
        self.__post_init__()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What there is of each row, by name."""
        named = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: array for name, array in named if isinstance(array, np.ndarray)}

    def take(self, rows: Any) -> RowInfo:
        """Return what belongs to some rows: their numbers, a mask or a slice."""
        arrays = self.arrays()
        if not arrays:
            return self
        return replace(self, **{name: array[rows] for name, array in arrays.items()})

    @staticmethod
    def stacked(parts: Sequence[RowInfo]) -> RowInfo:
        """Return what belongs to the rows of several parts below each other."""
        arrays: dict[str, Any] = {
            name: np.concatenate([part.arrays()[name] for part in parts])
            for name in parts[0].arrays()
        }
        return replace(parts[0], **arrays)

    def weighted(self, weights: Floats | None) -> RowInfo:
        """Return the same rows, each counting so many times as often."""
        if weights is None:
            return self
        own = self.weights
        return replace(self, weights=weights if own is None else own * weights)

    @property
    def n_batches(self) -> int:
        """Number of batches; rows without any are one."""
        return 1 if self.batches is None else len(self.batch_names)

    @property
    def kept(self) -> NDArray[np.intp] | None:
        """Rows that a fit is made of; None for all."""
        if self.weights is None or self.weights.all():
            return None
        return np.flatnonzero(self.weights)

    def most_clusters(self, n_rows: int) -> int:
        """Clusters that so many rows can have: known ones, and one a free row."""
        held = self.all_held.known
        counted = slice(None) if self.kept is None else self.kept
        n_kept = n_rows if self.kept is None else len(self.kept)
        n_held = 0 if held is None else int((held[counted] >= 0).sum())
        return n_kept - n_held + len(self.known_names)

    @property
    def unlabelled(self) -> RowInfo:
        """The same without known clusters."""
        return replace(self, known=None, known_names=())

    @property
    def may_leave(self) -> bool:
        """Whether some rows only start in their known clusters."""
        return self.known is not None and bool((self.known < FREE).any())

    @property
    def all_held(self) -> RowInfo:
        """The same with every row held in its known cluster."""
        if self.known is None or not self.may_leave:
            return self
        return replace(self, known=all_held(self.known))

    @property
    def digest(self) -> str | None:
        """What stands for all of it in the state of a fit; None where nothing is."""
        arrays = self.arrays()
        if not arrays:
            return None
        found = blake2b(repr((self.batch_names, self.known_names)).encode())
        for name, array in arrays.items():
            found.update(name.encode())
            found.update(array.tobytes())
        return found.hexdigest()[:16]


NOTHING = RowInfo()


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view
