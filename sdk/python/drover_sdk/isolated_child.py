"""What runs in the process of an isolated handler, see isolation.py."""

from __future__ import annotations

import asyncio
import logging
import logging.handlers
import os
import queue
import signal
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from drover_sdk.attempts import attempt, attempt_async, is_async
from drover_sdk.errors import StopKind
from drover_sdk.executions import call_in
from drover_sdk.held_task import Notes
from drover_sdk.payloads import PLAIN
from drover_sdk.task_log import Line
from drover_sdk.tasks import Handler, Task
from drover_sdk.v1.task_pb2 import Outcome
from drover_sdk.v1.task_pb2 import Task as TaskMessage

Pipe: TypeAlias = "Connection[Any, Any]"


@dataclass(frozen=True)
class Errand:
    """One attempt, as it goes through the pipe."""

    handler: Handler
    task: bytes
    """Its payloads are in clear."""
    agent_id: str
    lease_end: float
    """By the monotonic clock, which processes of one machine share."""


class _Sender:
    """The child's end of the pipe, for all of its threads."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def put(self, message: object) -> None:
        with self._lock:
            self._pipe.send(message)


class _PipeLog(logging.handlers.QueueHandler):
    """Passes every record of this process to the parent, whose settings count."""

    def __init__(self, sender: _Sender) -> None:
        super().__init__(queue.Queue())
        self._sender = sender

    def enqueue(self, record: logging.LogRecord) -> None:
        self._sender.put(("log", record))


class _Hold:
    """The lease, as far as this process knows."""

    def __init__(self, sender: _Sender, lease_end: float) -> None:
        self.lease_end = lease_end
        self.kind: StopKind | None = None
        self.stopping = threading.Event()
        self.running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._sender = sender

    def note(self, notes: Notes) -> None:
        if notes.progress is not None:
            self._sender.put(("progress", notes.progress.SerializeToString()))
        if notes.details is not None:
            self._sender.put(("details", notes.details.SerializeToString()))

    def logged(self, line: Line) -> None:
        self._sender.put(("line", line))

    def left(self) -> float:
        return max(0.0, self.lease_end - time.monotonic())

    def stopped(self) -> StopKind | None:
        return self.kind

    def stop(self, kind: StopKind) -> None:
        if self.kind is not None:
            return
        self.kind = kind
        self.stopping.set()
        if self.running is not None:
            loop, task = self.running
            call_in(loop, task.cancel)

    async def run(self, errand: Errand, message: TaskMessage, task: Task) -> Outcome:
        this = asyncio.current_task()
        assert this is not None
        self.running = (asyncio.get_running_loop(), this)
        if self.kind is not None:
            this.cancel()
        return await attempt_async(errand.handler, message, task, PLAIN)


def run_child(pipe: Pipe) -> None:
    """Performs errand after errand until the parent goes."""
    # The agent alone decides when a handler stops, and stops it through the pipe.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    sender = _Sender(pipe)
    root = logging.getLogger()
    root.addHandler(_PipeLog(sender))
    root.setLevel(logging.DEBUG)
    errands: queue.SimpleQueue[tuple[Errand, _Hold]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, sender, errands), daemon=True).start()
    while True:
        outcome = _perform(*errands.get())
        sender.put(("outcome", outcome.SerializeToString()))


def _listen(pipe: Pipe, sender: _Sender, errands: queue.SimpleQueue[tuple[Errand, _Hold]]) -> None:
    hold: _Hold | None = None
    while True:
        try:
            kind, content = pipe.recv()
        except (EOFError, OSError):
            os._exit(0)
        if kind == "errand":
            hold = _Hold(sender, content.lease_end)
            errands.put((content, hold))
        elif hold is not None and kind == "lease":
            hold.lease_end = content
        elif hold is not None:
            hold.stop(content)


def _perform(errand: Errand, hold: _Hold) -> Outcome:
    message = TaskMessage.FromString(errand.task)
    task = Task(message, hold, hold.stopping, errand.agent_id)
    if is_async(errand.handler):
        return asyncio.run(hold.run(errand, message, task))
    return attempt(errand.handler, message, task, PLAIN)
