"""The history of a run, as programs read it; see reading.py."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from drover_sdk.runs import Failure, Run, Step


@dataclass(frozen=True)
class Attempt:
    """One hand-out of a step."""

    step_id: str
    kind: str
    fence: int
    attempt: int
    """For a verify task: the number of the verify."""
    agent_id: str
    """Empty: no agent held it; the server itself ended the step."""
    started_time: datetime | None
    ended_time: datetime | None
    outcome: str
    failure: Failure | None
    output: Any
    late: bool
    source: str
    """What ended it."""
    n: int
    """Distinguishes attempts of one fence and kind: the number of a verify, else 0."""


@dataclass(frozen=True)
class Intervention:
    """An action of the supervisor, and its reason."""

    run_id: str
    workflow: str
    step_id: str
    rule: str
    saw: str
    did: str
    due_time: datetime | None
    acted_time: datetime | None
    supervisor: str
    partition: int
    epoch: int
    fence: int
    attempt: int


@dataclass(frozen=True)
class EscalationAnswer:
    """The answer of a person."""

    answer: str
    by: str
    """As the caller stated it."""
    by_verified: bool
    why: str


@dataclass(frozen=True)
class Escalation:
    """A question that only a person can answer."""

    id: str
    """Number within its run, as text."""
    run_id: str
    workflow: str
    step_id: str
    """Empty: the escalation concerns the run as a whole."""
    reason: str
    code: str
    """The error code that led to it; empty: none."""
    message: str
    claimed_by: str
    """The person who has claimed it, as the caller stated it; empty: it is not claimed."""
    claimed_time: datetime | None
    deadline_time: datetime | None
    """When the step's `then` becomes the answer; None: there is no deadline."""
    opened_time: datetime | None
    closed_time: datetime | None
    closed_by: str
    answers: tuple[str, ...]
    """The answers that `escalations.resolve` accepts now."""
    answer: EscalationAnswer | None
    """None: no person has answered."""


@dataclass(frozen=True)
class ReceivedSignal:
    """An event that came from outside."""

    seq: int
    """Number of the signal among the signals of the run, from 1."""
    signal_id: str
    name: str
    payload: Any
    received_time: datetime | None
    taken_by: str
    """Id of the step that took it; empty: none has."""


@dataclass(frozen=True)
class Decision:
    """The decision of an approver."""

    step_id: str
    approver: str
    """As the caller stated it."""
    approver_verified: bool
    approved: bool
    comment: str
    form: Any
    decided_time: datetime | None


@dataclass(frozen=True)
class Setting:
    """A setting with its effective value."""

    step_id: str
    """Empty: a setting of the run as a whole."""
    field: str
    """Such as `timeouts.pickup` or `retry[0].attempts`."""
    value: str
    """As in the text of a workflow: `5m`, `0.2`, `escalate`, or `off`."""
    source: str
    """DEFAULT or DEFINITION."""


@dataclass(frozen=True)
class RunWarning:
    """A failure after which the run continued."""

    step_id: str
    code: str
    message: str


@dataclass(frozen=True)
class RunDetails:
    """A run with its steps, and the requested parts of its history."""

    run: Run
    steps: tuple[Step, ...]
    warnings: tuple[RunWarning, ...]
    """`run.warnings` is their number."""
    attempts: tuple[Attempt, ...]
    interventions: tuple[Intervention, ...]
    escalations: tuple[Escalation, ...]
    signals: tuple[ReceivedSignal, ...]
    decisions: tuple[Decision, ...]
    settings: tuple[Setting, ...]


@dataclass(frozen=True)
class RunSnapshot:
    """A run with its steps at one point in time."""

    run: Run
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class RunPage:
    """Runs, and the token of the next page; empty: this is the last page."""

    runs: tuple[Run, ...]
    next_page_token: str


@dataclass(frozen=True)
class ItemPage:
    """Items of a map, each as a step."""

    items: tuple[Step, ...]
    next_page_token: str
    """Empty: this is the last page."""
