"""Coroutines that run without a caller, held until they end; what they raise is logged."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from drover_sdk.task_log import LOG


class Background:
    """Of one event loop."""

    def __init__(self) -> None:
        """None yet."""
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts it in the next turn of the loop."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def stop(self) -> None:
        """Cancels them, and waits until they have ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            LOG.critical("a part of the SDK broke, which is a fault of its own", exc_info=error)
