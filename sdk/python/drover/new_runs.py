"""A run that is to be started, as callers say it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Union

from drover.definition import to_definition
from drover.payloads import Codec, encoded
from drover.reading import to_time
from drover.tracing import active_trace
from drover.v1 import run_pb2, scheduler_service_pb2
from drover.workflow import Workflow

ConcurrencyPolicy = Literal["queue", "refuse", "cancel-oldest", "queue-one"]

_POLICIES: dict[ConcurrencyPolicy, run_pb2.ConcurrencyPolicy] = {
    "queue": run_pb2.CONCURRENCY_POLICY_QUEUE,
    "refuse": run_pb2.CONCURRENCY_POLICY_REFUSE,
    "cancel-oldest": run_pb2.CONCURRENCY_POLICY_CANCEL_OLDEST,
    "queue-one": run_pb2.CONCURRENCY_POLICY_QUEUE_ONE,
}


@dataclass(frozen=True)
class Concurrency:
    """Bounds how many runs of one key are under way."""

    key: str
    """In the namespace of the run, as `customer-17`."""
    limit: int = 0
    """The run begins only while fewer of the key are under way. 0: 1; at most 1,000."""
    policy: ConcurrencyPolicy = "queue"
    """While there is no slot: it waits, it is refused with CONCURRENCY_LIMIT, the oldest run of the
    key is cancelled and undone, or it waits unless another one does already."""


@dataclass(frozen=True)
class Notify:
    """A hook that is told of the end of a run, elsewhere than usual."""

    hook: str
    url: str


@dataclass(frozen=True)
class NewRun:
    """Says what `client.schedule` is to start."""

    workflow: Union[str, Workflow]
    """A registered workflow by name, or a definition for this run alone."""
    version: int = 0
    """Of a registered workflow. 0: the default version."""
    input: Any = None
    """JSON, or a Payload."""
    key: str = field(default_factory=lambda: str(uuid.uuid4()))
    """The caller's own name for the run: the same key starts one run only. Default: random."""
    priority: int = 0
    """1 (first) to 9 (last). 0: 5."""
    labels: Mapping[str, str] = field(default_factory=dict)
    start_time: datetime | None = None
    """When it begins; a moment that has passed is now. Default: at once."""
    concurrency: Concurrency | None = None
    """Default: nothing bounds it."""
    notify: Union[str, Notify, None] = None
    """The hook that is told of its end, by name or with a URL instead of its own."""


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
    if isinstance(run.workflow, str):
        request.workflow.name, request.workflow.version = run.workflow, run.version
    else:
        request.definition.CopyFrom(to_definition(run.workflow))
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
