import datetime

from drover_sdk.v1 import payload_pb2 as _payload_pb2
from drover_sdk.v1 import scheduler_service_pb2 as _scheduler_service_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TriggerDefinition(_message.Message):
    __slots__ = ("trigger", "http", "run_end", "when", "schedule", "signal", "complete")
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    HTTP_FIELD_NUMBER: _ClassVar[int]
    RUN_END_FIELD_NUMBER: _ClassVar[int]
    WHEN_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    trigger: str
    http: HttpSource
    run_end: RunEndSource
    when: str
    schedule: ScheduleAction
    signal: SignalAction
    complete: CompleteAction
    def __init__(self, trigger: _Optional[str] = ..., http: _Optional[_Union[HttpSource, _Mapping]] = ..., run_end: _Optional[_Union[RunEndSource, _Mapping]] = ..., when: _Optional[str] = ..., schedule: _Optional[_Union[ScheduleAction, _Mapping]] = ..., signal: _Optional[_Union[SignalAction, _Mapping]] = ..., complete: _Optional[_Union[CompleteAction, _Mapping]] = ...) -> None: ...

class HttpSource(_message.Message):
    __slots__ = ("hmac", "bearer")
    HMAC_FIELD_NUMBER: _ClassVar[int]
    BEARER_FIELD_NUMBER: _ClassVar[int]
    hmac: HmacAuth
    bearer: BearerAuth
    def __init__(self, hmac: _Optional[_Union[HmacAuth, _Mapping]] = ..., bearer: _Optional[_Union[BearerAuth, _Mapping]] = ...) -> None: ...

