"""Runs as programs read them; see reading.py. Times are in UTC, names in capitals."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Union

from drover_sdk.v1.scheduler_service_pb2 import RunRef

RunState = Literal[
    "UNSPECIFIED",
    "PENDING",
    "RUNNING",
    "PAUSED",
    "STOPPING",
    "COMPENSATING",
    "ESCALATED",
    "COMPLETED",
    "FAILED",
    "COMPENSATED",
    "CANCELLED",
    "FINISHING",
]

RunSubstate = Literal[
    "UNSPECIFIED",
    "WORKING",
    "WAITING_FOR_AGENT",
    "RETRYING",
    "WAITING_FOR_SIGNAL",
    "WAITING_FOR_APPROVAL",
    "WAITING_FOR_CALLBACK",
    "WAITING_FOR_TIMER",
    "WAITING_FOR_CHILD",
    "HELD",
]

StepState = Literal[
    "UNSPECIFIED",
    "BLOCKED",
    "READY",
    "LEASED",
    "BACKOFF",
    "WAITING",
    "VERIFYING",
    "ESCALATED",
    "SUCCEEDED",
    "FAILED",
    "SKIPPED",
    "CANCELLED",
]

_ENDED = ("COMPLETED", "FAILED", "COMPENSATED", "CANCELLED")


@dataclass(frozen=True)
class Key:
    """Names a run by the caller's own key."""

    key: str


RunName = Union[str, Key]
"""A run by its id, or by the caller's own key."""


def to_ref(name: RunName) -> RunRef:
    """The message that names it."""
    return RunRef(key=name.key) if isinstance(name, Key) else RunRef(run_id=name)


@dataclass(frozen=True)
class ParentRun:
    """The run and step that started a child run."""

    run_id: str
    step_id: str


@dataclass(frozen=True)
class RunConcurrency:
    """How many runs of one key may be in progress at the same time."""

    key: str
    limit: int
    policy: str


@dataclass(frozen=True)
class RunSubstateCount:
    """What steps of an open run do or wait for, and how many."""

    substate: RunSubstate
    steps: int
    """0 for WORKING and WAITING_FOR_AGENT, whose steps are not counted."""


@dataclass(frozen=True)
class Run:
    """One run of a workflow."""

    run_id: str
    namespace: str
    key: str
    workflow: str
    workflow_version: int
    """0: the definition was sent with the request."""
    state: RunState
    reason: str
    labels: dict[str, str]
    priority: int
    input: Any
    """None in lists and in `watch_run`."""
    created_time: datetime | None
    ended_time: datetime | None
    deadline_time: datetime | None
    version: int
    cancel_reason: str
    warnings: int
    """Number of failures after which the run continued."""
    summary: str
    """How the run ended, in a sentence or two; empty while open, and after a plain success."""
    substates: tuple[RunSubstateCount, ...]
    """What steps of an open run do or wait for."""
    parent: ParentRun | None
    """None: it is not a child run."""
    start_time: datetime | None
    """When it starts; None unless it is PENDING, and while it waits for a permit."""
    concurrency: RunConcurrency | None

    @property
    def ended(self) -> bool:
        """Whether its state is final."""
        return self.state in _ENDED


class RunNotCompletedError(Exception):
    """A run ended in another way than with success."""

    def __init__(self, run: Run) -> None:
        """`run`: as it ended."""
        super().__init__(
            f"The run {run.run_id} of {run.workflow} ended as {run.state}: {run.summary}"
        )
        self.run = run


@dataclass(frozen=True)
class Failure:
    """What went wrong."""

    code: str
    message: str
    failure_class: str
    """TRANSIENT, PERMANENT or UNKNOWN."""


@dataclass(frozen=True)
class ItemCounts:
    """Progress of the items of a map."""

    total: int
    started: int
    open: int
    """Items that have started and not ended."""
    succeeded: int
    failed: int
    skipped: int
    """Items that a person skipped."""


@dataclass(frozen=True)
class Step:
    """One step of a run."""

    id: str
    kind: str
    state: StepState
    undo_state: str
    waiting_on: str
    """In WAITING: what the step waits for, until `next_time`."""
    task: str
    """Empty for other kinds of steps."""
    queue: str
    signal_name: str
    """Name of the signal for which it waits; empty for other kinds of steps."""
    strategy: int
    """Current strategy: 0 is the step as defined, n its n-th fallback."""
    attempt: int
    verifies: int
    """While verify tasks resolve an unknown outcome: how many of them did not find out so far."""
    approvals: int
    """For an approval: number of approvals so far."""
    fence: int
    agent_id: str
    suspect_time: datetime | None
    """Since when its attempt is suspect: it runs far longer than other attempts of the step did."""
    next_time: datetime | None
    output: Any
    """None in `watch_run`."""
    error: Failure | None
    needs: tuple[str, ...]
    child_run_id: str
    """For a `run` step: the run that it started last; empty: none."""
    items: ItemCounts | None
    """None: the step is not a map, or has not started."""
