"""Queues: waiting tasks, tasks that agents hold, pauses, limits and pins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from drover_sdk import rpc
from drover_sdk.calls import Caller
from drover_sdk.schedules import Pause
from drover_sdk.v1 import queue_pb2 as wire


@dataclass(frozen=True)
class QueueLimits:
    """Limits for handing out tasks of a queue; 0: no limit."""

    leased: int
    """Maximum number of tasks that agents hold at a time."""
    per_second: float
    """Maximum number of tasks handed out per second, on average."""
    burst: int
    """Maximum number of tasks handed out at once; 0: the number of one second."""


@dataclass(frozen=True)
class Queue:
    """The current state of a queue."""

    name: str
    depth: int
    """Number of tasks that wait for an agent, counted up to 10,000 of each task name."""
    leased: int
    """Number of tasks that agents hold."""
    pause: Pause | None
    """None: it is not paused."""
    limits: QueueLimits | None
    """None: it has none."""
    oldest_time: datetime | None
    """Since when the oldest waiting task waits; None: none waits."""
    polled_time: datetime | None
    """When agents last polled for its tasks, up to 20 s late."""
    agents: int
    """Number of agents that have polled for its tasks in the last minute."""


@dataclass(frozen=True)
class QueueTask:
    """One task name of a queue; see Queue."""

    task: str
    depth: int
    leased: int
    oldest_time: datetime | None
    polled_time: datetime | None
    agents: int
    agent_version: str
    """Set for tasks that a pin restricts to agents of this version; empty: tasks for all agents."""


@dataclass(frozen=True)
class VersionPin:
    """A pin: tasks of a queue that only agents of one version get."""

    workflow: str
    version: int
    """0: every version of the workflow that has no pin of its own."""
    agent_version: str
    pinned_time: datetime | None


@dataclass(frozen=True)
class QueueDetails:
    """A queue with its tasks."""

    queue: Queue
    tasks: tuple[QueueTask, ...]
    """By name, the first 1,000."""
    pins: tuple[VersionPin, ...]
    """By workflow and version."""
    namespace_pause: Pause | None
    """The pause of the namespace, which applies to every queue; None: it is not paused."""


@dataclass(frozen=True)
class QueuePage:
    """By name."""

    queues: tuple[Queue, ...]
    next_page_token: str
    """Empty: this is the last page."""
    namespace_pause: Pause | None
    """The pause of the namespace, which applies to every queue; None: it is not paused."""


class Queues:
    """Queues: `client.queues`.

    To drain a queue, pause it and wait until `get` returns no leased tasks.
    """

    def __init__(self, caller: Caller) -> None:
        """Made by Client."""
        self._caller = caller

    async def list(self, *, page_size: int = 0, page_token: str = "") -> QueuePage:
        """One page; `page_size`: 0 means 50, at most 1,000."""
        request = wire.ListQueuesRequest(
            namespace=self._caller.namespace, page_size=page_size, page_token=page_token
        )
        return await self._caller.ask(QueuePage, rpc.LIST_QUEUES, request)

    async def get(self, queue: str) -> QueueDetails:
        """A queue that was never used is returned as an empty one."""
        request = wire.GetQueueRequest(namespace=self._caller.namespace, queue=queue)
        return await self._caller.ask(QueueDetails, rpc.GET_QUEUE, request)

    async def pause(self, queue: str, *, reason: str = "") -> Queue:
        """Once this returns, no task of the queue is handed out; tasks that agents hold
        continue."""
        request = wire.PauseQueueRequest(
            namespace=self._caller.namespace, queue=queue, reason=reason
        )
        return self._read((await self._caller.call(rpc.PAUSE_QUEUE, request)).queue)

    async def resume(self, queue: str) -> Queue:
        """Resumes the queue."""
        request = wire.ResumeQueueRequest(namespace=self._caller.namespace, queue=queue)
        return self._read((await self._caller.call(rpc.RESUME_QUEUE, request)).queue)

    async def set_limits(
        self, queue: str, *, leased: int = 0, per_second: float = 0, burst: int = 0
    ) -> Queue:
        """Sets all limits, see QueueLimits: a limit that is left out is removed."""
        request = wire.SetQueueLimitsRequest(
            namespace=self._caller.namespace,
            queue=queue,
            limits=wire.QueueLimits(leased=leased, per_second=per_second, burst=burst),
        )
        return self._read((await self._caller.call(rpc.SET_QUEUE_LIMITS, request)).queue)

    async def pin(
        self, queue: str, *, workflow: str, agent_version: str, version: int = 0
    ) -> tuple[VersionPin, ...]:
        """Restricts these tasks to agents of that version; returns all pins of the queue.

        Without `version`: tasks of each version of the workflow that has no pin of its own.
        """
        request = wire.PinQueueRequest(
            namespace=self._caller.namespace,
            queue=queue,
            workflow=workflow,
            version=version,
            agent_version=agent_version,
        )
        return self._pins((await self._caller.call(rpc.PIN_QUEUE, request)).pins)

    async def unpin(self, queue: str, *, workflow: str, version: int = 0) -> tuple[VersionPin, ...]:
        """Tasks that no other pin restricts go to any agent; returns all pins of the queue."""
        request = wire.UnpinQueueRequest(
            namespace=self._caller.namespace, queue=queue, workflow=workflow, version=version
        )
        return self._pins((await self._caller.call(rpc.UNPIN_QUEUE, request)).pins)

    def _pins(self, pins: Iterable[wire.VersionPin]) -> tuple[VersionPin, ...]:
        return tuple(self._caller.read(VersionPin, pin) for pin in pins)

    def _read(self, queue: wire.Queue) -> Queue:
        return self._caller.read(Queue, queue)
