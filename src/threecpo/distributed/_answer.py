"""The result of a pass, or the reason why it must be asked for again."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._connection import Connection
    from ._patience import Patience

CHECK_SECONDS = 1.0
GATHER_SECONDS = 30.0
# What Dask raises about connections, and where a worker dies in the wrong moment.
FAULTS = (CancelledError, OSError, KeyError)


class LostPassError(Exception):
    """The result will not come; the pass must be asked for again."""


class DeadlyTaskError(LostPassError):
    """Dask has given up a task, because the workers died that had it."""


def answer_of(future: Any, connection: Connection, patience: Patience) -> Any:
    """Wait for a result; what a task has raised is raised at once."""
    from distributed import KilledWorker

    try:
        _await(future, connection, patience)
        return _gathered(future, connection)
    except LostPassError:
        raise
    except KilledWorker as error:
        raise DeadlyTaskError(_about_deaths(error)) from error
    except Exception as error:
        of_task = future.status == "error"
        if of_task or not (isinstance(error, FAULTS) or connection.lost):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        message = f"The pass was lost on the cluster ({reason})"
        raise LostPassError(message) from error


def _await(future: Any, connection: Connection, patience: Patience) -> None:
    """Return when there is a result or an error; raise when none can come."""
    while True:
        try:
            future.exception(timeout=CHECK_SECONDS)
        except TimeoutError:
            threads = connection.threads()
        else:
            patience.end_wait()
            return
        if threads == 0 or connection.lost:
            raise LostPassError(connection.state(threads))
        if threads is None:
            # It may only be busy: what was asked is still there.
            patience.wait(connection.state(threads))
        else:
            patience.end_wait()


def _gathered(future: Any, connection: Connection) -> Any:
    """Fetch a result, which takes its time; its worker may die meanwhile."""
    seconds = GATHER_SECONDS
    while True:
        try:
            return future.result(timeout=seconds)
        except TimeoutError:
            if future.status == "error" or not connection.threads():
                raise
            seconds *= 2


def _about_deaths(error: Any) -> str:
    n_died = error.allowed_failures + 1
    return (
        f"{n_died} workers died one after the other while they worked on the same "
        "blocks; have a look at their memory: smaller blocks or fewer threads need less"
    )
