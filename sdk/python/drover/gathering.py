"""Items of one moment share a call: a lonely one goes out at once, those of 2 ms together, up to
100 in a call and four calls in flight."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from drover.background import Background
from drover.clocks import Clock, Timer

I = TypeVar("I")  # noqa: E741
R = TypeVar("R")

_SPACING = 0.002
_ITEMS_MOST = 100
_IN_FLIGHT_MOST = 4


class Gathering(Generic[I, R]):
    """To be used in one event loop."""

    def __init__(
        self, clock: Clock, send: Callable[[list[I]], Awaitable[list[R | Exception]]]
    ) -> None:
        """`send`: gives one result, or what went wrong, for each item; what it raises, for all."""
        self._clock = clock
        self._send = send
        self._background = Background()
        self._queue: list[tuple[I, asyncio.Future[R]]] = []
        self._in_flight = 0
        self._last_sent = -math.inf
        self._timer: Timer | None = None

    async def add(self, item: I) -> R:
        """Its result. An item that nobody waits for any more may go out all the same."""
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._queue.append((item, result))
        if len(self._queue) >= _ITEMS_MOST and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._pump()
        return await result

    async def stop(self) -> None:
        """Cancels what is under way."""
        await self._background.stop()

    def _wake(self) -> None:
        self._timer = None
        self._pump()

    def _pump(self) -> None:
        while self._queue and self._in_flight < _IN_FLIGHT_MOST and self._timer is None:
            now = self._clock.monotonic()
            due = -math.inf if len(self._queue) >= _ITEMS_MOST else self._last_sent + _SPACING
            if due > now:
                self._timer = self._clock.after(due - now, self._wake)
                return
            self._last_sent = now
            self._in_flight += 1
            batch, self._queue = self._queue[:_ITEMS_MOST], self._queue[_ITEMS_MOST:]
            self._background.start(self._send_batch(batch))

    async def _send_batch(self, batch: list[tuple[I, asyncio.Future[R]]]) -> None:
        try:
            results = await self._send([item for item, _ in batch])
            for (_, future), result in zip(batch, results):
                if future.done():
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)
        except Exception as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
        finally:
            for _, future in batch:
                future.cancel()
            self._in_flight -= 1
            self._pump()
