"""An event loop in a thread of its own, for programs without one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs until it is stopped; the thread is a daemon."""

    def __init__(self) -> None:
        """Starts it."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="drover-client", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """False after `stop`."""
        return self._thread.is_alive()

    def call(self, work: Awaitable[T]) -> T:
        """What the awaitable gives or raises. Interrupted, it cancels it."""
        future = asyncio.run_coroutine_threadsafe(_coroutine(work), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """The same items; leaving the loop closes it."""
        try:
            while True:
                try:
                    item = self.call(items.__anext__())
                except StopAsyncIteration:
                    return
                yield item
        finally:
            close = getattr(items, "aclose", None)
            if close is not None:
                self.call(close())

    def stop(self) -> None:
        """May be called twice."""
        if self.alive:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


def _coroutine(work: Awaitable[T]) -> Coroutine[Any, Any, T]:
    async def wait() -> T:
        return await work

    return wait()
