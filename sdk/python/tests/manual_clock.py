"""A clock that only the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from fake_server import SECONDS_MOST

# Seconds are sums of fractions: what is due at the end of a step may be so much beyond it. A timer
# is never called before its time, or code that waits for that time would wait again for ever.
_ROUNDING = 1e-6


@dataclass(eq=False)
class _Due:
    at: float
    call: Callable[[], None]
    timers: list[_Due]

    def cancel(self) -> None:
        if self in self.timers:
            self.timers.remove(self)


class ManualClock:
    def __init__(self) -> None:
        self._now = 1_000.0
        self._timers: list[_Due] = []

    def monotonic(self) -> float:
        return self._now

    def after(self, seconds: float, call: Callable[[], None]) -> _Due:
        due = _Due(self._now + max(seconds, 0), call, self._timers)
        self._timers.append(due)
        return due

    def fraction(self) -> float:
        return 1.0

    def advance(self, seconds: float) -> None:
        """Lets that time pass; what falls due is called, in its order."""
        end = round(self._now + seconds, 6)
        while due := [timer for timer in self._timers if timer.at <= end + _ROUNDING]:
            first = min(due, key=lambda timer: timer.at)
            first.cancel()
            self._now = max(self._now, first.at)
            first.call()
        self._now = max(self._now, end)

    async def armed(self, seconds: float) -> None:
        """Waits until something is due within that time."""

        async def look() -> None:
            end = round(self._now + seconds, 6)
            while not any(timer.at <= end + _ROUNDING for timer in self._timers):
                await asyncio.sleep(0)

        await asyncio.wait_for(look(), SECONDS_MOST)
