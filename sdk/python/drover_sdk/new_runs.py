"""A run to start, as callers describe it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Union

from drover_sdk.definition import to_definition
from drover_sdk.payloads import Codec, encoded
from drover_sdk.reading import to_time
from drover_sdk.task_types import WorkflowType
from drover_sdk.tracing import active_trace
from drover_sdk.v1 import run_pb2, scheduler_service_pb2
from drover_sdk.workflow import Workflow

ConcurrencyPolicy = Literal["queue", "refuse", "cancel-oldest", "queue-one"]

_POLICIES: dict[ConcurrencyPolicy, run_pb2.ConcurrencyPolicy] = {
    "queue": run_pb2.CONCURRENCY_POLICY_QUEUE,
    "refuse": run_pb2.CONCURRENCY_POLICY_REFUSE,
    "cancel-oldest": run_pb2.CONCURRENCY_POLICY_CANCEL_OLDEST,
    "queue-one": run_pb2.CONCURRENCY_POLICY_QUEUE_ONE,
}


@dataclass(frozen=True)
class Concurrency:
    """Limits how many runs of one key are in progress."""

    key: str
    """The key, within the namespace of the run, such as `customer-17`."""
    limit: int = 0
    """The run starts only while fewer runs of the key are in progress. 0 means 1; at most 1,000."""
    policy: ConcurrencyPolicy = "queue"
    """What happens while there is no free permit: the run waits (`queue`), it is refused with
    CONCURRENCY_LIMIT (`refuse`), the oldest run of the key is cancelled and undone
    (`cancel-oldest`), or the run waits unless another one already does (`queue-one`)."""


@dataclass(frozen=True)
class Notify:
    """A hook that is notified of the end of a run, at another URL than its own."""

    hook: str
    url: str


@dataclass(frozen=True)
class NewRun:
    """Describes the run that `client.schedule` starts."""

    workflow: Union[str, WorkflowType, Workflow]
    """A registered workflow by name or type, or a definition for this run only."""
    version: int = 0
    """Version of a registered workflow. 0: the default version."""
    input: Any = None
    """JSON, also a dataclass or a pydantic model; or a Payload."""
    key: str = field(default_factory=lambda: str(uuid.uuid4()))
    """The caller's own name for the run: one key starts one run only. Default: random."""
    priority: int = 0
    """1 (first) to 9 (last). 0 means 5."""
    labels: Mapping[str, str] = field(default_factory=dict)
    start_time: datetime | None = None
    """When it starts; a time in the past means now. Default: at once."""
    concurrency: Concurrency | None = None
    """Default: no limit."""
    notify: Union[str, Notify, None] = None
    """The hook that is notified of its end, by name or with a URL instead of its own."""


def to_schedule(run: NewRun, namespace: str, codec: Codec) -> scheduler_service_pb2.ScheduleRequest:
    """The request."""
    traceparent, tracestate = active_trace()
    request = scheduler_service_pb2.ScheduleRequest(
        namespace=namespace,
        key=run.key,
        input=encoded(run.input, codec),
        priority=run.priority,
        labels=dict(run.labels),
        start_time=None if run.start_time is None else to_time(run.start_time),
        traceparent=traceparent,
        tracestate=tracestate,
    )
    if isinstance(run.workflow, Workflow):
        request.definition.CopyFrom(to_definition(run.workflow))
    else:
        name = run.workflow if isinstance(run.workflow, str) else run.workflow.name
        request.workflow.name, request.workflow.version = name, run.version
    if run.concurrency is not None:
        asked = run.concurrency
        request.concurrency.CopyFrom(
            run_pb2.Concurrency(key=asked.key, limit=asked.limit, policy=_POLICIES[asked.policy])
        )
    if isinstance(run.notify, str):
        request.notify.hook = run.notify
    elif run.notify is not None:
        request.notify.hook, request.notify.url = run.notify.hook, run.notify.url
    return request
