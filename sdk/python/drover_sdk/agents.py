"""The agent, as its author sees it.

Its runtime has a thread and an event loop of its own. So a handler cannot delay heartbeats, and the
agent works in programs with asyncio and without.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as FutureTimeout
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from drover_sdk.agent_options import (
    AgentSettings,
    Queue,
    Registered,
    check_handlers,
    check_name,
    check_settings,
    in_seconds,
    with_weight,
)
from drover_sdk.channel import Connection
from drover_sdk.clocks import SYSTEM_CLOCK, Clock
from drover_sdk.durations import Duration
from drover_sdk.errors import HandlersLostError
from drover_sdk.executions import call_in
from drover_sdk.payloads import PLAIN, Codec
from drover_sdk.runtime import Runtime
from drover_sdk.task_types import TaskType
from drover_sdk.tls_files import Tls
from drover_sdk.typed_handlers import AnyHandler, Register, typed

if TYPE_CHECKING:
    from typing_extensions import Self

H = TypeVar("H", bound=AnyHandler)
In = TypeVar("In")
Out = TypeVar("Out")

_LOST = "Handlers did not end although they had to stop; end the process, they may still act."
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_SIGNAL_CHECK = 0.5
"""Time between checks for signals, in seconds: another thread may get them."""


class Agent:
    """Performs the tasks of its queues with the registered handlers.

        agent = Agent("127.0.0.1:7420", id="hello")

        @agent.task("greet")
        def greet(task: Task, person: Person) -> Greeting:
            return Greeting(f"Hello, {person.name}!")

        if __name__ == "__main__":
            agent.run()

    `run` is for programs that are only an agent. Other programs use `start`, `stop` and `join`, or
    `with agent:`; within asyncio `start`, `stop` and `await agent.stopped()`, or
    `async with agent:`.
    """

    def __init__(
        self,
        address: str | Sequence[str],
        *,
        id: str,
        namespace: str = "",
        version: str = "",
        labels: Mapping[str, str] | None = None,
        queues: Sequence[Queue] = ("default",),
        slots: int = 10,
        grace: Duration = "15s",
        cancel_grace: Duration = "10s",
        poll_wait: Duration = "30s",
        tls: Tls | None = None,
        token: str | None = None,
        plaintext_token: bool = False,
        codec: Codec | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Raises ValueError for wrong settings.

        `address`: host:port, or several, as in Connection. `namespace`: by default "default".
        `id`: name of the agent, for people; need not be unique. `version` and `labels`: for people.
        `queues`: to poll, by name or as (name, weight). `slots`: maximum number of tasks at a time.
        `grace`: how long running handlers may take to finish when the agent stops.
        `cancel_grace`: how long a handler may take to end once it has to stop. After that it is
        lost: an isolated one is killed; for any other the agent drains and ends with
        HandlersLostError.
        `poll_wait`: how long a poll waits for a task, 1 s to 60 s.
        `tls`, `token`, `plaintext_token`: as in Connection. `codec`: encodes every payload.
        `clock`: for tests.
        """
        self._settings = check_settings(
            AgentSettings(
                connection=Connection(address, tls, token, plaintext_token),
                namespace=namespace,
                id=id,
                version=version,
                labels=dict(labels or {}),
                queues=[with_weight(queue) for queue in queues],
                slots=slots,
                grace=in_seconds("grace", grace),
                cancel_grace=in_seconds("cancel_grace", cancel_grace),
                poll_wait=in_seconds("poll_wait", poll_wait),
                codec=codec or PLAIN,
                clock=clock,
            )
        )
        self._handlers: dict[str, Registered] = {}
        self._runtime: tuple[asyncio.AbstractEventLoop, Runtime] | None = None
        self._stopping = False
        self._started = False
        self._done: Future[None] = Future()

    @overload
    def task(self, task: str, *, isolated: bool = False) -> Callable[[H], H]: ...
    @overload
    def task(self, task: TaskType[In, Out], *, isolated: bool = False) -> Register[In, Out]: ...
    def task(self, task: str | TaskType[Any, Any], *, isolated: bool = False) -> Any:
        """Registers the handler of a task, as a decorator: `def book(task)`, or
        `def book(task, trip: Trip)`, which gets the input as the type of its annotation. Raises
        TypeError for a type to which no JSON value can be converted.

        Tasks that verify and undo have handlers of their own, by their names. An `async def`
        handler shares an event loop with the others, a `def` handler gets a thread. `isolated`: it
        gets a process of its own, which is killed when it does not stop in time; the handler must
        then be defined at the top level of a module, and the program must guard its start by
        `if __name__ == "__main__":`.
        """
        name = task if isinstance(task, str) else task.name
        kind = None if isinstance(task, str) else task.input
        check_name("name of a handler", name)

        def register(handler: AnyHandler) -> AnyHandler:
            if name in self._handlers:
                raise ValueError(f'The task "{name}" has a handler already.')
            if self._started:
                raise RuntimeError(f'The handler of "{name}" comes after the start of the agent.')
            self._handlers[name] = Registered(typed(handler, kind), isolated)
            return handler

        return register

    def start(self) -> None:
        """Starts to poll, and returns. May be called twice, but not after `stop`.

        If it is called within asyncio, `async def` handlers run in that loop, otherwise in a loop
        of their own.
        """
        if self._stopping:
            raise RuntimeError("This agent was stopped; create another one.")
        if self._started:
            return
        self._check_start()
        self._started = True
        ready: Future[None] = Future()
        try:
            loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        thread = threading.Thread(
            target=self._run_runtime, args=(ready, loop), name="drover-agent", daemon=True
        )
        thread.start()
        ready.result()

    def stop(self) -> None:
        """Starts to drain, and returns. May be called from any thread, and more than once.

        The agent takes no further task, releases tasks that were not started, lets handlers
        finish within the grace and then stops them, reports, and closes.
        """
        self._stopping = True
        if self._runtime is not None:
            loop, runtime = self._runtime
            call_in(loop, runtime.stop)
        elif not self._started and not self._done.done():
            self._done.set_result(None)

    def join(self, timeout: float | None = None) -> None:
        """Waits until the agent has stopped. Raises HandlersLostError, and TimeoutError."""
        try:
            self._done.result(timeout)
        except FutureTimeout:
            raise TimeoutError(f"The agent has not stopped within {timeout} s.") from None

    async def stopped(self) -> None:
        """Waits until the agent has stopped. Raises HandlersLostError."""
        await asyncio.shield(asyncio.wrap_future(self._done))

    def run(self) -> None:
        """Starts the agent, and returns when it has stopped, after SIGTERM or SIGINT.

        A second signal ends the process at once. If handlers are lost, the process exits with 1.
        """
        before = {number: signal.getsignal(number) for number in _SIGNALS}

        def on_signal(_number: int, _frame: FrameType | None) -> None:
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            self.stop()

        for number in _SIGNALS:
            signal.signal(number, on_signal)
        try:
            self.start()
            # Python runs handlers of signals in the main thread, once that has something to do. One
            # that the kernel gives to another thread does not wake it while it waits for a lock.
            while not self._done.done():
                wait([self._done], timeout=_SIGNAL_CHECK)
            self.join()
        except HandlersLostError as error:
            # Nothing that waits for threads or loops: the lost handler is in one of them.
            logging.getLogger("drover").critical("%s", error)
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def __enter__(self) -> Self:
        """Starts the agent."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops the agent, and waits."""
        self.stop()
        self.join()

    async def __aenter__(self) -> Self:
        """Starts the agent."""
        self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops the agent, and waits."""
        self.stop()
        await self.stopped()

    def _check_start(self) -> None:
        check_handlers(self._handlers)
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise RuntimeError(
                "The program started its agent while a process of an isolated handler was reading "
                'it; guard the start by `if __name__ == "__main__":`.'
            )
        for name, registered in self._handlers.items():
            if not registered.isolated:
                continue
            try:
                pickle.dumps(registered.handler)
            except Exception as error:
                raise ValueError(
                    f'The handler of "{name}" cannot be isolated; define it at the top of a '
                    f"module: {error}"
                ) from None

    def _run_runtime(self, ready: Future[None], loop: asyncio.AbstractEventLoop | None) -> None:
        own = None if loop is not None else _HandlerLoop()
        try:
            asyncio.run(self._main(ready, loop or own))
        except BaseException as error:
            (self._done if ready.done() else ready).set_exception(error)
        finally:
            if own is not None:
                own.stop()

    async def _main(
        self, ready: Future[None], loop: asyncio.AbstractEventLoop | _HandlerLoop | None
    ) -> None:
        home = asyncio.get_running_loop()
        assert loop is not None
        handler_loop = loop.loop if isinstance(loop, _HandlerLoop) else loop
        runtime = Runtime(self._settings, self._handlers, handler_loop)
        self._runtime = home, runtime
        runtime.start()
        ready.set_result(None)
        if self._stopping:
            runtime.stop()
        await runtime.done
        if runtime.failed:
            self._done.set_exception(HandlersLostError(_LOST))
        else:
            self._done.set_result(None)


class _HandlerLoop:
    """A loop for `async def` handlers, in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, name="drover-handlers", daemon=True).start()

    def stop(self) -> None:
        call_in(self.loop, self.loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()
