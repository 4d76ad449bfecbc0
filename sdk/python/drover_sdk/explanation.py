"""Why a run is not moving, as programs read it; see reading.py."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from drover_sdk.runs import Failure, Run


@dataclass(frozen=True)
class Progress:
    """How far a task has come, by a fraction, a counter or a cursor."""

    fraction: float | None
    counter: int | None
    cursor: str | None


@dataclass(frozen=True)
class LaneWait:
    """With AGENT_TO_POLL."""

    queue: str
    task: str
    polled: bool
    """An agent polled for it in the last minute."""
    last_poll_time: datetime | None
    alarms: int
    cordoned: int
    """Number of agent sessions that poll for it, if every one of them is cordoned; otherwise 0."""
    agent_version: str
    """Only agents of this version get it, because of a pin of the queue; empty: all agents do."""


@dataclass(frozen=True)
class AgentWait:
    """With AGENT_WORKING, AGENT_TO_STOP and CALLBACK."""

    agent_id: str
    last_heartbeat_time: datetime | None
    progress: Progress | None
    progress_time: datetime | None
    attempt_end_time: datetime | None
    stop_cause: str
    stop_delivered: bool
    suspect_time: datetime | None
    """Since when its attempt is suspect: it runs far longer than other attempts of the step did."""


@dataclass(frozen=True)
class ApprovalWait:
    """With APPROVAL."""

    approvers: tuple[str, ...]
    approvals: int
    need: int


@dataclass(frozen=True)
class ChildWait:
    """With CHILD: `client.explain_run` of the child run explains what it waits for."""

    run_id: str
    stopping: bool


@dataclass(frozen=True)
class EscalationWait:
    """With PERSON."""

    id: str
    reason: str
    message: str


@dataclass(frozen=True)
class Tried:
    """What was tried so far."""

    attempts: int
    lost: int
    """Number of lost attempts in a row."""
    handed_out: int
    verifies: int
    strategy: int
    strategies: int
    last_outcome: str
    """UNSPECIFIED: no attempt has ended."""
    last_failure: Failure | None
    last_agent_id: str
    last_ended_time: datetime | None


@dataclass(frozen=True)
class PersonAction:
    """What a person can do."""

    kind: str
    step_id: str
    escalation_id: str
    choices: tuple[str, ...]
    """The possible values."""
    signal_name: str
    queue: str
    task: str
    agent_version: str
    """With START_AGENT: required version of the agent; empty: any."""
    region: str
    """With START_SUPERVISOR."""
    approvers: tuple[str, ...]


@dataclass(frozen=True)
class RunWait:
    """What a run, or one of its steps, waits for."""

    step_id: str
    """Empty: the run as a whole."""
    undo: bool
    waiting_for: str
    sentence: str
    """The whole entry in one sentence for a person."""
    since_time: datetime | None
    next: str
    """What happens at `next_time` if nothing else happens before; UNSPECIFIED: nothing."""
    next_time: datetime | None
    tried: Tried | None
    """None: no agent performs the step."""
    actions: tuple[PersonAction, ...]
    waits_on: tuple[str, ...]
    """Ids of steps."""
    task_kind: str
    lane: LaneWait | None
    agent: AgentWait | None
    signal_name: str | None
    """With SIGNAL."""
    approval: ApprovalWait | None
    child: ChildWait | None
    escalation: EscalationWait | None


@dataclass(frozen=True)
class UntakenSignal:
    """A signal that arrived, and that no step has taken."""

    name: str
    signal_id: str
    received_time: datetime | None
    sentence: str
    """For a person: which step will take it later, or that none will."""


@dataclass(frozen=True)
class RunExplanation:
    """Why a run is not moving."""

    run: Run
    wait: RunWait
    """What the run waits for: its own wait, or that of the first of the steps in `waits_on`."""
    steps: tuple[RunWait, ...]
    """Each step that is active or waits, in the order of the definition."""
    now: datetime | None
    """By the database clock, as all times here."""
    untaken_signals: tuple[UntakenSignal, ...]
    """The newest 10."""
