"""How long a pass waits for a cluster that is away, and what it reports meanwhile."""

from __future__ import annotations

import logging
import time

logger = logging.getLogger("threecpo.distributed")

SECONDS = 300.0
MESSAGE_SECONDS = 10.0


class ClusterLostError(OSError):
    """The Dask cluster went away in the middle of a fit and did not come back.

    The message says how to go on.
    """


class Patience:
    """Seconds that a pass may wait, in all, for workers or the scheduler.

    Parameters
    ----------
    seconds : float
        When the waits of one pass add up to more, the fit ends.
    advice : str
        One sentence on how to go on after that, the end of every error.
    """

    def __init__(self, seconds: float, advice: str) -> None:
        self._seconds = seconds
        self._advice = advice
        self._waited = 0.0
        self._last: float | None = None
        self._reported = -MESSAGE_SECONDS

    def start(self) -> None:
        """Count from nothing: a pass begins."""
        self._waited = 0.0
        self._last = None

    def wait(self, state: str, cause: BaseException | None = None) -> None:
        """Count the time since the call before, and give up when it is too much."""
        now = time.monotonic()
        if self._last is not None:
            self._waited += now - self._last
        self._last = now
        if self._waited > self._seconds:
            reason = f"{state}; patience={self._seconds:g} s of waiting are over"
            raise self.error(reason) from cause
        if now - self._reported >= MESSAGE_SECONDS:
            self._reported = now
            logger.warning(
                "%s. The pass has waited for %.0f s and gives up in %.0f s.",
                state,
                self._waited,
                self._seconds - self._waited,
            )

    def end_wait(self) -> None:
        """Stop counting: the cluster is there."""
        self._last = None

    def error(self, reason: str) -> ClusterLostError:
        return ClusterLostError(f"{reason}. {self._advice}")
