"""A client, or another one of the same scheduler where that has lost it."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._patience import Patience

POLL_SECONDS = 0.2
# A scheduler that is busy may take a while; one that is away never answers.
ANSWER_SECONDS = 5.0
CONNECT_SECONDS = 3.0


class Connection:
    """The way to a scheduler, kept open over restarts of it."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._given = client
        self._address = client.scheduler.address

    def threads(self) -> int | None:
        """Threads of all workers, None where the scheduler does not answer."""
        client = self.client
        if client.status != "running":
            return None
        try:
            found = client.sync(
                client.scheduler.ncores, callback_timeout=ANSWER_SECONDS
            )
        except Exception:  # noqa: BLE001 - closing clients raise many kinds
            return None
        return sum(found.values())

    @property
    def lost(self) -> bool:
        """Whether all that was asked of the scheduler is lost with the connection."""
        return self.client.status != "running"

    @property
    def renewed(self) -> bool:
        """Whether the client that was given is out of use."""
        return self.client is not self._given

    def state(self, threads: int | None) -> str:
        """A sentence about what is missing."""
        if threads is None:
            return f"The Dask scheduler at {self._address} does not answer"
        return f"The Dask scheduler at {self._address} has 0 workers"

    def await_workers(self, patience: Patience) -> int:
        """Return the threads of all workers once there are some."""
        while not (threads := self.threads()):
            patience.wait(self.state(threads))
            if self.lost:
                self._renew()
            time.sleep(POLL_SECONDS)
        patience.end_wait()
        return threads

    def close(self) -> None:
        """Close a client of our own; the one that was given stays as it is."""
        if self.renewed:
            with suppress(Exception):
                self.client.close(timeout=CONNECT_SECONDS)

    def _renew(self) -> None:
        """Connect to the same address, where the client has not done so itself."""
        from distributed import Client

        given = self._given
        if given.status == "running":
            self.close()
            self.client = given
            return
        try:
            client = Client(
                self._address,
                loop=given.loop,
                security=given.security,
                timeout=CONNECT_SECONDS,
                set_as_default=False,
            )
        except OSError:
            return
        self.close()
        self.client = client
