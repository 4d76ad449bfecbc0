"""Items share a call, up to 100 of them: while no call is under way, an item is sent at once, with
all that are added in the same turn of the loop; what is added while one is under way is sent
together as soon as it is answered. A full call waits for no other, and neither does the next one
when a call is slow; four are under way at most."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from drover_sdk.background import Background
from drover_sdk.clocks import Clock, Timer

I = TypeVar("I")  # noqa: E741
R = TypeVar("R")

# The next call waits no longer than this for one under way.
_SLOW = 0.25
_ITEMS_MOST = 100
_IN_FLIGHT_MOST = 4


class Gathering(Generic[I, R]):
    """To be used in one event loop."""

    def __init__(
        self,
        clock: Clock,
        send: Callable[[list[I]], Awaitable[Sequence[R | Exception | asyncio.Task[R]]]],
    ) -> None:
        """`send`: gives one result, or what went wrong, for each item; what it raises, for all. A
        task is an item that is still under way, and counts as a call no more."""
        self._clock = clock
        self._send = send
        self._background = Background()
        self._queue: list[tuple[I, asyncio.Future[R]]] = []
        self._in_flight = 0
        self._last_sent = -math.inf
        self._timer: tuple[float, Timer] | None = None
        self._pumps_soon = False

    async def add(self, item: I) -> R:
        """Its result. An item whose caller no longer waits for it may be sent all the same."""
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._queue.append((item, result))
        if not self._pumps_soon:
            self._pumps_soon = True
            asyncio.get_running_loop().call_soon(self._pump_now)
        return await result

    async def stop(self) -> None:
        """Cancels what is under way."""
        await self._background.stop()

    def _wake(self) -> None:
        self._timer = None
        self._pump()

    def _pump_now(self) -> None:
        self._pumps_soon = False
        self._pump()

    def _pump_at(self, due: float, now: float) -> None:
        if self._timer is not None:
            if self._timer[0] == due:
                return
            self._timer[1].cancel()
        self._timer = (due, self._clock.after(due - now, self._wake))

    def _pump(self) -> None:
        while self._queue and self._in_flight < _IN_FLIGHT_MOST:
            now = self._clock.monotonic()
            due = self._last_sent + _SLOW
            if self._in_flight > 0 and len(self._queue) < _ITEMS_MOST and due > now:
                self._pump_at(due, now)
                return
            self._last_sent = now
            self._in_flight += 1
            batch, self._queue = self._queue[:_ITEMS_MOST], self._queue[_ITEMS_MOST:]
            self._background.start(self._send_batch(batch))

    async def _send_batch(self, batch: list[tuple[I, asyncio.Future[R]]]) -> None:
        try:
            results = await self._send([item for item, _ in batch])
            for (_, future), result in zip(batch, results):
                if isinstance(result, asyncio.Task):
                    self._background.start(_settle_later(future, result))
                else:
                    _settle(future, result)
        except asyncio.CancelledError:
            for _, future in batch:
                future.cancel()
            raise
        except Exception as error:
            for _, future in batch:
                _settle(future, error)
        finally:
            self._in_flight -= 1
            self._pump()


def _settle(future: asyncio.Future[R], result: R | Exception) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)


async def _settle_later(future: asyncio.Future[R], task: asyncio.Task[R]) -> None:
    try:
        _settle(future, await task)
    except asyncio.CancelledError:
        future.cancel()
        raise
    except Exception as error:
        _settle(future, error)
