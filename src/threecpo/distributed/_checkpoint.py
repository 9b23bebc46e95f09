"""The state of all runs after a pass, in a folder, without pickle.

``state.json`` names one file for each run that has sums. Files are written under new
names and brought to disk before it is replaced, so that at any moment it tells of one
finished pass; what it does not name is removed afterwards.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import __version__
from .._core.loops.records import Profile
from .._core.riding import Ride, Rider
from .._core.run import Running
from .._core.sums import Sums

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._core.run import Settings

FORMAT = "threecpo-checkpoint"
VERSION = 1
STATE = "state.json"
_OURS = re.compile(r"state\.json(\.part)?|(sums|run-\d+)-\d+\.npz")
# What changes the way but not the result.
_WITHOUT = ("n_jobs", "verbose")


class Checkpoint:
    """A folder that belongs to one fit: these parameters, this version, these data."""

    def __init__(
        self,
        folder: Path,
        estimator: Any,
        sample_rows: int | None,
        *,
        drop_hopeless: bool,
    ) -> None:
        self._folder = folder
        parameters = {
            name: _told(value)
            for name, value in estimator.get_params(deep=False).items()
            if name not in _WITHOUT
        }
        self._fit = {
            "estimator": type(estimator).__name__,
            **parameters,
            "sample_rows": sample_rows,
            "drop_hopeless": drop_hopeless,
        }
        self._files: dict[str, dict[str, str]] = {}
        # Files of runs that have ended, which do not change any more.
        self._final: set[str] = set()
        self._prepare()

    def _prepare(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        others = [
            path.name
            for path in self._folder.iterdir()
            if not _OURS.fullmatch(path.name)
        ]
        if others:
            message = (
                f"checkpoint={str(self._folder)!r} holds other files, such as "
                f"{sorted(others)[0]}; name a folder of its own."
            )
            raise ValueError(message)

    def load(self, settings: Settings, data: Sums) -> Ride | None:
        """Return the runs as they were after the last finished pass, if any."""
        path = self._folder / STATE
        if not path.exists():
            return None
        try:
            state = json.loads(path.read_bytes())
            known = state["format"] == FORMAT
        except (ValueError, KeyError, TypeError):
            self._refuse(f"{STATE} cannot be read")
        if not known:
            self._refuse(f"{STATE} is of another kind")
        self._check_same_fit(state)
        try:
            self._check_same_data(state, data)
            self._files = state["files"]
            riders = [
                self._rider(i, told, settings, data)
                for i, told in enumerate(state["runs"])
            ]
            return Ride(
                riders,
                settings,
                data.totals,
                data.n_rows,
                drop_hopeless=bool(state["fit"]["drop_hopeless"]),
                n_passes=int(state["n_passes"]),
            )
        except (KeyError, TypeError, IndexError) as error:
            self._refuse(f"{STATE} lacks {error}")

    def save(self, ride: Ride) -> None:
        """Write the state beside the old one, then let it take its place."""
        before = f"after pass {ride.n_passes - 1}" if ride.n_passes else "of nothing"
        with self._told_if_full(before):
            if "sums" not in self._files:
                totals = {"totals": ride.totals, "n_rows": np.array(ride.n_rows)}
                self._files["sums"] = self._write("sums", ride.n_passes, totals)
            for i, rider in enumerate(ride.riders):
                name = f"run-{i}"
                if not _has_sums(rider):
                    self._files.pop(name, None)
                elif name not in self._final:
                    arrays = _arrays(rider)
                    self._files[name] = self._write(name, ride.n_passes, arrays)
                    if rider.ended:
                        self._final.add(name)
            state = {
                "format": FORMAT,
                "version": VERSION,
                "threecpo": __version__,
                "fit": self._fit,
                "n_passes": ride.n_passes,
                "runs": [_told_of(rider) for rider in ride.riders],
                "files": self._files,
            }
            self._to_disk(f"{STATE}.part", json.dumps(state).encode())
            (self._folder / f"{STATE}.part").replace(self._folder / STATE)
            _sync_folder(self._folder)
        named = {file["name"] for file in self._files.values()} | {STATE}
        for path in self._folder.iterdir():
            if path.name not in named:
                path.unlink(missing_ok=True)

    def _write(
        self, name: str, n_passes: int, arrays: dict[str, Any]
    ) -> dict[str, str]:
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        content = buffer.getvalue()
        file = f"{name}-{n_passes}.npz"
        self._to_disk(file, content)
        return {"name": file, "digest": blake2b(content).hexdigest()}

    def _to_disk(self, name: str, content: bytes) -> None:
        with (self._folder / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _read(self, name: str) -> dict[str, Any]:
        told = self._files[name]
        path = self._folder / Path(told["name"]).name
        try:
            content = path.read_bytes()
        except OSError:
            self._refuse(f"{path.name} is missing")
        if blake2b(content).hexdigest() != told["digest"]:
            self._refuse(f"{path.name} is half-written or changed")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {key: file[key] for key in file.files}

    def _rider(
        self, i: int, told: dict[str, Any], settings: Settings, data: Sums
    ) -> Rider:
        loss = np.inf if told["loss"] is None else float(told["loss"])
        state = {"loss": loss, "ended": told["ended"], "twin": told["twin"]}
        if told["ended"]:
            self._final.add(f"run-{i}")
        if f"run-{i}" not in self._files:
            return Rider(np.empty(0, np.int8), **state)
        arrays = self._read(f"run-{i}")
        groups = arrays.pop("groups")
        if "sums" not in arrays:
            fields: Any = {n: v if v.ndim else v.item() for n, v in arrays.items()}
            return Rider(groups, profile=Profile(**fields), **state)
        sums, behind = (
            Sums(
                arrays[f"{prefix}sums"],
                arrays[f"{prefix}sizes"],
                arrays["log_sizes"],
                arrays["log_size_total"],
                data.totals,
                data.n_rows,
            )
            for prefix in ("", "behind_")
        )
        running = Running(sums, groups, settings)
        running.behind = behind
        running.lines = told["history"]
        running.seen = {bytes.fromhex(digest) for digest in told["seen"]}
        running.finished, running.converged = told["finished"], told["converged"]
        return Rider(groups, running=running, **state)

    def _check_same_fit(self, state: dict[str, Any]) -> None:
        ours = {"version": VERSION, "threecpo": __version__}
        for name, value in ours.items():
            if state.get(name) != value:
                message = (
                    f"The checkpoint in {self._folder} was written by another "
                    f"threecpo ({name} {state.get(name)}, here {value}); remove it to "
                    "start again."
                )
                raise ValueError(message)
        theirs, fit = state.get("fit") or {}, json.loads(json.dumps(self._fit))
        for name in sorted({*theirs, *fit}):
            if theirs.get(name) != fit.get(name):
                message = (
                    f"The checkpoint in {self._folder} belongs to a fit with "
                    f"{name}={theirs.get(name)!r}, not {fit.get(name)!r}; name another "
                    "folder, or remove it to start again."
                )
                raise ValueError(message)

    def _check_same_data(self, state: dict[str, Any], data: Sums) -> None:
        self._files = state["files"]
        sums = self._read("sums")
        same = sums["totals"].shape == data.totals.shape and np.allclose(
            sums["totals"], data.totals, rtol=1e-9, atol=0
        )
        if not same or int(sums["n_rows"]) != data.n_rows:
            message = (
                f"The checkpoint in {self._folder} belongs to other data: column "
                "totals or numbers of rows differ; name another folder, or remove it."
            )
            raise ValueError(message)

    def _refuse(self, what: str) -> NoReturn:
        message = (
            f"The checkpoint in {self._folder} is damaged: {what}; remove it to start "
            "again."
        )
        raise ValueError(message)

    @contextmanager
    def _told_if_full(self, before: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            reason = "the disk is full" if full else error.strerror
            message = (
                f"The checkpoint in {self._folder} could not be written: {reason}. The "
                f"state {before} is still there; the same call goes on from it."
            )
            raise OSError(error.errno, message) from error


def _has_sums(rider: Rider) -> bool:
    return rider.running is not None or rider.profile is not None


def _arrays(rider: Rider) -> dict[str, Any]:
    running = rider.running
    if running is None:
        assert rider.profile is not None
        return {"groups": rider.groups} | rider.profile._asdict()
    return {
        "groups": running.groups,
        "sums": running.sums.table,
        "sizes": running.sums.members,
        "log_sizes": running.sums.log_sizes,
        "log_size_total": running.sums.log_size_total,
        "behind_sums": running.behind.table,
        "behind_sizes": running.behind.members,
    }


def _told_of(rider: Rider) -> dict[str, Any]:
    told: dict[str, Any] = {
        "loss": rider.loss if np.isfinite(rider.loss) else None,
        "ended": rider.ended,
        "twin": rider.twin,
    }
    if rider.running is not None:
        running = rider.running
        told |= {
            "history": running.lines,
            "seen": sorted(digest.hex() for digest in running.seen),
            "finished": running.finished,
            "converged": bool(running.converged),
        }
    return told


def _told(value: Any) -> Any:
    """A parameter as JSON: itself, or what stands for it."""
    if hasattr(value, "_fitted"):
        value = value._fitted.sums.table
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list) and len(value) < 10:
        return [_told(each) for each in value]
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return type(value).__name__
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    return blake2b(np.ascontiguousarray(value).tobytes()).hexdigest()


def _sync_folder(folder: Path) -> None:
    """Bring a renaming to disk, where folders can be opened for that."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
