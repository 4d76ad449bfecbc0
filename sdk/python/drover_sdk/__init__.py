"""Drover's Python SDK: `Client` starts runs and reads their state, `Agent` performs their steps.

Builders of workflows are in drover_sdk.workflow, the client for programs without asyncio in
drover_sdk.sync, and tools for tests of handlers in drover_sdk.testing.
"""

from drover_sdk.agents import Agent
from drover_sdk.answers import Answer, again, cannot_tell, deferred, did_not_happen, happened
from drover_sdk.clients import Client, Refused, RegisteredWorkflow, Scheduled
from drover_sdk.durations import Duration
from drover_sdk.error_reason import ErrorReason
from drover_sdk.errors import (
    CallError,
    CallField,
    HandlersLostError,
    PermanentError,
    StopKind,
    TaskCancelledError,
    TaskStoppedError,
    TransientError,
    UnknownError,
)
from drover_sdk.history import RunDetails, RunSnapshot
from drover_sdk.new_runs import Concurrency, NewRun, Notify
from drover_sdk.payloads import Codec, bytes_payload, json_payload
from drover_sdk.run_filters import RunFilter
from drover_sdk.runs import Key, Run, RunName, RunNotCompletedError, Step
from drover_sdk.task_log import TaskHandler
from drover_sdk.task_types import TaskType, WorkflowType
from drover_sdk.tasks import Handler, Task
from drover_sdk.tls_files import Tls
from drover_sdk.v1.payload_pb2 import Payload
from drover_sdk.workflow import Workflow

__all__ = [
    "Agent",
    "Answer",
    "CallError",
    "CallField",
    "Client",
    "Codec",
    "Concurrency",
    "Duration",
    "ErrorReason",
    "Handler",
    "HandlersLostError",
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
    "RunNotCompletedError",
    "RunSnapshot",
    "Scheduled",
    "Step",
    "StopKind",
    "Task",
    "TaskCancelledError",
    "TaskHandler",
    "TaskStoppedError",
    "TaskType",
    "Tls",
    "TransientError",
    "UnknownError",
    "Workflow",
    "WorkflowType",
    "again",
    "bytes_payload",
    "cannot_tell",
    "deferred",
    "did_not_happen",
    "happened",
    "json_payload",
]
