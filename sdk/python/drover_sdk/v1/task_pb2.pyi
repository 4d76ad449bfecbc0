import datetime

from drover_sdk.v1 import payload_pb2 as _payload_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TaskKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_KIND_UNSPECIFIED: _ClassVar[TaskKind]
    TASK_KIND_PERFORM: _ClassVar[TaskKind]
    TASK_KIND_VERIFY: _ClassVar[TaskKind]
    TASK_KIND_COMPENSATE: _ClassVar[TaskKind]

class LogLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOG_LEVEL_UNSPECIFIED: _ClassVar[LogLevel]
    LOG_LEVEL_DEBUG: _ClassVar[LogLevel]
    LOG_LEVEL_INFO: _ClassVar[LogLevel]
    LOG_LEVEL_WARN: _ClassVar[LogLevel]
    LOG_LEVEL_ERROR: _ClassVar[LogLevel]

class FailureClass(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAILURE_CLASS_UNSPECIFIED: _ClassVar[FailureClass]
    FAILURE_CLASS_TRANSIENT: _ClassVar[FailureClass]
    FAILURE_CLASS_PERMANENT: _ClassVar[FailureClass]
    FAILURE_CLASS_UNKNOWN: _ClassVar[FailureClass]
TASK_KIND_UNSPECIFIED: TaskKind
TASK_KIND_PERFORM: TaskKind
TASK_KIND_VERIFY: TaskKind
TASK_KIND_COMPENSATE: TaskKind
LOG_LEVEL_UNSPECIFIED: LogLevel
LOG_LEVEL_DEBUG: LogLevel
LOG_LEVEL_INFO: LogLevel
LOG_LEVEL_WARN: LogLevel
LOG_LEVEL_ERROR: LogLevel
FAILURE_CLASS_UNSPECIFIED: FailureClass
FAILURE_CLASS_TRANSIENT: FailureClass
FAILURE_CLASS_PERMANENT: FailureClass
FAILURE_CLASS_UNKNOWN: FailureClass

class Task(_message.Message):
    __slots__ = ("task_token", "callback_token", "run_id", "step_id", "item", "attempt", "workflow", "workflow_version", "kind", "task", "queue", "input", "last_details", "output", "idempotency_key", "effect_key", "fence", "lease_for", "attempt_for", "heartbeat_interval", "labels", "traceparent", "tracestate", "store_logs")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TASK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CALLBACK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    LAST_DETAILS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    EFFECT_KEY_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    LEASE_FOR_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FOR_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    TRACESTATE_FIELD_NUMBER: _ClassVar[int]
    STORE_LOGS_FIELD_NUMBER: _ClassVar[int]
    task_token: str
    callback_token: str
    run_id: str
    step_id: str
    item: int
    attempt: int
    workflow: str
    workflow_version: int
    kind: TaskKind
    task: str
    queue: str
    input: _payload_pb2.Payload
    last_details: _payload_pb2.Payload
    output: _payload_pb2.Payload
    idempotency_key: str
    effect_key: str
    fence: int
    lease_for: _duration_pb2.Duration
    attempt_for: _duration_pb2.Duration
    heartbeat_interval: _duration_pb2.Duration
    labels: _containers.ScalarMap[str, str]
    traceparent: str
    tracestate: str
    store_logs: bool
    def __init__(self, task_token: _Optional[str] = ..., callback_token: _Optional[str] = ..., run_id: _Optional[str] = ..., step_id: _Optional[str] = ..., item: _Optional[int] = ..., attempt: _Optional[int] = ..., workflow: _Optional[str] = ..., workflow_version: _Optional[int] = ..., kind: _Optional[_Union[TaskKind, str]] = ..., task: _Optional[str] = ..., queue: _Optional[str] = ..., input: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., last_details: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., output: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., idempotency_key: _Optional[str] = ..., effect_key: _Optional[str] = ..., fence: _Optional[int] = ..., lease_for: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., attempt_for: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., heartbeat_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., labels: _Optional[_Mapping[str, str]] = ..., traceparent: _Optional[str] = ..., tracestate: _Optional[str] = ..., store_logs: _Optional[bool] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ("success", "failed", "unknown", "again", "deferred", "released", "cancelled")
    class Success(_message.Message):
        __slots__ = ("output", "output_problem")
        OUTPUT_FIELD_NUMBER: _ClassVar[int]
        OUTPUT_PROBLEM_FIELD_NUMBER: _ClassVar[int]
        output: _payload_pb2.Payload
        output_problem: str
        def __init__(self, output: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., output_problem: _Optional[str] = ...) -> None: ...
    class Failed(_message.Message):
        __slots__ = ("code", "message", "failure_class", "retry_after", "no_effect")
        CODE_FIELD_NUMBER: _ClassVar[int]
        MESSAGE_FIELD_NUMBER: _ClassVar[int]
        FAILURE_CLASS_FIELD_NUMBER: _ClassVar[int]
        RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
        NO_EFFECT_FIELD_NUMBER: _ClassVar[int]
        code: str
        message: str
        failure_class: FailureClass
        retry_after: _duration_pb2.Duration
        no_effect: bool
        def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., failure_class: _Optional[_Union[FailureClass, str]] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., no_effect: _Optional[bool] = ...) -> None: ...
    class Unknown(_message.Message):
        __slots__ = ("code", "message")
        CODE_FIELD_NUMBER: _ClassVar[int]
        MESSAGE_FIELD_NUMBER: _ClassVar[int]
        code: str
        message: str
        def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...
    class Again(_message.Message):
        __slots__ = ("after",)
        AFTER_FIELD_NUMBER: _ClassVar[int]
        after: _duration_pb2.Duration
        def __init__(self, after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
    class Deferred(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    class Released(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    class Cancelled(_message.Message):
        __slots__ = ("no_effect",)
        NO_EFFECT_FIELD_NUMBER: _ClassVar[int]
        no_effect: bool
        def __init__(self, no_effect: _Optional[bool] = ...) -> None: ...
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    AGAIN_FIELD_NUMBER: _ClassVar[int]
    DEFERRED_FIELD_NUMBER: _ClassVar[int]
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    success: Outcome.Success
    failed: Outcome.Failed
    unknown: Outcome.Unknown
    again: Outcome.Again
    deferred: Outcome.Deferred
    released: Outcome.Released
    cancelled: Outcome.Cancelled
    def __init__(self, success: _Optional[_Union[Outcome.Success, _Mapping]] = ..., failed: _Optional[_Union[Outcome.Failed, _Mapping]] = ..., unknown: _Optional[_Union[Outcome.Unknown, _Mapping]] = ..., again: _Optional[_Union[Outcome.Again, _Mapping]] = ..., deferred: _Optional[_Union[Outcome.Deferred, _Mapping]] = ..., released: _Optional[_Union[Outcome.Released, _Mapping]] = ..., cancelled: _Optional[_Union[Outcome.Cancelled, _Mapping]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("fraction", "counter", "cursor")
    FRACTION_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    fraction: float
    counter: int
    cursor: str
    def __init__(self, fraction: _Optional[float] = ..., counter: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...
