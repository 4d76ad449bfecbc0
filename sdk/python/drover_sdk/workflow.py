"""A workflow as data classes, with the names of the YAML form: an editor completes it, a type
checker reads it, and the server checks it. `to_definition` makes exactly the message of the YAML.

    Workflow("trip", steps=[
        Step("flight", task="book-flight", retry=Retry(attempts=5), compensate="cancel-flight"),
        Step("mail", task="send-mail", needs=["flight"], timeouts=Timeouts(attempt="2m")),
    ])

A field that is None is left out, so the server's default applies; JSON null is
`json_payload(None)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, Union

from drover_sdk.durations import Duration
from drover_sdk.task_types import In, TaskType, WorkflowType
from drover_sdk.v1.payload_pb2 import Payload


@dataclass(frozen=True)
class Retry:
    """When and how often to retry after a failure."""

    on: Sequence[str] = ()
    """Codes of failures to which it applies. Default: all."""
    attempts: int | None = None
    """Maximum number of tries, the first included. Default 5, for an undo 10."""
    initial: Duration | None = None
    factor: float | None = None
    max: Duration | None = None
    jitter: float | None = None


Retries = Union[Retry, Sequence[Retry]]
"""The first policy that matches the code of a failure applies."""


@dataclass(frozen=True)
class Timeouts:
    """The timeouts of a task."""

    pickup: Duration | None = None
    attempt: Duration | None = None
    heartbeat: Duration | None = None
    """Length of the lease, at least 2 s."""
    stall: Duration | None = None
    """How long the progress that a handler reports may stay unchanged. Default: off."""
    total: Duration | None = None
    cancel: Duration | None = None
    settle: Duration | None = None
    callback: Duration | None = None
    """Time from `deferred()` until its outcome must have arrived. Default 24 hours."""


@dataclass(frozen=True)
class Verify:
    """The task that finds out whether a lost attempt took effect."""

    task: str | TaskType
    queue: str | None = None
    """Default: the queue of the step."""
    retry: Retries = ()
    timeouts: Timeouts | None = None


@dataclass(frozen=True)
class Compensate:
    """The task that undoes a step."""

    task: str | TaskType
    queue: str | None = None
    """Default: the queue of the step."""
    retry: Retries = ()
    timeouts: Timeouts | None = None
    when: Literal["finished", "attempted"] | None = None
    """Default: `finished`; `attempted` also undoes a step that failed part-way."""


@dataclass(frozen=True)
class Gate:
    """The task that lets the next wave of a map start by succeeding."""

    task: str | TaskType
    queue: str | None = None
    input: Any = None
    """Default: the run's input."""
    retry: Retries = ()
    timeouts: Timeouts | None = None


@dataclass(frozen=True)
class RunOf:
    """A workflow of which a step starts a run."""

    workflow: str | WorkflowType
    version: int | None = None
    """Default: the default version at the time at which the run starts."""


@dataclass(frozen=True)
class Until:
    """A time to wait for."""

    until: str | datetime
    """A datetime, a time such as 2026-03-01T08:00:00Z, or an expression, `${...}`."""


@dataclass(frozen=True)
class SignalWait:
    """A signal to wait for."""

    name: str
    within: Duration | None = None
    """Default 7 days."""
    on_expiry: Literal["escalate", "fail", "skip"] | None = None
    """What follows when no signal has arrived by then. Default: a person is asked."""


@dataclass(frozen=True)
class Approval:
    """People to wait for."""

    approvers: Sequence[str] = ()
    """Names or roles of the people who may decide. Default: anyone may."""
    need: int | None = None
    """Number of approvals needed. Default 1."""
    not_requester: bool = False
    """The person who started the run, named by its label `requester`, may not decide."""
    form: Any = None
    """JSON Schema of the form that an approver fills in."""
    within: Duration | None = None
    """Default 7 days."""
    on_expiry: Literal["escalate", "reject", "approve"] | None = None
    """What follows when too few people have decided by then. Default: another person is asked."""


@dataclass(frozen=True)
class Waves:
    """How the items of a map are divided into waves."""

    size: int | None = None
    """Number of items in a wave; this or `percent`."""
    percent: float | None = None
    """The same as a percentage of all: 25 is a quarter."""
    pause: Duration | None = None
    """Time from the end of a wave to its gate, or to the next wave."""
    gate: str | Gate | TaskType | None = None


