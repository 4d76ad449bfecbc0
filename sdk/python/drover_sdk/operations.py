"""State for operators: agents, partitions, supervisors, interventions, what needs a person, and
what runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from drover_sdk import rpc
from drover_sdk.calls import Caller
from drover_sdk.circuits import Circuit, Cordon
from drover_sdk.explanation import Progress
from drover_sdk.history import Intervention
from drover_sdk.reading import to_time
from drover_sdk.runs import RunState
from drover_sdk.schedules import Pause
from drover_sdk.v1 import agent_info_pb2, intervention_pb2, overview_pb2, partition_pb2


@dataclass(frozen=True)
class AttemptCounts:
    """How attempts ended. Those that were released, cancelled or given back are not counted."""

    ended: int
    """All that ended, whatever their outcome."""
    failed: int
    """Transient and permanent failures."""
    unknown: int


@dataclass(frozen=True)
class FailingAgent:
    """A live session that fails nearly all of its attempts at a task."""

    agent_id: str
    session: bytes
    """16 bytes."""
    version: str
    host: str
    pid: int
    queue: str
    task: str
    attempts: AttemptCounts | None
    """Its attempts at the task in the last hour."""
    others: AttemptCounts | None
    """Those of all other sessions."""


@dataclass(frozen=True)
class AgentInfo:
    """One session of an agent: one start of its process. The information may be 20 s old."""

    id: str
    session: bytes
    """16 bytes."""
    version: str
    labels: dict[str, str]
    host: str
    """Name of its machine; empty: not stated."""
    pid: int
    """Its process id on that machine; 0: not stated."""
    started_time: datetime | None
    """When the session began; None: not stated."""
    capacity: int
    """Most tasks that it holds at a time; 0: not stated."""
    attempts: AttemptCounts | None
    """How its attempts of the last hour ended."""
    queues: tuple[str, ...]
    tasks: tuple[str, ...]
    """Empty: all tasks of its queues."""
    server: str
    """The address of the server that the agent called last."""
    first_seen_time: datetime | None
    last_seen_time: datetime | None
    last_heartbeat_time: datetime | None
    last_success_time: datetime | None
    held: int
    """Number of tasks that it holds, counted up to 1,000."""
    cordons: tuple[Cordon, ...]
    """Why it gets no new tasks: cordons of its session, its id or its version."""
    circuits: tuple[Circuit, ...]
    """The circuits of its id that are not closed, or that are set by hand."""


@dataclass(frozen=True)
class HeldTask:
    """A task that an agent holds."""

    run_id: str
    workflow: str
    step_id: str
    """An item of a map is named as `deploy[3]`."""
    kind: str
    """PERFORM, VERIFY or COMPENSATE."""
    queue: str
    task: str
    fence: int
    attempt: int
    """From 1."""
    granted_time: datetime | None
    attempt_deadline_time: datetime | None
    """When the attempt ends, whatever the agent does."""
    progress: Progress | None
    """The progress that the agent last reported; None: none yet."""
    progress_time: datetime | None
    """When the progress last changed."""
    cancelling: bool
    """The server asks the agent to stop it."""


@dataclass(frozen=True)
class AgentDetails:
    """An agent with the tasks that it holds."""

    agent: AgentInfo
    tasks: tuple[HeldTask, ...]
    """The tasks that it holds, the longest held first; the first 1,000."""


@dataclass(frozen=True)
class AgentPage:
    """Ordered by id and session."""

    agents: tuple[AgentInfo, ...]
    next_page_token: str
    """Empty: this is the last page."""


@dataclass(frozen=True)
class Partition:
    """A share of the runs, and the supervisor that watches it."""

    partition: int
    watched: bool
    """Its owner was seen in the last 3 seconds."""
    supervisor: str
    """The supervisor that took it last; empty: it was given back, or none has taken it yet."""
    address: str
    last_seen_time: datetime | None
    epoch: int
    """How often another supervisor has taken it."""
    taken_time: datetime | None
    lag: float | None
    """Delay of the oldest timer that is due and not yet handled, in seconds; None: there is
    none."""
    late: bool
    """No supervisor watches it although its region is in use, or it lags by more than the server's
    overdue limit: 5 s by default."""
    region: str


@dataclass(frozen=True)
class PartitionPage:
    """By number."""

    partitions: tuple[Partition, ...]
    next_page_token: str
    """Empty: this is the last page."""


@dataclass(frozen=True)
class HandOver:
    """A period during which one supervisor owned a partition."""

    partition: int
    epoch: int
    supervisor: str
    address: str
    reason: str
    """Why it was free: FIRST, GIVEN_BACK or LOST."""
    taken_time: datetime | None
    left_time: datetime | None
    """None: no other supervisor has taken it since."""


@dataclass(frozen=True)
class HandOverPage:
    """Newest first; the last 20 of each partition."""

    hand_overs: tuple[HandOver, ...]
    next_page_token: str
    """Empty: this is the last page."""


@dataclass(frozen=True)
class Supervisor:
    """One membership of a server among the supervisors."""

    id: str
    address: str
    started_time: datetime | None
    last_seen_time: datetime | None
    alive: bool
    """Seen in the last 3 seconds."""
    partitions: int
    """Number of partitions that it owns."""


@dataclass(frozen=True)
class AppliedMigration:
    """A migration that was applied to the database schema."""

    number: int
    name: str
    applied_time: datetime | None


@dataclass(frozen=True)
class OpenRuns:
    """Number of open runs in one state."""

    state: RunState
    count: int


@dataclass(frozen=True)
class ClusterInfo:
    """Versions, clocks and runs of the installation."""

    server_version: str
    database_version: str
    clock_difference: float | None
    """The server's clock minus the database clock, in seconds; the database clock determines all
    timers."""
    migrations: tuple[AppliedMigration, ...]
    open_runs: tuple[OpenRuns, ...]
    """Of all namespaces; states without runs are left out."""
    more_open_runs: bool
    """There are more open runs than were counted: about 100,000."""


@dataclass(frozen=True)
class InterventionPage:
    """Newest first."""

    interventions: tuple[Intervention, ...]
    next_page_token: str
    """Empty: this is the last page."""


@dataclass(frozen=True)
class UnservedTask:
    """A waiting task for which no agent has polled in the last minute."""

    queue: str
    task: str
    agent_version: str
    """Only agents of this version may take it; empty: all agents may."""
    oldest_time: datetime | None


@dataclass(frozen=True)
class NamedPause:
    """A paused queue or workflow."""

    name: str
    pause: Pause | None


@dataclass(frozen=True)
class LateRegion:
    """A region that is not watched as it should be: `drover supervisor --region NAME` watches
    it."""

    region: str
    partitions: int
    unwatched: int
    """Number of partitions that no supervisor watches."""
    overdue: int
    """Number of partitions with overdue work."""
    lag: float | None
    """The longest delay in seconds; None: nothing is overdue."""


@dataclass(frozen=True)
class Overview:
    """What needs a person; all fields are empty when nothing does."""

    open_escalations: int
    """Counted up to 10,000."""
    unserved_tasks: tuple[UnservedTask, ...]
    late_partitions: tuple[Partition, ...]
    """The first 1,000, of all namespaces."""
    late_regions: tuple[LateRegion, ...]
    """All regions with such partitions."""
    namespace_pause: Pause | None
    paused_queues: tuple[NamedPause, ...]
    paused_workflows: tuple[NamedPause, ...]
    open_circuits: tuple[Circuit, ...]
    """Circuits that do not let all tasks through, because of the supervisor or because a person
    holds them open; the first 100."""
    cordons: tuple[Cordon, ...]
    """Agents, sessions and versions of agents that get no new tasks; the first 100."""
    failing_agents: tuple[FailingAgent, ...]
    """By queue, task and session; the first 100."""


class Operations:
    """State for operators: `client.operations`."""

    def __init__(self, caller: Caller) -> None:
        """Made by Client."""
        self._caller = caller

    async def agents(
        self, *, agent_id: str = "", page_size: int = 0, page_token: str = ""
    ) -> AgentPage:
        """The agents that were seen lately; of one id, or all. `page_size`: 0 means 50."""
        request = agent_info_pb2.ListAgentsRequest(
            namespace=self._caller.namespace,
            agent_id=agent_id,
            page_size=page_size,
            page_token=page_token,
        )
        return await self._caller.ask(AgentPage, rpc.LIST_AGENTS, request)

    async def agent(self, session: bytes) -> AgentDetails:
        """One session of an agent, by `AgentInfo.session`, with the tasks that it holds."""
        request = agent_info_pb2.GetAgentRequest(namespace=self._caller.namespace, session=session)
        return await self._caller.ask(AgentDetails, rpc.GET_AGENT, request)

    async def partitions(self, *, page_size: int = 0, page_token: str = "") -> PartitionPage:
        """The partitions, and the supervisors that watch them."""
        request = partition_pb2.ListPartitionsRequest(page_size=page_size, page_token=page_token)
        return await self._caller.ask(PartitionPage, rpc.LIST_PARTITIONS, request)

    async def hand_overs(
        self, *, partition: int | None = None, page_size: int = 0, page_token: str = ""
    ) -> HandOverPage:
        """Which supervisor owned which partition and when: of one partition, or all."""
        request = partition_pb2.ListHandOversRequest(
            partition=partition, page_size=page_size, page_token=page_token
        )
        return await self._caller.ask(HandOverPage, rpc.LIST_HAND_OVERS, request)

    async def supervisors(self) -> tuple[Supervisor, ...]:
        """The supervisors that were seen in the last minute, the longest running first."""
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
        """The actions of supervisors: by these rules, such as "lease", and in this run, or all."""
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
        """Versions, migrations, clocks, and the number of open runs."""
        request = overview_pb2.GetClusterInfoRequest()
        return await self._caller.ask(ClusterInfo, rpc.GET_CLUSTER_INFO, request)

    async def overview(self) -> Overview:
        """What needs a person."""
        request = overview_pb2.GetOverviewRequest(namespace=self._caller.namespace)
        return await self._caller.ask(Overview, rpc.GET_OVERVIEW, request)
