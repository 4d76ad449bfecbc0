"""The lines that handlers log, on their way to the server, which stores them with the attempt.

Best effort: a task never waits for its lines, and never fails because of them. The lines of all
tasks are sent together, a second after the first of them or at 16 KiB, one call at a time, and once
more before the agent stops. A call that fails is repeated with the same lines: the server stores a
line once, by its number. What finds no room is counted, and a line says how many were not stored.
Lines of a task without `store_logs` never leave the process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from drover_sdk.background import Background
from drover_sdk.clocks import Clock, Timer, within
from drover_sdk.errors import CallError
from drover_sdk.held_task import HeldTask
from drover_sdk.task_log import LOG, Line, line_of
from drover_sdk.v1.agent_service_pb2 import AppendLogsAnswer, AppendLogsResponse, LogText
from drover_sdk.v1.agent_service_pb2 import TaskLog as TaskLogMessage

_FLUSH = 1.0
_FLUSH_BYTES = 16 * 1024
# Of all lines that wait in this process.
_WAITING_BYTES_MOST = 256 * 1024
# Of one call, and of the lines of one task in it: limits of the contract.
_ITEMS_MOST = 1_000
# Calls with the same lines before these are given up.
_TRIES_MOST = 5


@dataclass
class _Waiting:
    token: str
    lines: list[LogText] = field(default_factory=list)
    first: int = 1
    """Number of the first of these lines."""
    dropped: int = 0
    """Lines that were not stored since the last line."""
    ended: bool = False
    closed: bool = False
    """No line of the task is stored any more."""


class TaskLogs:
    """Of one session. All of it belongs to the loop of the runtime."""

    def __init__(
        self,
        clock: Clock,
        send: Callable[[list[TaskLogMessage]], Awaitable[AppendLogsResponse]],
        background: Background,
    ) -> None:
        """`send`: one AppendLogs; raises CallError."""
        self._clock = clock
        self._send = send
        self._background = background
        self._tasks: dict[HeldTask, _Waiting] = {}
        self._bytes = 0
        self._timer: Timer | None = None
        self._sending: asyncio.Task[None] | None = None
        self._tries = 0
        self._stopped = False

    def add(self, held: HeldTask, line: Line) -> None:
        """A line of the task's handler."""
        if self._stopped or not held.task.store_logs:
            return
        waiting = self._tasks.setdefault(held, _Waiting(held.task.task_token))
        if waiting.ended or waiting.closed:
            return
        message = line.message()
        if self._bytes + message.ByteSize() > _WAITING_BYTES_MOST:
            waiting.dropped += 1
            return
        self._note_dropped(waiting)
        self._push(waiting, message)
        if self._bytes >= _FLUSH_BYTES and self._tries == 0:
            self._flush()
        else:
            self._wake()

    def end(self, held: HeldTask) -> None:
        """The handler has ended: what it logs from now on is not stored."""
        waiting = self._tasks.get(held)
        if waiting is None:
            return
        self._note_dropped(waiting)
        waiting.ended = True
        self._forget_ended(held, waiting)
        if waiting.lines:
            self._wake()

    async def stop(self, seconds: float) -> None:
        """Sends what is waiting, for at most this time; after that nothing is sent."""
        await within(self._clock, seconds, self._flush())
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _push(self, waiting: _Waiting, message: LogText) -> None:
        waiting.lines.append(message)
        self._bytes += message.ByteSize()

    def _note_dropped(self, waiting: _Waiting) -> None:
        count, waiting.dropped = waiting.dropped, 0
        if count > 0:
            text = f"{count} {'line was' if count == 1 else 'lines were'} not stored"
            self._push(waiting, line_of(logging.WARNING, text, {}).message())

    def _wake(self) -> None:
        if self._timer is None:
            self._timer = self._clock.after(_FLUSH, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._flush()

    def _flush(self) -> asyncio.Task[None]:
        if self._sending is None or self._sending.done():
            self._sending = self._background.start(self._send_all())
        return self._sending

    async def _send_all(self) -> None:
        while not self._stopped:
            batch = self._batch()
            if not batch:
                return
            try:
                answer = await self._send([message for _, message in batch])
            except CallError as error:
                self._tries += 1
                if self._tries < _TRIES_MOST:
                    self._wake()
                    return
                LOG.warning("log lines of %d tasks were not stored: %s", len(batch), error)
                for held, message in batch:
                    waiting = self._take(held, len(message.lines))
                    waiting.dropped += len(message.lines)
                    self._forget_ended(held, waiting)
            else:
                for (held, message), one in zip(batch, answer.answers):
                    self._settle(held, len(message.lines), one)
            self._tries = 0

    def _batch(self) -> list[tuple[HeldTask, TaskLogMessage]]:
        waiting = [(held, one) for held, one in self._tasks.items() if one.lines]
        return [
            (
                held,
                TaskLogMessage(
                    task_token=one.token, first_line=one.first, lines=one.lines[:_ITEMS_MOST]
                ),
            )
            for held, one in waiting[:_ITEMS_MOST]
        ]

    def _settle(self, held: HeldTask, count: int, answer: AppendLogsAnswer) -> None:
        waiting = self._take(held, count)
        # The lines of a task that is refused, or whose log is full, stay with the process.
        if answer.full or answer.status.code != 0:
            waiting.closed = True
            self._take(held, len(waiting.lines))
        self._forget_ended(held, waiting)

    def _take(self, held: HeldTask, count: int) -> _Waiting:
        waiting = self._tasks[held]
        waiting.first += count
        self._bytes -= sum(line.ByteSize() for line in waiting.lines[:count])
        del waiting.lines[:count]
        return waiting

    def _forget_ended(self, held: HeldTask, waiting: _Waiting) -> None:
        if waiting.ended and not waiting.lines:
            del self._tasks[held]