class HmacAuth(_message.Message):
    __slots__ = ("header", "prefix", "timestamp_header", "tolerance")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_HEADER_FIELD_NUMBER: _ClassVar[int]
    TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    header: str
    prefix: str
    timestamp_header: str
    tolerance: _duration_pb2.Duration
    def __init__(self, header: _Optional[str] = ..., prefix: _Optional[str] = ..., timestamp_header: _Optional[str] = ..., tolerance: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class BearerAuth(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RunEndSource(_message.Message):
    __slots__ = ("workflow", "states")
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    workflow: str
    states: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, workflow: _Optional[str] = ..., states: _Optional[_Iterable[str]] = ...) -> None: ...

class ScheduleAction(_message.Message):
    __slots__ = ("workflow", "version", "input", "key", "labels", "priority")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    workflow: str
    version: int
    input: _payload_pb2.Payload
    key: str
    labels: _containers.ScalarMap[str, str]
    priority: int
    def __init__(self, workflow: _Optional[str] = ..., version: _Optional[int] = ..., input: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., key: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., priority: _Optional[int] = ...) -> None: ...

class SignalAction(_message.Message):
    __slots__ = ("run_key", "run_id", "name", "signal_id", "payload")
    RUN_KEY_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    run_key: str
    run_id: str
    name: str
    signal_id: str
    payload: _payload_pb2.Payload
    def __init__(self, run_key: _Optional[str] = ..., run_id: _Optional[str] = ..., name: _Optional[str] = ..., signal_id: _Optional[str] = ..., payload: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ...) -> None: ...

class CompleteAction(_message.Message):
    __slots__ = ("callback_token", "outcome")
    CALLBACK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    callback_token: str
    outcome: _payload_pb2.Payload
    def __init__(self, callback_token: _Optional[str] = ..., outcome: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ...) -> None: ...

class Trigger(_message.Message):
    __slots__ = ("definition", "secret_digest", "created_time", "changed_time", "path")
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    SECRET_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    CHANGED_TIME_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    definition: TriggerDefinition
    secret_digest: str
    created_time: _timestamp_pb2.Timestamp
    changed_time: _timestamp_pb2.Timestamp
    path: str
    def __init__(self, definition: _Optional[_Union[TriggerDefinition, _Mapping]] = ..., secret_digest: _Optional[str] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., changed_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., path: _Optional[str] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("trigger", "reason", "message", "run_id", "count", "first_time", "last_time")
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_TIME_FIELD_NUMBER: _ClassVar[int]
    trigger: str
    reason: str
    message: str
    run_id: str
    count: int
    first_time: _timestamp_pb2.Timestamp
    last_time: _timestamp_pb2.Timestamp
    def __init__(self, trigger: _Optional[str] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., run_id: _Optional[str] = ..., count: _Optional[int] = ..., first_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PutTriggerRequest(_message.Message):
    __slots__ = ("namespace", "definition", "text", "secret")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    definition: TriggerDefinition
    text: str
    secret: str
    def __init__(self, namespace: _Optional[str] = ..., definition: _Optional[_Union[TriggerDefinition, _Mapping]] = ..., text: _Optional[str] = ..., secret: _Optional[str] = ...) -> None: ...

class PutTriggerResponse(_message.Message):
    __slots__ = ("created", "trigger")
    CREATED_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    created: bool
    trigger: Trigger
    def __init__(self, created: _Optional[bool] = ..., trigger: _Optional[_Union[Trigger, _Mapping]] = ...) -> None: ...

class GetTriggerRequest(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class GetTriggerResponse(_message.Message):
    __slots__ = ("trigger",)
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    trigger: Trigger
    def __init__(self, trigger: _Optional[_Union[Trigger, _Mapping]] = ...) -> None: ...

class ListTriggersRequest(_message.Message):
    __slots__ = ("namespace", "workflow")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    workflow: str
    def __init__(self, namespace: _Optional[str] = ..., workflow: _Optional[str] = ...) -> None: ...

class ListTriggersResponse(_message.Message):
    __slots__ = ("triggers",)
    TRIGGERS_FIELD_NUMBER: _ClassVar[int]
    triggers: _containers.RepeatedCompositeFieldContainer[Trigger]
    def __init__(self, triggers: _Optional[_Iterable[_Union[Trigger, _Mapping]]] = ...) -> None: ...

class DeleteTriggerRequest(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class DeleteTriggerResponse(_message.Message):
    __slots__ = ("deleted",)
    DELETED_FIELD_NUMBER: _ClassVar[int]
    deleted: bool
    def __init__(self, deleted: _Optional[bool] = ...) -> None: ...

class ListRefusalsRequest(_message.Message):
    __slots__ = ("namespace", "trigger", "page_size")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    trigger: str
    page_size: int
    def __init__(self, namespace: _Optional[str] = ..., trigger: _Optional[str] = ..., page_size: _Optional[int] = ...) -> None: ...

class ListRefusalsResponse(_message.Message):
    __slots__ = ("refusals",)
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    refusals: _containers.RepeatedCompositeFieldContainer[Refusal]
    def __init__(self, refusals: _Optional[_Iterable[_Union[Refusal, _Mapping]]] = ...) -> None: ...

class TryTriggerRequest(_message.Message):
    __slots__ = ("namespace", "name", "definition", "text", "body", "headers", "query", "run")
    class HeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class QueryEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    definition: TriggerDefinition
    text: str
    body: _payload_pb2.Payload
    headers: _containers.ScalarMap[str, str]
    query: _containers.ScalarMap[str, str]
    run: _scheduler_service_pb2.RunRef
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., definition: _Optional[_Union[TriggerDefinition, _Mapping]] = ..., text: _Optional[str] = ..., body: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ..., headers: _Optional[_Mapping[str, str]] = ..., query: _Optional[_Mapping[str, str]] = ..., run: _Optional[_Union[_scheduler_service_pb2.RunRef, _Mapping]] = ...) -> None: ...

class TryTriggerResponse(_message.Message):
    __slots__ = ("passes", "schedule", "signal", "complete")
    PASSES_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    passes: bool
    schedule: ScheduleAction
    signal: SignalAction
    complete: CompleteAction
    def __init__(self, passes: _Optional[bool] = ..., schedule: _Optional[_Union[ScheduleAction, _Mapping]] = ..., signal: _Optional[_Union[SignalAction, _Mapping]] = ..., complete: _Optional[_Union[CompleteAction, _Mapping]] = ...) -> None: ...
