"""Helpers for tests that play the server to an agent."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from fake_server import SECONDS_MOST, FakeServer
from manual_clock import ManualClock

from drover_sdk.agent_options import AgentSettings, Registered, check_settings
from drover_sdk.channel import Connection
from drover_sdk.clocks import SYSTEM_CLOCK, Clock
from drover_sdk.durations import to_duration
from drover_sdk.payloads import PLAIN, json_payload
from drover_sdk.runtime import Runtime
from drover_sdk.tasks import Handler, Task
from drover_sdk.v1.agent_service_pb2 import CompleteAnswer, HeartbeatAnswer
from drover_sdk.v1.task_pb2 import TASK_KIND_PERFORM
from drover_sdk.v1.task_pb2 import Task as TaskMessage

CARRY_ON = HeartbeatAnswer(carry_on=HeartbeatAnswer.CarryOn(lease_for=to_duration(9)))
ANSWERED: dict[str, Any] = {"answers": [CompleteAnswer()]}


def a_task(token: str, **given: Any) -> TaskMessage:
    """A task with a lease of 9 s, a heartbeat every 3 s, and an attempt of 60 s."""
    usual: dict[str, Any] = {
        "task_token": token,
        "run_id": "run-1",
        "step_id": token,
        "attempt": 1,
        "workflow": "book-holiday",
        "workflow_version": 1,
        "kind": TASK_KIND_PERFORM,
        "task": "book-flight",
        "queue": "default",
        "input": json_payload({"to": "Lisbon"}),
        "idempotency_key": f"key-{token}",
        "fence": 1,
        "lease_for": to_duration(9),
        "attempt_for": to_duration(60),
        "heartbeat_interval": to_duration(3),
    }
    return TaskMessage(**{**usual, **given})


def carry_on_all(heartbeat: Any) -> None:
    heartbeat.answer(answers=[CARRY_ON for _ in heartbeat.request.reports])


def accept_all(call: Any) -> None:
    call.answer(answers=[CompleteAnswer() for _ in call.request.results])


def settings_for(server: FakeServer, **given: Any) -> AgentSettings:
    usual: dict[str, Any] = {
        "connection": Connection(server.address),
        "namespace": "",
        "id": "tester",
        "version": "",
        "labels": {},
        "queues": [("default", 1)],
        "slots": 10,
        "grace": 0.0,
        "cancel_grace": 10.0,
        "poll_wait": 30.0,
        "codec": PLAIN,
        "clock": SYSTEM_CLOCK,
    }
    return check_settings(AgentSettings(**{**usual, **given}))


class Agents:
    """Agents with little grace in the loop of the test; stopped with it, whatever the server
    then answers."""

    def __init__(self) -> None:
        self._all: list[tuple[FakeServer, Runtime, Clock]] = []
        self._revived: FakeServer | None = None

    def __call__(
        self, server: FakeServer, handlers: Mapping[str, Handler], **given: Any
    ) -> Runtime:
        settings = settings_for(server, **given)
        registered = {name: Registered(handler, False) for name, handler in handlers.items()}
        runtime = Runtime(settings, registered, asyncio.get_running_loop())
        self._all.append((server, runtime, settings.clock))
        runtime.start()
        return runtime

    @property
    def first(self) -> Runtime:
        return self._all[0][1]

    def now_at(self, server: FakeServer) -> None:
        """The server that they meet from now on; it ends with them."""
        self._all = [(server, runtime, clock) for _, runtime, clock in self._all]
        self._revived = server

    async def stop(self) -> None:
        for server, runtime, clock in self._all:
            server.heartbeat.always(carry_on_all)
            server.complete.always(accept_all)
            server.release()
            runtime.stop()
            if isinstance(clock, ManualClock):
                # It would wait for ever: time passes until it is done.
                while not runtime.done.done():
                    await asyncio.sleep(0)
                    clock.advance(0.5)
            await asyncio.wait_for(runtime.done, SECONDS_MOST)
        if self._revived is not None:
            await self._revived.stop()


class Gate:
    """A handler whose start the test waits for, and whose end it decides."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._started: asyncio.Future[Task] = loop.create_future()
        self._end: asyncio.Future[Any] = loop.create_future()

    async def __call__(self, task: Task) -> Any:
        if not self._started.done():
            self._started.set_result(task)
        return await asyncio.shield(self._end)

    async def started(self) -> Task:
        return await asyncio.wait_for(asyncio.shield(self._started), SECONDS_MOST)

    def end(self, value: Any = None) -> None:
        self._end.set_result(value)


async def until(query: Callable[[], Any]) -> Any:
    """What `query` gives, as soon as that is true; it may be a coroutine function."""

    async def repeat() -> Any:
        while True:
            found = query()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.002)

    return await asyncio.wait_for(repeat(), SECONDS_MOST)
