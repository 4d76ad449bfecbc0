"""The runtime of an agent: polls for tasks, runs their handlers in parallel, renews their leases
with heartbeats, reports their outcomes, and drains when it is stopped.

    created -> running -> draining -> stopped

It survives restarts of the server: it polls again, continues its heartbeats, and repeats reports
until they are answered. Only `stop` ends it, or a handler that ignores its stop and cannot
be killed: its process must end then, see `failed`.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial

from drover_sdk import rpc
from drover_sdk.agent_options import AgentSettings, Registered
from drover_sdk.attempts import is_async
from drover_sdk.background import Background
from drover_sdk.channel import Channel
from drover_sdk.clocks import Timer, wall_time, within
from drover_sdk.durations import from_duration, to_duration
from drover_sdk.errors import CallError, TransientError
from drover_sdk.executions import Execution, HeldHere, InLoop, InThread
from drover_sdk.heartbeats import Heartbeats
from drover_sdk.held_task import HeldTask
from drover_sdk.isolation import Children, InChild
from drover_sdk.outcomes import RELEASED, failed, text_of, unknown
from drover_sdk.polling import CarriedPoll, Polling, Wants
from drover_sdk.polls import Poll, Polls
from drover_sdk.reading import to_time
from drover_sdk.reports import Reports
from drover_sdk.task_log import LOG, TaskLog
from drover_sdk.task_logs import TaskLogs
from drover_sdk.tasks import Task
from drover_sdk.v1.agent_service_pb2 import (
    Agent as AgentMessage,
)
from drover_sdk.v1.agent_service_pb2 import (
    AgentProcess,
    AppendLogsRequest,
    AppendLogsResponse,
    CompleteRequest,
    CompleteResponse,
    HeartbeatReport,
    HeartbeatRequest,
    HeartbeatResponse,
    PollTaskRequest,
    PollTaskResponse,
    QueueWeight,
    TaskResult,
)
from drover_sdk.v1.agent_service_pb2 import TaskLog as TaskLogMessage
from drover_sdk.v1.task_pb2 import (
    TASK_KIND_COMPENSATE,
    TASK_KIND_PERFORM,
    TASK_KIND_VERIFY,
    Outcome,
)
from drover_sdk.v1.task_pb2 import Task as TaskMessage

# For one Heartbeat or Complete.
_CALL = 10.0
# A poll is answered a second before its deadline at the latest.
_POLL_MARGIN = 10.0
# Reports that may wait for their answer before no further task is taken.
_REPORTS_WAITING_MOST = 1_000
# What reports get to be answered when the agent stops, even if their leases have ended.
_LAST_REPORTS = 5.0
# For the heartbeat that only names lost polls.
_LAST_HEARTBEAT = 2.0
# For the last lines of handlers when the agent stops.
_LAST_LINES = 2.0
# How long a report waits for the details that are sent before it.
_DETAILS = 2.0
# A newer server may have others, for newer agents.
_KNOWN_KINDS = (TASK_KIND_PERFORM, TASK_KIND_VERIFY, TASK_KIND_COMPENSATE)


class Runtime:
    """To be made and used in one event loop."""

    def __init__(
        self,
        settings: AgentSettings,
        handlers: Mapping[str, Registered],
        handler_loop: asyncio.AbstractEventLoop,
    ) -> None:
        """`handler_loop`: where handlers that are `async def` run."""
        self._settings = settings
        self._handlers = handlers
        self._handler_loop = handler_loop
        self._clock = clock = settings.clock
        self._channel = Channel(settings.connection)
        self._me = AgentMessage(
            id=settings.id,
            session=os.urandom(16),
            version=settings.version,
            labels=dict(settings.labels),
        )
        self._host = socket.gethostname()
        self._made_at = clock.monotonic()
        self._queues = [QueueWeight(name=name, weight=much) for name, much in settings.queues]
        self._held: set[HeldTask] = set()
        self._running: dict[HeldTask, Execution] = {}
        self._lost: set[HeldTask] = set()
        # Of those that run: their handlers ignore that they must stop, and may still act.
        self.failed = False
        """Whether it has stopped because a handler was lost."""
        self._timers: dict[HeldTask, Timer] = {}
        self._ending: set[HeldTask] = set()
        self._children = Children()
        self._draining = False
        self._idle: asyncio.Future[None] | None = None
        loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = loop.create_future()
        """Done when the agent has stopped."""
        self._background = background = Background()
        self._polls = Polls(clock)
        self._heartbeats = Heartbeats(clock, self._heartbeat, self._polls.ended_to, background)
        self._logs = TaskLogs(clock, self._append_logs, background)
        self._reports = Reports(clock, self._complete, self._on_answered, background)
        wants = Wants(
            self._queues,
            list(handlers),
            settings.poll_wait,
            self._free,
            lambda: self._reports.pending,
        )
        self._polling = Polling(clock, self._polls, wants, self._poll, self._receive, background)

    def start(self) -> None:
        """Starts to poll."""
        slots, tasks = self._settings.slots, ", ".join(self._handlers)
        LOG.info("agent %s started: %d slots, tasks %s", self._settings.id, slots, tasks)
        self._polling.wake()

    def stop(self) -> None:
        """Drains: takes no further task, releases tasks that were not started, lets handlers finish
        within the grace and then stops them, reports, and closes. May be called twice."""
        if not self._draining:
            self._draining = True
            self._background.start(self._drain())

    def _free(self) -> int:
        waiting = len(self._held) - len(self._running)
        too_many = waiting > _REPORTS_WAITING_MOST
        return 0 if too_many else self._settings.slots - len(self._running)

    async def _poll(self, poll: Poll, most: int) -> PollTaskResponse:
        request = PollTaskRequest(
            namespace=self._settings.namespace,
            agent=self._me,
            poll_seq=poll.seq,
            queues=self._queues,
            tasks=list(self._handlers),
            max_tasks=most,
            wait=to_duration(poll.wait),
            lost_polls=self._polls.lost_polls(),
            process=AgentProcess(
                host=self._host,
                pid=os.getpid(),
                running_for=to_duration(self._clock.monotonic() - self._made_at),
                capacity=self._settings.slots,
                clock_time=to_time(wall_time()),
            ),
        )
        return await self._channel.unary(rpc.POLL_TASK, request, poll.wait + _POLL_MARGIN)

    async def _heartbeat(
        self, reports: list[HeartbeatReport], lists_all_to: int, timeout: float = _CALL
    ) -> HeartbeatResponse:
        request = HeartbeatRequest(
            namespace=self._settings.namespace,
            agent=self._me,
            lost_polls=self._polls.lost_polls(),
            reports=reports,
            lists_all_to=lists_all_to,
        )
        return await self._channel.unary(rpc.HEARTBEAT, request, timeout)

    async def _append_logs(self, logs: list[TaskLogMessage]) -> AppendLogsResponse:
        request = AppendLogsRequest(namespace=self._settings.namespace, agent=self._me, logs=logs)
        return await self._channel.unary(rpc.APPEND_LOGS, request, _CALL)

    def _complete(self, results: list[TaskResult]) -> Awaitable[CompleteResponse]:
        carried = self._polling.carry(len(results))
        request = CompleteRequest(
            namespace=self._settings.namespace,
            agent=self._me,
            results=results,
            next=None if carried is None else carried.next,
        )
        return self._send_complete(request, carried)

    async def _send_complete(
        self, request: CompleteRequest, carried: CarriedPoll | None
    ) -> CompleteResponse:
        try:
            answer = await self._channel.unary(rpc.COMPLETE, request, _CALL)
        except CallError as error:
            if carried is not None:
                self._polling.carried_failed(carried, error)
            raise
        if carried is not None:
            waited = from_duration(answer.waited)
            self._polling.carried_answered(carried, answer.tasks, waited)
        return answer

    def _on_answered(self, held: HeldTask) -> None:
        self._held.discard(held)
        held.close()
        self._heartbeats.remove(held)
        self._polling.wake()

    def _receive(self, tasks: Sequence[TaskMessage], sent: float, waited: float) -> None:
        for message in tasks:
            held = HeldTask(self._clock, message, sent, waited)
            self._held.add(held)
            self._heartbeats.add(held)
            known = message.kind in _KNOWN_KINDS
            registered = self._handlers.get(message.task) if known else None
            # A task that came too late, or while draining, was not started: another agent can take
            # it at once.
            if registered is None or self._draining or held.left() == 0:
                held.end()
                self._reports.add(held, RELEASED)
            else:
                self._start(held, registered)

    def _start(self, held: HeldTask, registered: Registered) -> None:
        held.on_change = partial(self._changed, held)
        try:
            execution = self._execution(held, registered)
            execution.start()
            self._running[held] = execution
        except Exception as error:
            # For example that of a codec without the key.
            TaskLog(held.task).error("handler could not be started: %s", text_of(error))
            why = f"The handler could not be started: {text_of(error)}"
            held.end()
            self._reports.add(held, Outcome(failed=failed(TransientError("not-started", why))))

    def _execution(self, held: HeldTask, registered: Registered) -> Execution:
        settings, handler = self._settings, registered.handler
        codec, done = settings.codec, partial(self._ended, held)
        hold = HeldHere(held, self._heartbeats.hurry, partial(self._logs.add, held))
        if registered.isolated:
            return InChild(handler, held, hold, settings.id, codec, self._children, done)
        task = Task(held.task, hold, threading.Event(), settings.id, codec)
        if is_async(handler):
            return InLoop(handler, held, task, codec, self._handler_loop, done)
        return InThread(handler, held, task, codec, done)

    def _changed(self, held: HeldTask) -> None:
        execution = self._running.get(held)
        # A handler that has ended, and whose report is on its way, is not stopped again.
        if execution is None or held in self._ending:
            return
        if held.stopped is None:
            execution.lease_moved()
        elif held not in self._timers:
            execution.stop()
            grace = self._settings.cancel_grace
            self._timers[held] = self._clock.after(grace, partial(self._ignored, held))

    def _ignored(self, held: HeldTask) -> None:
        """The handler has not stopped within its grace."""
        execution = self._running[held]
        log, grace = TaskLog(held.task), self._settings.cancel_grace
        if execution.kill():
            log.error("handler killed: it did not stop within %g s", grace)
            self._ended(held, _lost("The handler did not end when it had to, and was killed."))
            return
        log.critical("handler lost: it did not stop within %g s; the agent ends", grace)
        self.failed = True
        self._lost.add(held)
        self._check_idle()
        self.stop()

    def _ended(self, held: HeldTask, outcome: Outcome) -> None:
        # Only the first outcome counts: a handler that was killed may still return one.
        if held not in self._running or held in self._ending:
            return
        self._ending.add(held)
        self._logs.end(held)
        timer = self._timers.pop(held, None)
        if timer is not None:
            timer.cancel()
        self._background.start(self._report(held, outcome))

    async def _report(self, held: HeldTask, outcome: Outcome) -> None:
        # After a success no later attempt needs the details.
        if not outcome.HasField("success") and held.notes.details is not None:
            sending = self._background.start(self._heartbeats.send_details(held))
            await within(self._clock, _DETAILS, sending)
        held.end()
        del self._running[held]
        self._ending.discard(held)
        self._lost.discard(held)
        self._reports.add(held, outcome)
        self._polling.wake()
        self._check_idle()

    def _until_idle(self) -> asyncio.Future[None]:
        """Until all that run are lost."""
        self._idle = asyncio.get_running_loop().create_future()
        self._check_idle()
        return self._idle

    def _check_idle(self) -> None:
        idle = self._idle
        if idle is not None and not idle.done() and self._running.keys() <= self._lost:
            idle.set_result(None)

    async def _drain(self) -> None:
        LOG.info("agent draining, %d tasks running", len(self._running))
        await self._polling.stop()
        await self._name_lost_polls()
        await self._finish_handlers()
        await self._last_reports()
        await self._name_lost_polls()
        await self._logs.stop(_LAST_LINES)
        self._reports.stop()
        self._heartbeats.stop()
        for held in self._held:
            held.close()
        self._children.close()
        await self._channel.close()
        LOG.info("agent stopped")
        self.done.set_result(None)

    async def _last_reports(self) -> None:
        """Gives finished work up with its leases and not before; heartbeats continue meanwhile."""
        flushed = self._reports.flushed()
        least = self._clock.monotonic() + _LAST_REPORTS
        while True:
            leases = max((held.left() for held in self._held), default=0.0)
            wait = max(least - self._clock.monotonic(), leases)
            if wait <= 0:
                break
            if await within(self._clock, wait, flushed):
                return
        text = "agent stops with %d reports unanswered: their leases have ended"
        LOG.error(text, len(self._held))

    async def _finish_handlers(self) -> None:
        if not await within(self._clock, self._settings.grace, self._until_idle()):
            LOG.warning("grace is over, the agent stops %d handlers", len(self._running))
            for held in list(self._running):
                held.stop("agent-stopped")
            # Each has ended by then, or is lost when its own grace is over.
            await self._until_idle()
        # Not sooner: the server verifies or retries a reported task at once, and until its process
        # ends a lost handler may still act.
        lost, self._lost = self._lost, set()
        for held in lost:
            self._ended(held, _lost("The handler did not end although it had to stop."))
        await self._until_idle()

    async def _name_lost_polls(self) -> None:
        """With no further poll to name them, lost polls are named by a heartbeat."""
        if not self._polls.lost_polls():
            return
        try:
            await self._heartbeat([], 0, _LAST_HEARTBEAT)
        except CallError as error:
            LOG.warning("lost polls could not be named: %s: %s", error.code, error)


def _lost(message: str) -> Outcome:
    return unknown("handler-lost", message)
