"""Runs as programs read them; see reading.py. Times are in UTC, names in capitals."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Union

from drover.v1.scheduler_service_pb2 import RunRef

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
    """The run whose step began it."""

    run_id: str
    step_id: str


@dataclass(frozen=True)
class RunConcurrency:
    """How many runs of one key may be under way at the same time."""

    key: str
    limit: int
    policy: str


@dataclass(frozen=True)
class Run:
    """One run of a workflow."""

    run_id: str
    namespace: str
    key: str
    workflow: str
    workflow_version: int
    """0: the definition came with the request."""
    state: RunState
    reason: str
    labels: dict[str, str]
    priority: int
    input: Any
    """None in lists and while watching."""
    created_time: datetime | None
    ended_time: datetime | None
    deadline_time: datetime | None
    version: int
    cancel_reason: str
    warnings: int
    """How many failures it went on after."""
    parent: ParentRun | None
    """None: no step has begun it."""
    start_time: datetime | None
    """When it begins; None unless it is PENDING, and while it waits for a slot."""
    concurrency: RunConcurrency | None

    @property
    def ended(self) -> bool:
        """Whether its state is final."""
        return self.state in _ENDED


@dataclass(frozen=True)
class Failure:
    """What went wrong."""

    code: str
    message: str
    failure_class: str
    """TRANSIENT, PERMANENT or UNKNOWN."""


@dataclass(frozen=True)
class ItemCounts:
    """How far the items of a map are."""

    total: int
    begun: int
    open: int
    """Begun, and not ended."""
    succeeded: int
    failed: int
    skipped: int
    """By a person."""


@dataclass(frozen=True)
class Step:
    """One step of a run."""

    id: str
    kind: str
    state: StepState
    undo_state: str
    waiting_on: str
    """In WAITING: what for, until `next_time`."""
    task: str
    """Empty if it is of another kind."""
    queue: str
    signal_name: str
    """Of the signal that it waits for; empty if it is of another kind."""
    strategy: int
    """Which way it is tried: 0 as defined, n by the n-th fallback."""
    attempt: int
    verifies: int
    """Of an unknown outcome that is looked up: verifies so far that could not tell."""
    approvals: int
    """So far, of an approval."""
    fence: int
    agent_id: str
    suspect_time: datetime | None
    """Since when its attempt is known to run far longer than others of the step."""
    next_time: datetime | None
    output: Any
    """None while watching."""
    error: Failure | None
    needs: tuple[str, ...]
    child_run_id: str
    """Of a `run` step: the run that it began last; empty: none."""
    items: ItemCounts | None
    """None: it is no map, or has not begun."""