@dataclass(frozen=True)
class Map:
    """One task for each item of a list; the settings of the step for its task apply to each
    item."""

    over: str | int
    """An expression that gives a list, or a number of items, which are then 0, 1, 2 and so on."""
    task: str | TaskType
    queue: str | None = None
    """Default: "default"; may contain expressions, such as `deploy-${item.host}`."""
    concurrency: int | None = None
    """Maximum number of items in progress at the same time. Default 100."""
    tolerate: int | None = None
    """How many items may fail without failing the step. Default 0."""
    tolerate_percent: float | None = None
    """The same as a percentage of all: 5 is 5 %."""
    waves: Waves | None = None


@dataclass(frozen=True)
class Fallback:
    """Another way to try a step. Fields that are not given leave the step's value unchanged."""

    queue: str | None = None
    task: str | TaskType | None = None
    run: str | RunOf | WorkflowType | None = None
    """Workflow to run instead, for a `run` step."""
    input: Any = None
    """JSON object that is merged over the step's input, key by key."""


@dataclass(frozen=True)
class Escalate:
    """How long an escalation of the step stays open, and what follows then."""

    remind: Duration | None = None
    """Interval between reminders. Default 1 hour."""
    deadline: Duration | None = None
    """Time from the opening of the escalation to the answer that `then` gives; both or none.
    Default: none."""
    then: Literal["retry", "skip", "compensate", "fail"] | None = None


class AnyStep:
    """A step, whatever its input is."""


@dataclass(frozen=True)
class Step(AnyStep, Generic[In]):
    """One step, of exactly one kind: task, wait, signal, approval, run or map."""

    id: str
    task: str | TaskType[In, Any] | None = None
    """The task that an agent performs: its name, or its type, which also binds `input`, `verify`
    and `compensate` for type checkers."""
    queue: str | None = None
    """Queue of the task; default "default"."""
    wait: Duration | Until | None = None
    """A timer: a duration, or a time."""
    signal: str | SignalWait | None = None
    """Waits for `client.signal`, by the name of the signal."""
    approval: Approval | None = None
    """Waits for `client.decide`."""
    run: str | RunOf | WorkflowType | None = None
    """Starts a run of a workflow, and waits for its end."""
    map: Map | None = None
    needs: Sequence[str] = ()
    """Steps that must have ended before this one starts."""
    when: str | None = None
    """CEL; false: the step is skipped."""
    run_if: Literal["ended", "all_ok", "any_ok"] | None = None
    """How the steps in `needs` must have ended. Default: `ended`."""
    always: bool = False
    """A finally step: it runs once, last, however the run ends."""
    pivot: bool = False
    """Once it has succeeded, the run is no longer undone: later failures ask a person."""
    input: In | Mapping[str, Any] | Payload | None = None
    """JSON, or a Payload; its strings may contain expressions. Default: the run's input; for a map,
    the item."""
    retry: Retries = ()
    timeouts: Timeouts | None = None
    effects: Literal["idempotent", "verifiable", "once"] | None = None
    """What a repeated attempt does to the remote service. Default: `idempotent`."""
    verify: str | TaskType[In, Any] | Verify | None = None
    """The task that resolves an unknown outcome; with effects `verifiable`."""
    fallback: Sequence[Fallback] = ()
    """Other ways to try the step, in this order."""
    on_pickup: Literal["alarm", "escalate", "fallback"] | None = None
    """What happens when no agent polls for the task. Default: `alarm`."""
    compensate: str | TaskType[In, Any] | Compensate | None = None
    on_failure: Literal["compensate", "fail", "continue", "escalate"] | None = None
    """Default: compensate if an effect that can be undone exists by then, otherwise fail."""
    escalation: Escalate | None = None
    output_schema: Any = None
    """JSON Schema for the output."""
    logs: Literal["on", "off"] | None = None
    """`off` for tasks that handle secrets: the lines that handlers log are not sent to the server.
    Default: `on`."""


@dataclass(frozen=True)
class Workflow:
    """The definition of a workflow."""

    workflow: str | WorkflowType
    """Name of the workflow."""
    steps: Sequence[AnyStep]
    timeout: Duration | None = None
    """Maximum duration of a run. Default 7 days."""
    input_schema: Any = None
    """JSON Schema for the input of a run."""
