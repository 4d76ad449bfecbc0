"""How long to wait before something is tried again: doubling, with jitter, and never less than
what the server asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from drover_sdk.clocks import Clock, sleep
from drover_sdk.errors import CallError
from drover_sdk.task_log import LOG

T = TypeVar("T")


class Backoff:
    """The waits of one thing that fails again and again."""

    def __init__(self, clock: Clock, first: float = 0.1, most: float = 5.0) -> None:
        """`first` and `most` in seconds."""
        self._clock = clock
        self._first = first
        self._most = most
        self._limit = first

    def next(self, error: CallError | None = None) -> float:
        """The next wait in seconds; each is longer, up to the limit."""
        # At least half, so that many callers spread and none repeats too often.
        wait = self._limit * (0.5 + self._clock.fraction() / 2)
        self._limit = min(self._limit * 2, self._most)
        asked = None if error is None else error.retry_after
        return max(wait, asked or 0.0)

    def reset(self) -> None:
        """After a success."""
        self._limit = self._first


async def repeat(call: Callable[[], Awaitable[T]], clock: Clock, patience: float) -> T:
    """Repeats a call, for which repeating must be safe, until its answer is a definite one.

    `patience`: for how many seconds failures in a row are borne. The first of them is logged, so
    that a program which waits for a server that is down does not look idle.
    """
    backoff = Backoff(clock)
    failing_since: float | None = None
    is_logged = False
    while True:
        try:
            return await call()
        except CallError as error:
            wait = backoff.next(error)
            if failing_since is None:
                failing_since = clock.monotonic()
            late = clock.monotonic() - failing_since + wait > patience
            if error.call_outcome == "definite" or late:
                raise
            if not is_logged:
                is_logged = True
                LOG.warning(
                    "call failed, will repeat it for up to %g s: %s %s: %s",
                    patience,
                    error.code,
                    error.reason,
                    error,
                )
        await sleep(clock, wait)
