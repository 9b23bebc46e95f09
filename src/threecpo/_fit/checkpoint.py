"""The state of all runs after a pass, in a folder, without pickle.

``state.json`` names one file for each run that has sums. Files are written under new
names and brought to disk before it is replaced, so that at any moment it describes one
finished pass; what it does not name is removed afterwards. One process at a time has
the folder.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import zipfile
from contextlib import contextmanager
from hashlib import blake2b
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .._core.codes import PRICES
from .._core.run import HISTORY, RunState
from .._errors import one_line
from .._writing import write_arrays
from . import stored
from .shared_pass import PendingRun, SharedPass
from .stored import choice, number, optional, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from .._core.run import Settings
    from .._core.sums import Sums
    from .plan import Plan


FORMAT = "threecpo-checkpoint"
VERSIONS = {"version": 5, "numerics": stored.NUMERICS_VERSION}
STATE = "state.json"
LOCK = "lock"
_OURS = re.compile(r"state\.json(\.part)?|lock|run-\d+-\d+\.npz")
# What tells the data of a fit from others.
OF_DATA = {
    "content": "counts",
    "n_rows": "numbers of rows",
    "rows": "weights, batches or known clusters",
}
# Of finite numbers above 0, in absolute value.
_LARGEST_LOGARITHM = 746.0
# What changes the way but not the result.
_WITHOUT_EFFECT = ("n_jobs", "verbose")


class Checkpoint:
    """A folder that belongs to one fit: these parameters, these data."""

    def __init__(self, folder: Path, plan: Plan, options: dict[str, Any]) -> None:
        self._folder = folder
        self._settings = plan.settings
        if plan.settings.price not in PRICES.values():
            message = (
                "checkpoint= does not support column_penalty as a function: it cannot "
                "be compared with that of a later call. Use 'mdl', 'bic' or None."
            )
            raise ValueError(message)
        self._fit = {"estimator": plan.name, **plan.parameters, **options}
        for name in _WITHOUT_EFFECT:
            self._fit.pop(name, None)
        self._files: dict[str, dict[str, str]] = {}
        # Files of runs that have ended, which do not change any more.
        self._final: set[str] = set()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Have the folder, alone, until the fit ends."""
        self._folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in self._folder.iterdir())
        others = [name for name in names if not _OURS.fullmatch(name)]
        if others:
            message = (
                f"checkpoint={str(self._folder)!r} holds other files, such as "
                f"{one_line(others[0])}; name a folder of its own."
            )
            raise ValueError(message)
        with _locked(self._folder):
            yield

    def load(self, data: Sums) -> SharedPass | None:
        """Return the runs as they were after the last finished pass, if any."""
        state = self._read_state()
        if state is None:
            return None
        self._check_same_fit(state)
        try:
            self._files = _file_names(state["files"])
            listed = state["runs"]
            if not isinstance(listed, list) or not listed:
                self._refuse(f"{STATE} has no runs")
            runs = []
            for i, facts in enumerate(listed):
                name = f"run-{i}"
                if facts["ended"]:
                    self._final.add(name)
                arrays = self._read(name) if name in self._files else None
                runs.append(_run_from(i, facts, arrays, self._settings, data))
            shared = SharedPass(
                runs,
                self._settings,
                data,
                n_passes=int(number(state, "n_passes", 0)),
                tol=number(state["fit"], "tol", 0),
                n_extra_searches=int(number(state, "n_extra_searches", 0)),
                keep=self.save,
            )
            ended = [run for run in shared.runs if run.ended]
            if ended and min(ended, key=attrgetter("loss")).running is None:
                self._refuse("the best run has no sums")
            return shared
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            self._refuse(f"{STATE} lacks {error}")
        except stored.DamagedFieldError as error:
            self._refuse(str(error))

    def save(self, shared: SharedPass) -> None:
        """Write the state beside the old one, then let it take its place."""
        try:
            self._save(shared)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            reason = "the disk is full" if full else error.strerror
            kept = f"after pass {shared.n_passes - 1}" if shared.n_passes else "before"
            message = (
                f"The checkpoint in {self._folder} could not be written: {reason}. The "
                f"state {kept} is still there; the same call resumes from it."
            )
            raise OSError(error.errno, message) from error
        named = {file["name"] for file in self._files.values()} | {STATE, LOCK}
        for path in self._folder.iterdir():
            if path.name not in named:
                path.unlink(missing_ok=True)

    def _save(self, shared: SharedPass) -> None:
        for i, run in enumerate(shared.runs):
            name, arrays = f"run-{i}", _arrays_of(run)
            if arrays is None:
                self._files.pop(name, None)
            elif name not in self._final:
                buffer = io.BytesIO()
                write_arrays(buffer, arrays)
                content, file = buffer.getvalue(), f"{name}-{shared.n_passes}.npz"
                self._to_disk(file, content)
                self._files[name] = {"name": file, "digest": _digest(content)}
                if run.ended:
                    self._final.add(name)
        state = {
            "format": FORMAT,
            **VERSIONS,
            "fit": self._fit,
            "n_passes": shared.n_passes,
            "n_extra_searches": shared.n_extra_searches,
            "runs": [_facts_of(run) for run in shared.runs],
            "files": self._files,
        }
        text = json.dumps(state)
        outer = json.dumps({"digest": _digest(text.encode()), "state": text})
        self._to_disk(f"{STATE}.part", outer.encode())
        (self._folder / f"{STATE}.part").replace(self._folder / STATE)
        _sync_folder(self._folder)

    def _to_disk(self, name: str, content: bytes) -> None:
        with (self._folder / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _read(self, name: str) -> dict[str, Any]:
        file = self._files[name]
        path = self._folder / file["name"]
        if not path.is_file():
            self._refuse(f"{path.name} is missing")
        content = path.read_bytes()
        if _digest(content) != file["digest"]:
            self._refuse(f"{path.name} is half-written or changed")
        try:
            return _unpacked(content)
        except Exception:  # noqa: BLE001 - numpy raises many kinds on a crafted file
            self._refuse(f"{path.name} cannot be read")

    def _read_state(self) -> dict[str, Any] | None:
        path = self._folder / STATE
        if not path.exists():
            return None
        if not path.is_file():
            self._refuse(f"{STATE} is not a file")
        try:
            outer = json.loads(path.read_bytes())
            text, digest = outer["state"], outer["digest"]
            state: dict[str, Any] = json.loads(text)
            known = state["format"] == FORMAT
        except (ValueError, KeyError, TypeError, RecursionError):
            self._refuse(f"{STATE} cannot be read")
        if not known:
            self._refuse(f"{STATE} is of another kind")
        if _digest(text.encode("utf-8", "surrogatepass")) != digest:
            self._refuse(f"{STATE} is half-written or changed")
        return state

    def _check_same_fit(self, state: dict[str, Any]) -> None:
        for name, value in VERSIONS.items():
            if state.get(name) != value:
                self._raise(
                    f"was written by another threecpo ({name} "
                    f"{one_line(state.get(name))}, here {value}); remove it to start "
                    "again."
                )
        theirs, fit = state.get("fit"), json.loads(json.dumps(self._fit))
        if not isinstance(theirs, dict):
            self._refuse(f"{STATE} lacks the parameters of the fit")
        for name in sorted({*theirs, *fit}):
            if theirs.get(name) == fit.get(name):
                continue
            if name in OF_DATA:
                self._raise(
                    f"belongs to other data: {OF_DATA[name]} differ; name another "
                    "folder, or remove it."
                )
            self._raise(
                f"belongs to a fit with {one_line(name)}="
                f"{one_line(repr(theirs.get(name)))}, not {fit.get(name)!r}; name "
                "another folder, or remove it to start again."
            )

    def _refuse(self, what: str) -> NoReturn:
        self._raise(f"is damaged: {one_line(what)}; remove it to start again.")

    def _raise(self, what: str) -> NoReturn:
        message = f"The checkpoint in {self._folder} {what}"
        raise ValueError(message)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock that the system takes back when this process ends, however."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        yield
        return
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            message = (
                f"The checkpoint in {folder} is in use by another fit; wait for it to "
                "end, or name another folder."
            )
            raise ValueError(message) from None
        yield


def _file_names(given: Any) -> dict[str, dict[str, str]]:
    """Names of files by what they hold; none of them leads elsewhere."""
    files = {}
    for key, file in given.items():
        name, digest = file["name"], file["digest"]
        if not isinstance(name, str) or not re.fullmatch(r"[\w-]{1,99}\.npz", name):
            refuse(f"files has {name!r}")
        files[str(key)] = {"name": name, "digest": str(digest)}
    return files


def _unpacked(content: bytes) -> dict[str, Any]:
    """Arrays of a file that takes as much room as they do."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if any(each.compress_type != zipfile.ZIP_STORED for each in archive.infolist()):
            message = "it is compressed"
            raise ValueError(message)
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}


def _digest(content: bytes) -> str:
    return blake2b(content).hexdigest()


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


def _facts_of(run: PendingRun) -> dict[str, Any]:
    facts: dict[str, Any] = {"ended": run.ended, "same_as": run.same_as}
    facts["loss"] = run.loss if np.isfinite(run.loss) else None
    if run.start is not None:
        facts["n_start_rows"] = run.start.n_rows
    if run.running is not None:
        facts["finished"] = run.running.finished
        facts["converged"] = bool(run.running.converged)
    return facts


def _arrays_of(run: PendingRun) -> dict[str, NDArray[Any]] | None:
    """Sums of a run, None for one that has none any more."""
    if run.running is not None:
        running = run.running
        arrays = stored.sums_to_arrays(running.sums, running.previous_sums)
        for name in HISTORY:
            dtype = "f8" if name == "loss" else "i8"
            line = [line[name] for line in running.lines]
            arrays[f"history_{name}"] = np.array(line, dtype)
        numbers = running.numbers.astype(np.int64)
        return arrays | {"groups": running.groups, "numbers": numbers}
    if run.start is None:
        return None
    sums = stored.sums_to_arrays(run.start, run.start)
    return sums | {"totals": run.start.totals, "groups": run.groups}


def _run_from(
    i: int,
    facts: dict[str, Any],
    arrays: dict[str, NDArray[Any]] | None,
    settings: Settings,
    data: Sums,
) -> PendingRun:
    """A run as it was; what does not fit together is refused."""
    same_as = facts["same_as"]
    if same_as is not None and not (type(same_as) is int and 0 <= same_as < i):
        refuse(f"same_as of run {i} is {same_as!r}")
    loss = optional(facts, "loss", -np.inf)
    state: dict[str, Any] = {
        "loss": np.inf if loss is None else loss,
        "ended": choice(facts, "ended", (True, False)),
        "same_as": same_as,
    }
    if arrays is None:
        if not state["ended"]:
            refuse(f"run {i} goes on but has no sums")
        return PendingRun(np.empty(0, np.int8), **state)
    n_clusters = len(arrays["members"]) - 1
    if not 1 <= n_clusters <= settings.n_clusters:
        refuse(f"run {i} has {n_clusters} clusters")
    sizes = {"m": len(data.totals), "k": n_clusters, "n": data.n_rows}
    pending = "n_start_rows" in facts
    if pending:
        sizes["n"] = int(number(facts, "n_start_rows", 1))
    sizes |= {"a": settings.n_clusters, "i": len(arrays.get("history_loss", ()))}
    history = {} if pending else stored.checked_history(arrays, HISTORY, sizes)
    parts = stored.parts_in(arrays, "sums", "data" if pending else "run")
    arrays = stored.checked(arrays, parts, sizes)
    totals = arrays["totals"] if pending else data.totals
    stored.check_totals(arrays, totals)
    sums = stored.sums_from_arrays(arrays, "", totals, sizes["n"])
    if pending:
        return PendingRun(arrays["groups"], start=sums, **state)
    stored.check_log_sizes(arrays, settings.prior)
    for name, most in (
        ("log_sizes", data.totals),
        ("log_size_total", data.total_weight),
    ):
        values = np.where(np.isinf(arrays[name]), 0.0, arrays[name])
        total = np.abs(values).sum(axis=-1)
        if not (total <= _LARGEST_LOGARITHM * np.asarray(most) + 1).all():
            refuse(f"{name} must hold sums of logarithms of row sizes")
    running = RunState(sums, arrays["groups"], settings)
    if running.sums.n_clusters < sums.n_clusters:
        refuse("members has an empty cluster")
    running.previous_sums = stored.sums_from_arrays(
        arrays, "profile_", totals, sizes["n"]
    )
    running.numbers = arrays["numbers"].astype(np.intp)
    lines = zip(*(history[name].tolist() for name in HISTORY), strict=True)
    running.lines = [dict(zip(HISTORY, line, strict=True)) for line in lines]
    running.finished = choice(facts, "finished", (True, False))
    running.converged = choice(facts, "converged", (True, False))
    if running.finished and not running.lines:
        refuse("history is empty")
    return PendingRun(arrays["groups"], running=running, **state)
