"""One handler at work: `async def` in the event loop of the agent's author, `def` in a thread.

The runtime has a loop of its own in a thread of its own, so that a handler that blocks costs no
heartbeat. Whatever crosses between them goes by `call_soon_threadsafe`, in the order of its calls.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Protocol

from drover_sdk.attempts import Done, attempt, attempt_async
from drover_sdk.errors import StopKind
from drover_sdk.held_task import HeldTask, Notes
from drover_sdk.outcomes import outcome_of_error
from drover_sdk.payloads import Codec
from drover_sdk.task_log import Line
from drover_sdk.tasks import Handler, Task
from drover_sdk.v1.task_pb2 import Outcome


class Execution(Protocol):
    """All of it belongs to the loop of the runtime."""

    def start(self) -> None:
        """Starts the handler."""
        ...

    def stop(self) -> None:
        """Signals the handler that it must stop."""
        ...

    def lease_moved(self) -> None:
        """The end of its lease is another."""
        ...

    def kill(self) -> bool:
        """Ends it by force; False: that is not possible."""
        ...


class HeldHere:
    """The lease of a task, as its handler in this process sees it."""

    def __init__(
        self, held: HeldTask, noted: Callable[[], None], logged: Callable[[Line], None]
    ) -> None:
        """`noted`: something was noted for the next heartbeat. `logged`: takes lines."""
        self._held = held
        self._noted = noted
        self._logged = logged
        self._home = asyncio.get_running_loop()

    def note(self, notes: Notes) -> None:
        """As in Hold."""
        call_in(self._home, self._note, notes)

    def logged(self, line: Line) -> None:
        """As in Hold."""
        call_in(self._home, self._logged, line)

    def left(self) -> float:
        """As in Hold."""
        return self._held.left()

    def stopped(self) -> StopKind | None:
        """As in Hold."""
        return self._held.stopped

    def _note(self, notes: Notes) -> None:
        self._held.note(notes)
        self._noted()


class InLoop:
    """A handler that is `async def`."""

    def __init__(
        self,
        handler: Handler,
        held: HeldTask,
        task: Task,
        codec: Codec,
        loop: asyncio.AbstractEventLoop,
        done: Done,
    ) -> None:
        """`loop`: where handlers run."""
        self._work = handler, held.task, task, codec
        self._loop = loop
        self._home = asyncio.get_running_loop()
        self._done = done
        self._task: asyncio.Task[Outcome] | None = None
        self._stopping = task.stopping

    def start(self) -> None:
        """Raises RuntimeError if the loop is closed."""
        self._loop.call_soon_threadsafe(self._start)

    def stop(self) -> None:
        """Cancels it, once."""
        self._stopping.set()
        call_in(self._loop, self._cancel)

    def lease_moved(self) -> None:
        """It reads the lease itself."""

    def kill(self) -> bool:
        """Never possible."""
        return False

    def _start(self) -> None:
        self._task = self._loop.create_task(attempt_async(*self._work))
        self._task.add_done_callback(self._ended)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _ended(self, task: asyncio.Task[Outcome]) -> None:
        # Cancelled before it had started: nothing else lets a CancelledError out.
        early = outcome_of_error(asyncio.CancelledError(), self._work[2].stopped)
        call_in(self._home, self._done, early if task.cancelled() else task.result())


class InThread:
    """A handler that is `def`. Threads are daemons: the process can end while a lost one runs."""

    def __init__(
        self, handler: Handler, held: HeldTask, task: Task, codec: Codec, done: Done
    ) -> None:
        """Not started yet."""
        self._work = handler, held.task, task, codec
        self._home = asyncio.get_running_loop()
        self._done = done
        self._stopping = task.stopping

    def start(self) -> None:
        """In a thread of its own."""
        threading.Thread(target=self._run, name="drover-handler", daemon=True).start()

    def stop(self) -> None:
        """Sets `task.stopping`."""
        self._stopping.set()

    def lease_moved(self) -> None:
        """It reads the lease itself."""

    def kill(self) -> bool:
        """Never possible."""
        return False

    def _run(self) -> None:
        call_in(self._home, self._done, attempt(*self._work))


def call_in(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *args: Any) -> None:
    """From any thread; a loop that has ended ignores it."""
    try:
        loop.call_soon_threadsafe(call, *args)
    except RuntimeError:
        if not loop.is_closed():
            raise
