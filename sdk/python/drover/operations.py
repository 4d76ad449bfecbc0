"""What operators look at: who performs tasks, who watches, what was done, what needs a person, what
runs here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from drover import rpc
from drover.calls import Caller
from drover.circuits import Circuit, Cordon
from drover.explanation import Progress
from drover.history import Intervention
from drover.reading import to_time
from drover.runs import RunState
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
    cordons: tuple[Cordon, ...]
    """Why it gets nothing new: its own cordon, that of its version, or both."""
    circuits: tuple[Circuit, ...]
    """Those of its id that are not closed, or are set by hand."""


@dataclass(frozen=True)
class HeldTask:
    """A task in an agent's hands."""

    run_id: str
    workflow: str
    step_id: str
    """An item of a map as `deploy[3]`."""
    kind: str
    """PERFORM, VERIFY or COMPENSATE."""
    queue: str
    task: str
    fence: int
    attempt: int
    """From 1."""
    granted_time: datetime | None
    attempt_deadline_time: datetime | None
    """When the attempt is over, whatever the agent does."""
    progress: Progress | None
    """What the agent last said of it; None: nothing yet."""
    progress_time: datetime | None
    """When that last changed."""
    cancelling: bool
    """It is told to stop."""


@dataclass(frozen=True)
class AgentDetails:
    """An agent with what it holds."""

    agent: AgentInfo
    tasks: tuple[HeldTask, ...]
    """What it has held longest first, the first 1,000."""


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
    late: bool
    """Nobody watches it although its region is in use, or it lags by more than the server calls
    overdue: 5 s unless told."""
    region: str


@dataclass(frozen=True)
class PartitionPage:
    """By number."""

    partitions: tuple[Partition, ...]
    next_page_token: str
    """Empty: this is the last page."""


@dataclass(frozen=True)
class HandOver:
    """A partition in one supervisor's hands."""

    partition: int
    epoch: int
    supervisor: str
    address: str
    reason: str
    """Why it was free: FIRST, GIVEN_BACK or LOST."""
    taken_time: datetime | None
    left_time: datetime | None
    """None: nobody has taken it since."""


@dataclass(frozen=True)
class HandOverPage:
    """Newest first; the last 20 of each partition."""

    hand_overs: tuple[HandOver, ...]
    next_page_token: str
    """Empty: this is the last page."""


@dataclass(frozen=True)
class Supervisor:
    """One membership of a server among those that watch."""

    id: str
    address: str
    started_time: datetime | None
    last_seen_time: datetime | None
    alive: bool
    """Seen in the last 3 seconds."""
    partitions: int
    """How many it owns."""


@dataclass(frozen=True)
class AppliedMigration:
    """A step that the schema of the database has taken."""

    number: int
    name: str
    applied_time: datetime | None


@dataclass(frozen=True)
class OpenRuns:
    """Open runs of one state."""

    state: RunState
    count: int


@dataclass(frozen=True)
class ClusterInfo:
    """What runs here."""

    server_version: str
    database_version: str
    clock_difference: float | None
    """Seconds: the server's clock less the database's, by which everything goes."""
    migrations: tuple[AppliedMigration, ...]
    open_runs: tuple[OpenRuns, ...]
    """Of all namespaces; states without any are left out."""
    more_open_runs: bool
    """There are more than were counted: some 100,000."""


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
    agent_version: str
    """It is for agents of this version; empty: for all."""
    oldest_time: datetime | None


@dataclass(frozen=True)
class NamedPause:
    """That something of this name is paused."""

    name: str
    pause: Pause | None


@dataclass(frozen=True)
class LateRegion:
    """One that is not watched as it should be: `drover supervisor --region NAME` watches it."""

    region: str
    partitions: int
    unwatched: int
    """Of its partitions, those that nobody watches."""
    overdue: int
    """Those where something is overdue."""
    lag: float | None
    """By how many seconds, at most; None: nothing is."""


@dataclass(frozen=True)
class Overview:
    """What needs a person; empty where nothing does."""

    open_escalations: int
    """Counted up to 10,000."""
    unserved_tasks: tuple[UnservedTask, ...]
    late_partitions: tuple[Partition, ...]
    """The first 1,000, of all namespaces."""
    late_regions: tuple[LateRegion, ...]
    """Regions with such partitions: all of them."""
    namespace_pause: Pause | None
    paused_queues: tuple[NamedPause, ...]
    paused_workflows: tuple[NamedPause, ...]
    open_circuits: tuple[Circuit, ...]
    """Those through which not everything goes, by the supervisor or because a person keeps them
    open; the first 100."""
    cordons: tuple[Cordon, ...]
    """Agents, and versions of agents, that get nothing new; the first 100."""


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

    async def agent(self, session: bytes) -> AgentDetails:
        """One start of an agent, by `AgentInfo.session`, with what it holds."""
        request = agent_info_pb2.GetAgentRequest(namespace=self._caller.namespace, session=session)
        return await self._caller.ask(AgentDetails, rpc.GET_AGENT, request)

    async def partitions(self, *, page_size: int = 0, page_token: str = "") -> PartitionPage:
        """Who watches what."""
        request = partition_pb2.ListPartitionsRequest(page_size=page_size, page_token=page_token)
        return await self._caller.ask(PartitionPage, rpc.LIST_PARTITIONS, request)

    async def hand_overs(
        self, *, partition: int | None = None, page_size: int = 0, page_token: str = ""
    ) -> HandOverPage:
        """Who watched what before: of one partition, or all."""
        request = partition_pb2.ListHandOversRequest(
            partition=partition, page_size=page_size, page_token=page_token
        )
        return await self._caller.ask(HandOverPage, rpc.LIST_HAND_OVERS, request)

    async def supervisors(self) -> tuple[Supervisor, ...]:
        """Those that were seen in the last minute, the longest there first."""
        request = partition_pb2.ListSupervisorsRequest()
        answer = await self._caller.call(rpc.LIST_SUPERVISORS, request)
        return tuple(self._caller.read(Supervisor, one) for one in answer.supervisors)

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

    async def cluster_info(self) -> ClusterInfo:
        """Versions, migrations, clocks, and how much is under way."""
        request = overview_pb2.GetClusterInfoRequest()
        return await self._caller.ask(ClusterInfo, rpc.GET_CLUSTER_INFO, request)

    async def overview(self) -> Overview:
        """What needs a person."""
        request = overview_pb2.GetOverviewRequest(namespace=self._caller.namespace)
        return await self._caller.ask(Overview, rpc.GET_OVERVIEW, request)
