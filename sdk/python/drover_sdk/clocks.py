"""Time and chance: the only module of the SDK that touches them, so that a test can bring its own.

On some systems the monotonic clock does not advance while the machine sleeps. A lease that ended
meanwhile is then noticed late; the idempotency key and the fence are there for that.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Protocol


class Timer(Protocol):
    """A call to come."""

    def cancel(self) -> None:
        """Harmless after it was called."""
        ...


class Clock(Protocol):
    """Where the runtime takes time and chance from."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary time; never goes back. May be called from any thread."""
        ...

    def after(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Calls once, never in the same turn of the loop; soon if it is past or negative."""
        ...

    def fraction(self) -> float:
        """At least 0, less than 1; for jitter, not for secrets."""
        ...


def wall_time() -> datetime:
    """The time for people, in UTC."""
    return datetime.now(timezone.utc)


class SystemClock:
    """That of the machine, with the timers of the loop that runs."""

    def monotonic(self) -> float:
        """As in Clock."""
        return time.monotonic()

    def after(self, seconds: float, call: Callable[[], None]) -> Timer:
        """As in Clock."""
        return asyncio.get_running_loop().call_later(max(seconds, 0), call)

    def fraction(self) -> float:
        """As in Clock."""
        return random.random()


SYSTEM_CLOCK = SystemClock()


async def sleep(clock: Clock, seconds: float) -> None:
    """Returns after that time."""
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    timer = clock.after(seconds, lambda: None if over.done() else over.set_result(None))
    try:
        await over
    finally:
        timer.cancel()


async def within(clock: Clock, seconds: float, work: asyncio.Future[None]) -> bool:
    """Whether `work` was over within the time; it is not stopped."""
    sleeping = asyncio.ensure_future(sleep(clock, seconds))
    await asyncio.wait([work, sleeping], return_when=asyncio.FIRST_COMPLETED)
    sleeping.cancel()
    return work.done()
