import datetime

from drover_sdk.v1 import payload_pb2 as _payload_pb2
from drover_sdk.v1 import task_pb2 as _task_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Agent(_message.Message):
    __slots__ = ("id", "session", "version", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    id: str
    session: bytes
    version: str
    labels: _containers.ScalarMap[str, str]
    def __init__(self, id: _Optional[str] = ..., session: _Optional[bytes] = ..., version: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class AgentProcess(_message.Message):
    __slots__ = ("host", "pid", "running_for", "capacity", "clock_time")
    HOST_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FOR_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    CLOCK_TIME_FIELD_NUMBER: _ClassVar[int]
    host: str
    pid: int
    running_for: _duration_pb2.Duration
    capacity: int
    clock_time: _timestamp_pb2.Timestamp
    def __init__(self, host: _Optional[str] = ..., pid: _Optional[int] = ..., running_for: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., capacity: _Optional[int] = ..., clock_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class QueueWeight(_message.Message):
    __slots__ = ("name", "weight")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    name: str
    weight: int
    def __init__(self, name: _Optional[str] = ..., weight: _Optional[int] = ...) -> None: ...

class PollTaskRequest(_message.Message):
    __slots__ = ("namespace", "agent", "poll_seq", "queues", "tasks", "max_tasks", "wait", "lost_polls", "process")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    POLL_SEQ_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    MAX_TASKS_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    LOST_POLLS_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    agent: Agent
    poll_seq: int
    queues: _containers.RepeatedCompositeFieldContainer[QueueWeight]
    tasks: _containers.RepeatedScalarFieldContainer[str]
    max_tasks: int
    wait: _duration_pb2.Duration
    lost_polls: _containers.RepeatedScalarFieldContainer[int]
    process: AgentProcess
    def __init__(self, namespace: _Optional[str] = ..., agent: _Optional[_Union[Agent, _Mapping]] = ..., poll_seq: _Optional[int] = ..., queues: _Optional[_Iterable[_Union[QueueWeight, _Mapping]]] = ..., tasks: _Optional[_Iterable[str]] = ..., max_tasks: _Optional[int] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., lost_polls: _Optional[_Iterable[int]] = ..., process: _Optional[_Union[AgentProcess, _Mapping]] = ...) -> None: ...

class PollTaskResponse(_message.Message):
    __slots__ = ("tasks", "waited")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    WAITED_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[_task_pb2.Task]
    waited: _duration_pb2.Duration
    def __init__(self, tasks: _Optional[_Iterable[_Union[_task_pb2.Task, _Mapping]]] = ..., waited: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class HeartbeatRequest(_message.Message):
    __slots__ = ("namespace", "agent", "lost_polls", "reports", "lists_all_to")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    LOST_POLLS_FIELD_NUMBER: _ClassVar[int]
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    LISTS_ALL_TO_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    agent: Agent
    lost_polls: _containers.RepeatedScalarFieldContainer[int]
    reports: _containers.RepeatedCompositeFieldContainer[HeartbeatReport]
    lists_all_to: int
    def __init__(self, namespace: _Optional[str] = ..., agent: _Optional[_Union[Agent, _Mapping]] = ..., lost_polls: _Optional[_Iterable[int]] = ..., reports: _Optional[_Iterable[_Union[HeartbeatReport, _Mapping]]] = ..., lists_all_to: _Optional[int] = ...) -> None: ...

class HeartbeatReport(_message.Message):
    __slots__ = ("task_token", "progress", "details")
    TASK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    task_token: str
    progress: _task_pb2.Progress
    details: _payload_pb2.Payload
    def __init__(self, task_token: _Optional[str] = ..., progress: _Optional[_Union[_task_pb2.Progress, _Mapping]] = ..., details: _Optional[_Union[_payload_pb2.Payload, _Mapping]] = ...) -> None: ...

class HeartbeatResponse(_message.Message):
    __slots__ = ("answers",)
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[HeartbeatAnswer]
    def __init__(self, answers: _Optional[_Iterable[_Union[HeartbeatAnswer, _Mapping]]] = ...) -> None: ...

class HeartbeatAnswer(_message.Message):
    __slots__ = ("carry_on", "cancel", "lease_lost", "error")
    class CarryOn(_message.Message):
        __slots__ = ("lease_for",)
        LEASE_FOR_FIELD_NUMBER: _ClassVar[int]
        lease_for: _duration_pb2.Duration
        def __init__(self, lease_for: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
    class Cancel(_message.Message):
        __slots__ = ("within",)
        WITHIN_FIELD_NUMBER: _ClassVar[int]
        within: _duration_pb2.Duration
        def __init__(self, within: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
    class LeaseLost(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    CARRY_ON_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    LEASE_LOST_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    carry_on: HeartbeatAnswer.CarryOn
    cancel: HeartbeatAnswer.Cancel
    lease_lost: HeartbeatAnswer.LeaseLost
    error: _status_pb2.Status
    def __init__(self, carry_on: _Optional[_Union[HeartbeatAnswer.CarryOn, _Mapping]] = ..., cancel: _Optional[_Union[HeartbeatAnswer.Cancel, _Mapping]] = ..., lease_lost: _Optional[_Union[HeartbeatAnswer.LeaseLost, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class CompleteRequest(_message.Message):
    __slots__ = ("namespace", "agent", "results", "next")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    agent: Agent
    results: _containers.RepeatedCompositeFieldContainer[TaskResult]
    next: Next
    def __init__(self, namespace: _Optional[str] = ..., agent: _Optional[_Union[Agent, _Mapping]] = ..., results: _Optional[_Iterable[_Union[TaskResult, _Mapping]]] = ..., next: _Optional[_Union[Next, _Mapping]] = ...) -> None: ...

class TaskResult(_message.Message):
    __slots__ = ("task_token", "outcome")
    TASK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    task_token: str
    outcome: _task_pb2.Outcome
    def __init__(self, task_token: _Optional[str] = ..., outcome: _Optional[_Union[_task_pb2.Outcome, _Mapping]] = ...) -> None: ...

class Next(_message.Message):
    __slots__ = ("poll_seq", "queues", "tasks", "max_tasks")
    POLL_SEQ_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    MAX_TASKS_FIELD_NUMBER: _ClassVar[int]
    poll_seq: int
    queues: _containers.RepeatedCompositeFieldContainer[QueueWeight]
    tasks: _containers.RepeatedScalarFieldContainer[str]
    max_tasks: int
    def __init__(self, poll_seq: _Optional[int] = ..., queues: _Optional[_Iterable[_Union[QueueWeight, _Mapping]]] = ..., tasks: _Optional[_Iterable[str]] = ..., max_tasks: _Optional[int] = ...) -> None: ...

class CompleteResponse(_message.Message):
    __slots__ = ("answers", "tasks", "waited")
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    WAITED_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[CompleteAnswer]
    tasks: _containers.RepeatedCompositeFieldContainer[_task_pb2.Task]
    waited: _duration_pb2.Duration
    def __init__(self, answers: _Optional[_Iterable[_Union[CompleteAnswer, _Mapping]]] = ..., tasks: _Optional[_Iterable[_Union[_task_pb2.Task, _Mapping]]] = ..., waited: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class CompleteAnswer(_message.Message):
    __slots__ = ("status", "repeated")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    status: _status_pb2.Status
    repeated: bool
    def __init__(self, status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., repeated: _Optional[bool] = ...) -> None: ...

class AppendLogsRequest(_message.Message):
    __slots__ = ("namespace", "agent", "logs")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    LOGS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    agent: Agent
    logs: _containers.RepeatedCompositeFieldContainer[TaskLog]
    def __init__(self, namespace: _Optional[str] = ..., agent: _Optional[_Union[Agent, _Mapping]] = ..., logs: _Optional[_Iterable[_Union[TaskLog, _Mapping]]] = ...) -> None: ...

class TaskLog(_message.Message):
    __slots__ = ("task_token", "first_line", "lines")
    TASK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    FIRST_LINE_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    task_token: str
    first_line: int
    lines: _containers.RepeatedCompositeFieldContainer[LogText]
    def __init__(self, task_token: _Optional[str] = ..., first_line: _Optional[int] = ..., lines: _Optional[_Iterable[_Union[LogText, _Mapping]]] = ...) -> None: ...

class LogText(_message.Message):
    __slots__ = ("time", "level", "message", "fields")
    class FieldsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TIME_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    level: _task_pb2.LogLevel
    message: str
    fields: _containers.ScalarMap[str, str]
    def __init__(self, time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., level: _Optional[_Union[_task_pb2.LogLevel, str]] = ..., message: _Optional[str] = ..., fields: _Optional[_Mapping[str, str]] = ...) -> None: ...

class AppendLogsResponse(_message.Message):
    __slots__ = ("answers",)
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[AppendLogsAnswer]
    def __init__(self, answers: _Optional[_Iterable[_Union[AppendLogsAnswer, _Mapping]]] = ...) -> None: ...

class AppendLogsAnswer(_message.Message):
    __slots__ = ("status", "full")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FULL_FIELD_NUMBER: _ClassVar[int]
    status: _status_pb2.Status
    full: bool
    def __init__(self, status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., full: _Optional[bool] = ...) -> None: ...
