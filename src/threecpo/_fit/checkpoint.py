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
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .._array_files import write_arrays
from .._core import prices
from .._core.run import HISTORY, RunState
from .._errors import one_line
from . import stored
from .shared_pass import PendingRun, SharedPass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from .._core.run import Settings
    from .._core.sums import Sums
    from .plan import Plan


FORMAT = "threecpo-checkpoint"
VERSIONS = {"version": 3, "numerics": stored.NUMERICS_VERSION}
STATE = "state.json"
LOCK = "lock"
_OURS = re.compile(r"state\.json(\.part)?|lock|(sums|run-\d+)-\d+\.npz")
# What tells the data of a fit from others.
OF_DATA = {
    "content": "counts",
    "n_rows": "numbers of rows",
    "rows": "weights, batches or known clusters",
}
# What changes the way but not the result.
_WITHOUT_EFFECT = ("n_jobs", "verbose")


class Checkpoint:
    """A folder that belongs to one fit: these parameters, these data."""

    def __init__(self, folder: Path, plan: Plan, options: dict[str, Any]) -> None:
        self._folder = folder
        self._settings = plan.settings
        parameters = {
            name: value
            for name, value in plan.parameters.items()
            if name not in _WITHOUT_EFFECT
        }
        if plan.settings.price not in prices.NAMED.values():
            message = (
                "checkpoint= does not support column_penalty as a function: it cannot "
                "be compared with that of a later call. Use 'mdl', 'bic' or None."
            )
            raise ValueError(message)
        self._fit = {"estimator": plan.name, **parameters, **options}
        self._files: dict[str, dict[str, str]] = {}
        # Files of runs that have ended, which do not change any more.
        self._final: set[str] = set()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Have the folder, alone, until the fit ends."""
        self._prepare()
        with _locked(self._folder):
            yield

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
                f"{one_line(sorted(others)[0])}; name a folder of its own."
            )
            raise ValueError(message)

    def load(self, data: Sums) -> SharedPass | None:
        """Return the runs as they were after the last finished pass, if any."""
        state = self._read_state()
        if state is None:
            return None
        self._check_same_fit(state)
        try:
            self._files = _file_names(state["files"])
            self._check_same_data(data)
            listed = state["runs"]
            if not isinstance(listed, list) or not listed:
                self._refuse(f"{STATE} has no runs")
            shared = SharedPass(
                [self._run(i, facts, data) for i, facts in enumerate(listed)],
                self._settings,
                data,
                n_passes=int(stored.finite("n_passes", state["n_passes"], 0)),
                tol=stored.finite("tol", state["fit"]["tol"], 0),
                n_looks=int(stored.finite("n_looks", state["n_looks"], 0)),
            )
            if not shared.keeps_the_best:
                self._refuse("the best run has no sums")
            return shared
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            self._refuse(f"{STATE} lacks {error}")
        except stored.DamagedFieldError as error:
            self._refuse(str(error))

    def save(self, shared: SharedPass) -> None:
        """Write the state beside the old one, then let it take its place."""
        n_passes = shared.n_passes
        before = f"after pass {n_passes - 1}" if n_passes else "of nothing"
        with self._naming_what_is_left(before):
            if "sums" not in self._files:
                data = shared.data
                totals = {"totals": data.totals, "n_rows": np.array(data.n_rows)}
                self._files["sums"] = self._write("sums", n_passes, totals)
            for i, run in enumerate(shared.runs):
                self._save_run(f"run-{i}", run, n_passes)
            state = {
                "format": FORMAT,
                **VERSIONS,
                "fit": self._fit,
                "n_passes": n_passes,
                "n_looks": shared.n_looks,
                "runs": [facts_of(run) for run in shared.runs],
                "files": self._files,
            }
            text = json.dumps(state)
            content = json.dumps({"digest": _digest(text.encode()), "state": text})
            self._to_disk(f"{STATE}.part", content.encode())
            (self._folder / f"{STATE}.part").replace(self._folder / STATE)
            _sync_folder(self._folder)
        named = {file["name"] for file in self._files.values()} | {STATE, LOCK}
        for path in self._folder.iterdir():
            if path.name not in named:
                path.unlink(missing_ok=True)

    def _save_run(self, name: str, run: PendingRun, n_passes: int) -> None:
        arrays = arrays_of(run)
        if arrays is None:
            self._files.pop(name, None)
        elif name not in self._final:
            self._files[name] = self._write(name, n_passes, arrays)
            if run.ended:
                self._final.add(name)

    def _write(
        self, name: str, n_passes: int, arrays: dict[str, Any]
    ) -> dict[str, str]:
        buffer = io.BytesIO()
        write_arrays(buffer, arrays)
        content = buffer.getvalue()
        file = f"{name}-{n_passes}.npz"
        self._to_disk(file, content)
        return {"name": file, "digest": _digest(content)}

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
            return _arrays_of(content)
        except Exception:  # noqa: BLE001 - numpy raises many kinds on a crafted file
            self._refuse(f"{path.name} cannot be read")

    def _read_state(self) -> dict[str, Any] | None:
        path = self._folder / STATE
        if not path.exists():
            return None
        if not path.is_file():
            self._refuse(f"{STATE} is no file")
        try:
            outer = json.loads(path.read_bytes())
            text, digest = outer["state"], outer["digest"]
            state = json.loads(text)
            known = state["format"] == FORMAT
        except (ValueError, KeyError, TypeError, RecursionError):
            self._refuse(f"{STATE} cannot be read")
        if not known:
            self._refuse(f"{STATE} is of another kind")
        if _digest(text.encode("utf-8", "surrogatepass")) != digest:
            self._refuse(f"{STATE} is half-written or changed")
        return (
            state if isinstance(state, dict) else self._refuse(f"{STATE} is no state")
        )

    def _run(self, i: int, facts: dict[str, Any], data: Sums) -> PendingRun:
        name = f"run-{i}"
        if facts["ended"]:
            self._final.add(name)
        arrays = self._read(name) if name in self._files else None
        return run_from(i, facts, arrays, self._settings, data)

    def _check_same_fit(self, state: dict[str, Any]) -> None:
        for name, value in VERSIONS.items():
            if state.get(name) != value:
                message = (
                    f"The checkpoint in {self._folder} was written by another "
                    f"threecpo ({name} {one_line(state.get(name))}, here {value}); "
                    "remove it to start again."
                )
                raise ValueError(message)
        theirs, fit = state.get("fit"), json.loads(json.dumps(self._fit))
        if not isinstance(theirs, dict):
            self._refuse(f"{STATE} lacks the parameters of the fit")
        for name in sorted({*theirs, *fit}):
            if theirs.get(name) != fit.get(name) and name in OF_DATA:
                message = (
                    f"The checkpoint in {self._folder} belongs to other data: "
                    f"{OF_DATA[name]} differ; name another folder, or remove it."
                )
                raise ValueError(message)
            if theirs.get(name) != fit.get(name):
                message = (
                    f"The checkpoint in {self._folder} belongs to a fit with "
                    f"{one_line(name)}={one_line(repr(theirs.get(name)))}, not "
                    f"{fit.get(name)!r}; name another folder, or remove it to start "
                    "again."
                )
                raise ValueError(message)

    def _check_same_data(self, data: Sums) -> None:
        sums = self._read("sums")
        totals, n_rows = sums["totals"], sums["n_rows"]
        same = (
            totals.dtype == np.float64
            and totals.shape == data.totals.shape
            and np.allclose(totals, data.totals, rtol=1e-9, atol=0)
            and n_rows.shape == ()
            and n_rows == data.n_rows
        )
        if not same:
            message = (
                f"The checkpoint in {self._folder} belongs to other data: column "
                "totals or numbers of rows differ; name another folder, or remove it."
            )
            raise ValueError(message)

    def _refuse(self, what: str) -> NoReturn:
        message = (
            f"The checkpoint in {self._folder} is damaged: {one_line(what)}; remove it "
            "to start again."
        )
        raise ValueError(message)

    @contextmanager
    def _naming_what_is_left(self, before: str) -> Iterator[None]:
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
            message = f"files has {name!r}"
            raise stored.DamagedFieldError(message)
        files[str(key)] = {"name": name, "digest": str(digest)}
    return files


def _arrays_of(content: bytes) -> dict[str, Any]:
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


# Of finite numbers above 0, in absolute value.
_LARGEST_LOGARITHM = 746.0


def facts_of(run: PendingRun) -> dict[str, Any]:
    """What JSON holds of a run."""
    facts: dict[str, Any] = {
        "loss": run.loss if np.isfinite(run.loss) else None,
        "ended": run.ended,
        "same_as": run.same_as,
    }
    if run.start is not None:
        facts["n_start_rows"] = run.start.n_rows
    if run.running is not None:
        facts |= {
            "history": run.running.lines,
            "finished": run.running.finished,
            "converged": bool(run.running.converged),
            "numbers": run.running.numbers.tolist(),
        }
    return facts


def arrays_of(run: PendingRun) -> dict[str, NDArray[Any]] | None:
    """Sums of a run, None for one that has none any more."""
    if run.running is not None:
        running = run.running
        return stored.sums_to_arrays(
            running.sums, running.previous_sums, running.groups
        )
    if run.start is None:
        return None
    arrays = stored.sums_to_arrays(run.start, run.start, run.groups)
    return arrays | {"totals": run.start.totals}


def run_from(
    number: int,
    facts: dict[str, Any],
    arrays: dict[str, NDArray[Any]] | None,
    settings: Settings,
    data: Sums,
) -> PendingRun:
    """A run as it was; what does not fit together is refused."""
    loss = facts["loss"]
    state: dict[str, Any] = {
        "loss": np.inf if loss is None else stored.finite("loss", loss),
        "ended": _flag("ended", facts["ended"]),
        "same_as": _earlier(facts["same_as"], number),
    }
    if arrays is None:
        if not state["ended"]:
            message = f"run {number} goes on but has no sums"
            raise stored.DamagedFieldError(message)
        return PendingRun(np.empty(0, np.int8), **state)
    n_clusters = len(arrays["members"]) - 1
    if not 1 <= n_clusters <= settings.n_clusters:
        message = f"run {number} has {n_clusters} clusters"
        raise stored.DamagedFieldError(message)
    sizes = {"m": len(data.totals), "k": n_clusters, "o": n_clusters + 1}
    if "n_start_rows" in facts:
        sizes["n"] = int(stored.finite("n_start_rows", facts["n_start_rows"], 1))
        return _pending(arrays, sizes, state)
    sizes["n"] = data.n_rows
    return _running(facts, arrays, sizes, settings, data, state)


def _pending(
    arrays: dict[str, NDArray[Any]], sizes: dict[str, int], state: dict[str, Any]
) -> PendingRun:
    fields = stored.OF_SUMS | stored.OF_DATA | stored.fields_of_rows(arrays, sizes)
    arrays = stored.checked(arrays, fields, sizes)
    stored.check_totals(arrays, arrays["totals"])
    start, _ = stored.sums_from_arrays(arrays, arrays["totals"], sizes["n"])
    return PendingRun(arrays["groups"], start=start, **state)


def _running(
    facts: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    sizes: dict[str, int],
    settings: Settings,
    data: Sums,
    state: dict[str, Any],
) -> PendingRun:
    fields = stored.OF_SUMS | stored.fields_of_rows(arrays, sizes)
    arrays = stored.checked(arrays, fields, sizes)
    stored.check_totals(arrays, data.totals)
    stored.check_log_sizes(arrays, settings.prior)
    _check_sizes(arrays, data)
    sums, previous = stored.sums_from_arrays(arrays, data.totals, data.n_rows)
    running = RunState(sums, arrays["groups"], settings)
    if running.sums.n_clusters < sums.n_clusters:
        message = "members has an empty cluster"
        raise stored.DamagedFieldError(message)
    running.previous_sums = previous
    running.numbers = _numbers(facts["numbers"], sums.n_clusters, settings)
    running.lines = [_line(line) for line in facts["history"]]
    running.finished = _flag("finished", facts["finished"])
    running.converged = _flag("converged", facts["converged"])
    if running.finished and not running.lines:
        message = "history is empty"
        raise stored.DamagedFieldError(message)
    return PendingRun(arrays["groups"], running=running, **state)


def _check_sizes(arrays: dict[str, NDArray[Any]], data: Sums) -> None:
    """Refuse sums of logarithms that are larger than those of any finite sizes."""
    for name, most in (
        ("log_sizes", data.totals),
        ("log_size_total", data.total_weight),
    ):
        values = np.where(np.isinf(arrays[name]), 0.0, arrays[name])
        total = np.abs(values).sum(axis=-1)
        if not (total <= _LARGEST_LOGARITHM * np.asarray(most) + 1).all():
            message = f"{name} must hold sums of logarithms of row sizes"
            raise stored.DamagedFieldError(message)


def _numbers(given: Any, n_clusters: int, settings: Settings) -> NDArray[np.intp]:
    """Numbers that clusters had at the start."""
    numbers = np.array(given)
    if (
        numbers.shape != (n_clusters,)
        or numbers.dtype.kind != "i"
        or numbers[0] < 0
        or (np.diff(numbers) <= 0).any()
        or numbers[-1] >= settings.n_clusters
    ):
        message = f"numbers is {given!r}"
        raise stored.DamagedFieldError(message)
    return numbers.astype(np.intp)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        message = f"{name} is {value!r}"
        raise stored.DamagedFieldError(message)
    return value


def _earlier(value: Any, number: int) -> int | None:
    """The run that another came to share sums with: one before it."""
    if value is not None and not (type(value) is int and 0 <= value < number):
        message = f"same_as of run {number} is {value!r}"
        raise stored.DamagedFieldError(message)
    return value


def _line(line: dict[str, Any]) -> dict[str, float]:
    """One line of a history: the numbers that every iteration has."""
    if set(line) != set(HISTORY):
        message = f"history has {sorted(line)}"
        raise stored.DamagedFieldError(message)
    for name, value in line.items():
        stored.finite(name, value)
        if name != "loss" and type(value) is not int:
            message = f"history has {name} {value!r}"
            raise stored.DamagedFieldError(message)
    return line
