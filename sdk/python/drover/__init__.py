"""Drover's Python SDK: `Client` starts runs and reads their state, `Agent` performs their steps.

Builders of workflows are in drover.workflow, the client for programs without asyncio in
drover.sync, and tools for tests of handlers in drover.testing.
"""

from drover.agents import Agent
from drover.answers import Answer, again, cannot_tell, deferred, did_not_happen, happened
from drover.clients import Client, Refused, RegisteredWorkflow, Scheduled
from drover.durations import Duration
from drover.errors import (
    CallError,
    CallField,
    HandlersLost,
    PermanentError,
    StopKind,
    TaskCancelled,
    TaskStopped,
    TransientError,
    UnknownError,
)
from drover.history import RunDetails, RunSnapshot
from drover.new_runs import Concurrency, NewRun, Notify
from drover.payloads import Codec, bytes_payload, json_payload
from drover.run_filters import RunFilter
from drover.runs import Key, Run, RunName, Step
from drover.task_log import TaskHandler
from drover.tasks import Handler, Task
from drover.tls_files import Tls
from drover.v1.payload_pb2 import Payload
from drover.workflow import Workflow

__all__ = [
    "Agent",
    "Answer",
    "CallError",
    "CallField",
    "Client",
    "Codec",
    "Concurrency",
    "Duration",
    "Handler",
    "HandlersLost",
    "Key",
    "NewRun",
    "Notify",
    "Payload",
    "PermanentError",
    "Refused",
    "RegisteredWorkflow",
    "Run",
    "RunDetails",
    "RunFilter",
    "RunName",
    "RunSnapshot",
    "Scheduled",
    "Step",
    "StopKind",
    "Task",
    "TaskHandler",
    "TaskCancelled",
    "TaskStopped",
    "Tls",
    "TransientError",
    "UnknownError",
    "Workflow",
    "again",
    "bytes_payload",
    "cannot_tell",
    "deferred",
    "did_not_happen",
    "happened",
    "json_payload",
]
