"""Queues: what waits in them, what agents have, and how much of them is handed out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from drover import rpc
from drover.calls import Caller
from drover.schedules import Pause
from drover.v1 import queue_pb2 as wire


@dataclass(frozen=True)
class QueueLimits:
    """How much of a queue is handed out; 0: any number."""

    leased: int
    """Most tasks with agents at a time."""
    per_second: float
    """Most tasks handed out per second, on average."""
    burst: int
    """Most of them at once; 0: those of one second."""


@dataclass(frozen=True)
class Queue:
    """A queue as it is now."""

    name: str
    depth: int
    """Tasks that wait for an agent, counted up to 10,000 of each task name."""
    leased: int
    """Tasks with agents."""
    pause: Pause | None
    """None: it is not paused."""
    limits: QueueLimits | None
    """None: it has none."""
    oldest_time: datetime | None
    """Since when the task waits that has waited longest; None: none waits."""
    polled_time: datetime | None
    """When agents were last seen to wait for its tasks, up to 20 s late."""
    agents: int
    """Those that have asked for its tasks in the last minute."""


@dataclass(frozen=True)
class QueueTask:
    """One of the tasks that are sent to a queue; see Queue."""

    task: str
    depth: int
    leased: int
    oldest_time: datetime | None
    polled_time: datetime | None
    agents: int
    agent_version: str
    """Those that a pin keeps for agents of this version; empty: those for all agents."""


@dataclass(frozen=True)
class VersionPin:
    """What a queue keeps for one version of agents."""

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
    """What keeps every queue of the namespace; None: nothing."""


@dataclass(frozen=True)
class QueuePage:
    """By name."""

    queues: tuple[Queue, ...]
    next_page_token: str
    """Empty: this is the last page."""
    namespace_pause: Pause | None
    """What keeps every queue of the namespace; None: nothing."""


class Queues:
    """What waits, and how much is handed out: `client.queues`.

    To drain a queue, pause it and wait until `get` says that nothing is leased.
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
        """One that nobody has named yet is an empty one."""
        request = wire.GetQueueRequest(namespace=self._caller.namespace, queue=queue)
        return await self._caller.ask(QueueDetails, rpc.GET_QUEUE, request)

    async def pause(self, queue: str, *, reason: str = "") -> Queue:
        """Nothing of it is handed out once this returns; what agents have goes on."""
        request = wire.PauseQueueRequest(
            namespace=self._caller.namespace, queue=queue, reason=reason
        )
        return self._read((await self._caller.call(rpc.PAUSE_QUEUE, request)).queue)

    async def resume(self, queue: str) -> Queue:
        """It goes on."""
        request = wire.ResumeQueueRequest(namespace=self._caller.namespace, queue=queue)
        return self._read((await self._caller.call(rpc.RESUME_QUEUE, request)).queue)

    async def set_limits(
        self, queue: str, *, leased: int = 0, per_second: float = 0, burst: int = 0
    ) -> Queue:
        """All of them, see QueueLimits: what is left out has no limit any more."""
        request = wire.SetQueueLimitsRequest(
            namespace=self._caller.namespace,
            queue=queue,
            limits=wire.QueueLimits(leased=leased, per_second=per_second, burst=burst),
        )
        return self._read((await self._caller.call(rpc.SET_QUEUE_LIMITS, request)).queue)

    async def pin(
        self, queue: str, *, workflow: str, agent_version: str, version: int = 0
    ) -> tuple[VersionPin, ...]:
        """Gives such tasks to agents of that version alone; all pins of the queue after it.

        Without `version` those of each version of the workflow that has no pin of its own.
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
        """What no other pin keeps goes to any agent; all pins of the queue after it."""
        request = wire.UnpinQueueRequest(
            namespace=self._caller.namespace, queue=queue, workflow=workflow, version=version
        )
        return self._pins((await self._caller.call(rpc.UNPIN_QUEUE, request)).pins)

    def _pins(self, pins: Iterable[wire.VersionPin]) -> tuple[VersionPin, ...]:
        return tuple(self._caller.read(VersionPin, pin) for pin in pins)

    def _read(self, queue: wire.Queue) -> Queue:
        return self._caller.read(Queue, queue)
