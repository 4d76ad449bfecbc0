"""What operators look at: who performs tasks, who watches, what was done, what needs a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from drover import rpc
from drover.calls import Caller
from drover.history import Intervention
from drover.reading import to_time
from drover.schedules import Pause
from drover.v1 import agent_info_pb2, intervention_pb2, overview_pb2, partition_pb2


@dataclass(frozen=True)
class AgentInfo:
    """One start of an agent's process; what is said of it may be 20 s old."""

    id: str
    session: bytes
    """16 bytes."""
    version: str
    labels: dict[str, str]
    queues: tuple[str, ...]
    tasks: tuple[str, ...]
    """Empty: any task of its queues."""
    server: str
    """The address of the server that it called last."""
    first_seen_time: datetime | None
    last_seen_time: datetime | None
    last_beat_time: datetime | None
    last_success_time: datetime | None
    held: int
    """Tasks that it holds, counted up to 1,000."""


@dataclass(frozen=True)
class AgentPage:
    """By id and session."""

    agents: tuple[AgentInfo, ...]
    next_page_token: str
    """Empty: this is the last page."""


@dataclass(frozen=True)
class Partition:
    """A share of the runs, and who watches it."""

    partition: int
    watched: bool
    """Its owner was seen in the last 3 seconds."""
    supervisor: str
    """Who took it last; empty: it was given back, or nobody has had it yet."""
    address: str
    last_seen_time: datetime | None
    epoch: int
    """How often it has changed hands."""
    taken_time: datetime | None
    lag: float | None
    """How many seconds ago the oldest moment came that nobody has acted upon; None: there is
    none."""


@dataclass(frozen=True)
class PartitionPage:
    """By number."""

    partitions: tuple[Partition, ...]
    next_page_token: str
    """Empty: this is the last page."""


@dataclass(frozen=True)
class InterventionPage:
    """Newest first."""

    interventions: tuple[Intervention, ...]
    next_page_token: str
    """Empty: this is the last page."""


@dataclass(frozen=True)
class UnservedTask:
    """A task that waits, and nobody has asked for it in the last minute."""

    queue: str
    task: str
    oldest_time: datetime | None


@dataclass(frozen=True)
class NamedPause:
    """That something of this name is paused."""

    name: str
    pause: Pause | None


@dataclass(frozen=True)
class Overview:
    """What needs a person; empty where nothing does."""

    open_escalations: int
    """Counted up to 10,000."""
    unserved_tasks: tuple[UnservedTask, ...]
    late_partitions: tuple[Partition, ...]
    """Those that nobody watches, or that are late by more than 5 s."""
    namespace_pause: Pause | None
    paused_queues: tuple[NamedPause, ...]
    paused_workflows: tuple[NamedPause, ...]


class Operations:
    """Who performs, who watches, what was done: `client.operations`."""

    def __init__(self, caller: Caller) -> None:
        """Made by Client."""
        self._caller = caller

    async def agents(
        self, *, agent_id: str = "", page_size: int = 0, page_token: str = ""
    ) -> AgentPage:
        """Those that were seen of late; of one id, or all. `page_size`: 0 means 50."""
        request = agent_info_pb2.ListAgentsRequest(
            namespace=self._caller.namespace,
            agent_id=agent_id,
            page_size=page_size,
            page_token=page_token,
        )
        return await self._caller.ask(AgentPage, rpc.LIST_AGENTS, request)

    async def partitions(self, *, page_size: int = 0, page_token: str = "") -> PartitionPage:
        """Who watches what."""
        request = partition_pb2.ListPartitionsRequest(page_size=page_size, page_token=page_token)
        return await self._caller.ask(PartitionPage, rpc.LIST_PARTITIONS, request)

    async def interventions(
        self,
        *,
        rules: Sequence[str] = (),
        run_id: str = "",
        acted_after: datetime | None = None,
        acted_before: datetime | None = None,
        page_size: int = 0,
        page_token: str = "",
    ) -> InterventionPage:
        """What the supervisors did: by these rules, as "lease", and of this run, or all."""
        request = intervention_pb2.ListInterventionsRequest(
            namespace=self._caller.namespace,
            rules=rules,
            run_id=run_id,
            acted_after=None if acted_after is None else to_time(acted_after),
            acted_before=None if acted_before is None else to_time(acted_before),
            page_size=page_size,
            page_token=page_token,
        )
        return await self._caller.ask(InterventionPage, rpc.LIST_INTERVENTIONS, request)

    async def overview(self) -> Overview:
        """What needs a person."""
        request = overview_pb2.GetOverviewRequest(namespace=self._caller.namespace)
        return await self._caller.ask(Overview, rpc.GET_OVERVIEW, request)
