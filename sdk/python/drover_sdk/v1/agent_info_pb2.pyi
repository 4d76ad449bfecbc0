import datetime

from drover_sdk.v1 import circuit_pb2 as _circuit_pb2
from drover_sdk.v1 import task_pb2 as _task_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentInfo(_message.Message):
    __slots__ = ("id", "session", "version", "labels", "queues", "tasks", "server", "first_seen_time", "last_seen_time", "last_heartbeat_time", "last_success_time", "held", "cordons", "circuits", "silent_since_time", "host", "pid", "started_time", "capacity", "attempts", "task_attempts", "clock_ahead")
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
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEEN_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_SEEN_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_HEARTBEAT_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_SUCCESS_TIME_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    CORDONS_FIELD_NUMBER: _ClassVar[int]
    CIRCUITS_FIELD_NUMBER: _ClassVar[int]
    SILENT_SINCE_TIME_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    STARTED_TIME_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    TASK_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    CLOCK_AHEAD_FIELD_NUMBER: _ClassVar[int]
    id: str
    session: bytes
    version: str
    labels: _containers.ScalarMap[str, str]
    queues: _containers.RepeatedScalarFieldContainer[str]
    tasks: _containers.RepeatedScalarFieldContainer[str]
    server: str
    first_seen_time: _timestamp_pb2.Timestamp
    last_seen_time: _timestamp_pb2.Timestamp
    last_heartbeat_time: _timestamp_pb2.Timestamp
    last_success_time: _timestamp_pb2.Timestamp
    held: int
    cordons: _containers.RepeatedCompositeFieldContainer[_circuit_pb2.Cordon]
    circuits: _containers.RepeatedCompositeFieldContainer[_circuit_pb2.Circuit]
    silent_since_time: _timestamp_pb2.Timestamp
    host: str
    pid: int
    started_time: _timestamp_pb2.Timestamp
    capacity: int
    attempts: AttemptCounts
    task_attempts: _containers.RepeatedCompositeFieldContainer[TaskAttempts]
    clock_ahead: _duration_pb2.Duration
    def __init__(self, id: _Optional[str] = ..., session: _Optional[bytes] = ..., version: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., queues: _Optional[_Iterable[str]] = ..., tasks: _Optional[_Iterable[str]] = ..., server: _Optional[str] = ..., first_seen_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_seen_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_heartbeat_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_success_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., held: _Optional[int] = ..., cordons: _Optional[_Iterable[_Union[_circuit_pb2.Cordon, _Mapping]]] = ..., circuits: _Optional[_Iterable[_Union[_circuit_pb2.Circuit, _Mapping]]] = ..., silent_since_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., host: _Optional[str] = ..., pid: _Optional[int] = ..., started_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., capacity: _Optional[int] = ..., attempts: _Optional[_Union[AttemptCounts, _Mapping]] = ..., task_attempts: _Optional[_Iterable[_Union[TaskAttempts, _Mapping]]] = ..., clock_ahead: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class AttemptCounts(_message.Message):
    __slots__ = ("ended", "failed", "unknown")
    ENDED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    ended: int
    failed: int
    unknown: int
    def __init__(self, ended: _Optional[int] = ..., failed: _Optional[int] = ..., unknown: _Optional[int] = ...) -> None: ...

class TaskAttempts(_message.Message):
    __slots__ = ("queue", "task", "attempts", "failing")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    FAILING_FIELD_NUMBER: _ClassVar[int]
    queue: str
    task: str
    attempts: AttemptCounts
    failing: bool
    def __init__(self, queue: _Optional[str] = ..., task: _Optional[str] = ..., attempts: _Optional[_Union[AttemptCounts, _Mapping]] = ..., failing: _Optional[bool] = ...) -> None: ...

class FailingAgent(_message.Message):
    __slots__ = ("agent_id", "session", "version", "host", "pid", "queue", "task", "attempts", "others")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    OTHERS_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    session: bytes
    version: str
    host: str
    pid: int
    queue: str
    task: str
    attempts: AttemptCounts
    others: AttemptCounts
    def __init__(self, agent_id: _Optional[str] = ..., session: _Optional[bytes] = ..., version: _Optional[str] = ..., host: _Optional[str] = ..., pid: _Optional[int] = ..., queue: _Optional[str] = ..., task: _Optional[str] = ..., attempts: _Optional[_Union[AttemptCounts, _Mapping]] = ..., others: _Optional[_Union[AttemptCounts, _Mapping]] = ...) -> None: ...

class HeldTask(_message.Message):
    __slots__ = ("run_id", "workflow", "step_id", "kind", "queue", "task", "fence", "attempt", "granted_time", "attempt_deadline_time", "progress", "progress_time", "cancelling")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    GRANTED_TIME_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_DEADLINE_TIME_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_TIME_FIELD_NUMBER: _ClassVar[int]
    CANCELLING_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    workflow: str
    step_id: str
    kind: _task_pb2.TaskKind
    queue: str
    task: str
    fence: int
    attempt: int
    granted_time: _timestamp_pb2.Timestamp
    attempt_deadline_time: _timestamp_pb2.Timestamp
    progress: _task_pb2.Progress
    progress_time: _timestamp_pb2.Timestamp
    cancelling: bool
    def __init__(self, run_id: _Optional[str] = ..., workflow: _Optional[str] = ..., step_id: _Optional[str] = ..., kind: _Optional[_Union[_task_pb2.TaskKind, str]] = ..., queue: _Optional[str] = ..., task: _Optional[str] = ..., fence: _Optional[int] = ..., attempt: _Optional[int] = ..., granted_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., attempt_deadline_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., progress: _Optional[_Union[_task_pb2.Progress, _Mapping]] = ..., progress_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., cancelling: _Optional[bool] = ...) -> None: ...

class ListAgentsRequest(_message.Message):
    __slots__ = ("namespace", "agent_id", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    agent_id: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., agent_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListAgentsResponse(_message.Message):
    __slots__ = ("agents", "next_page_token")
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    agents: _containers.RepeatedCompositeFieldContainer[AgentInfo]
    next_page_token: str
    def __init__(self, agents: _Optional[_Iterable[_Union[AgentInfo, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetAgentRequest(_message.Message):
    __slots__ = ("namespace", "session")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    session: bytes
    def __init__(self, namespace: _Optional[str] = ..., session: _Optional[bytes] = ...) -> None: ...

class GetAgentResponse(_message.Message):
    __slots__ = ("agent", "tasks")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    agent: AgentInfo
    tasks: _containers.RepeatedCompositeFieldContainer[HeldTask]
    def __init__(self, agent: _Optional[_Union[AgentInfo, _Mapping]] = ..., tasks: _Optional[_Iterable[_Union[HeldTask, _Mapping]]] = ...) -> None: ...
