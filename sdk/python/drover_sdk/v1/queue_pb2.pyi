import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Queue(_message.Message):
    __slots__ = ("name", "depth", "leased", "pause", "limits", "oldest_time", "polled_time", "agents")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    LEASED_FIELD_NUMBER: _ClassVar[int]
    PAUSE_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    OLDEST_TIME_FIELD_NUMBER: _ClassVar[int]
    POLLED_TIME_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    depth: int
    leased: int
    pause: Pause
    limits: QueueLimits
    oldest_time: _timestamp_pb2.Timestamp
    polled_time: _timestamp_pb2.Timestamp
    agents: int
    def __init__(self, name: _Optional[str] = ..., depth: _Optional[int] = ..., leased: _Optional[int] = ..., pause: _Optional[_Union[Pause, _Mapping]] = ..., limits: _Optional[_Union[QueueLimits, _Mapping]] = ..., oldest_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., polled_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., agents: _Optional[int] = ...) -> None: ...

class QueueTask(_message.Message):
    __slots__ = ("task", "depth", "leased", "oldest_time", "polled_time", "agents", "agent_version")
    TASK_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    LEASED_FIELD_NUMBER: _ClassVar[int]
    OLDEST_TIME_FIELD_NUMBER: _ClassVar[int]
    POLLED_TIME_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    task: str
    depth: int
    leased: int
    oldest_time: _timestamp_pb2.Timestamp
    polled_time: _timestamp_pb2.Timestamp
    agents: int
    agent_version: str
    def __init__(self, task: _Optional[str] = ..., depth: _Optional[int] = ..., leased: _Optional[int] = ..., oldest_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., polled_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., agents: _Optional[int] = ..., agent_version: _Optional[str] = ...) -> None: ...

class GetQueueRequest(_message.Message):
    __slots__ = ("namespace", "queue")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    queue: str
    def __init__(self, namespace: _Optional[str] = ..., queue: _Optional[str] = ...) -> None: ...

class GetQueueResponse(_message.Message):
    __slots__ = ("queue", "tasks", "namespace_pause", "pins", "holders")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_PAUSE_FIELD_NUMBER: _ClassVar[int]
    PINS_FIELD_NUMBER: _ClassVar[int]
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    queue: Queue
    tasks: _containers.RepeatedCompositeFieldContainer[QueueTask]
    namespace_pause: Pause
    pins: _containers.RepeatedCompositeFieldContainer[VersionPin]
    holders: QueueHolders
    def __init__(self, queue: _Optional[_Union[Queue, _Mapping]] = ..., tasks: _Optional[_Iterable[_Union[QueueTask, _Mapping]]] = ..., namespace_pause: _Optional[_Union[Pause, _Mapping]] = ..., pins: _Optional[_Iterable[_Union[VersionPin, _Mapping]]] = ..., holders: _Optional[_Union[QueueHolders, _Mapping]] = ...) -> None: ...

class QueueHolders(_message.Message):
    __slots__ = ("tasks", "more", "last_granted_time", "shares")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    LAST_GRANTED_TIME_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    tasks: int
    more: bool
    last_granted_time: _timestamp_pb2.Timestamp
    shares: _containers.RepeatedCompositeFieldContainer[HolderShare]
    def __init__(self, tasks: _Optional[int] = ..., more: _Optional[bool] = ..., last_granted_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., shares: _Optional[_Iterable[_Union[HolderShare, _Mapping]]] = ...) -> None: ...

class HolderShare(_message.Message):
    __slots__ = ("label", "value", "tasks")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    label: str
    value: str
    tasks: int
    def __init__(self, label: _Optional[str] = ..., value: _Optional[str] = ..., tasks: _Optional[int] = ...) -> None: ...

class Pause(_message.Message):
    __slots__ = ("since_time", "reason")
    SINCE_TIME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    since_time: _timestamp_pb2.Timestamp
    reason: str
    def __init__(self, since_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class ListQueuesRequest(_message.Message):
    __slots__ = ("namespace", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListQueuesResponse(_message.Message):
    __slots__ = ("queues", "next_page_token", "namespace_pause")
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_PAUSE_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[Queue]
    next_page_token: str
    namespace_pause: Pause
    def __init__(self, queues: _Optional[_Iterable[_Union[Queue, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., namespace_pause: _Optional[_Union[Pause, _Mapping]] = ...) -> None: ...

class PauseQueueRequest(_message.Message):
    __slots__ = ("namespace", "queue", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    queue: str
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., queue: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class PauseQueueResponse(_message.Message):
    __slots__ = ("queue",)
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    queue: Queue
    def __init__(self, queue: _Optional[_Union[Queue, _Mapping]] = ...) -> None: ...

class ResumeQueueRequest(_message.Message):
    __slots__ = ("namespace", "queue")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    queue: str
    def __init__(self, namespace: _Optional[str] = ..., queue: _Optional[str] = ...) -> None: ...

class ResumeQueueResponse(_message.Message):
    __slots__ = ("queue",)
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    queue: Queue
    def __init__(self, queue: _Optional[_Union[Queue, _Mapping]] = ...) -> None: ...

class QueueLimits(_message.Message):
    __slots__ = ("leased", "per_second", "burst")
    LEASED_FIELD_NUMBER: _ClassVar[int]
    PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    BURST_FIELD_NUMBER: _ClassVar[int]
    leased: int
    per_second: float
    burst: int
    def __init__(self, leased: _Optional[int] = ..., per_second: _Optional[float] = ..., burst: _Optional[int] = ...) -> None: ...

class SetQueueLimitsRequest(_message.Message):
    __slots__ = ("namespace", "queue", "limits")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    queue: str
    limits: QueueLimits
    def __init__(self, namespace: _Optional[str] = ..., queue: _Optional[str] = ..., limits: _Optional[_Union[QueueLimits, _Mapping]] = ...) -> None: ...

class SetQueueLimitsResponse(_message.Message):
    __slots__ = ("queue",)
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    queue: Queue
    def __init__(self, queue: _Optional[_Union[Queue, _Mapping]] = ...) -> None: ...

class VersionPin(_message.Message):
    __slots__ = ("workflow", "version", "agent_version", "pinned_time")
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    PINNED_TIME_FIELD_NUMBER: _ClassVar[int]
    workflow: str
    version: int
    agent_version: str
    pinned_time: _timestamp_pb2.Timestamp
    def __init__(self, workflow: _Optional[str] = ..., version: _Optional[int] = ..., agent_version: _Optional[str] = ..., pinned_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PinQueueRequest(_message.Message):
    __slots__ = ("namespace", "queue", "workflow", "version", "agent_version")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    queue: str
    workflow: str
    version: int
    agent_version: str
    def __init__(self, namespace: _Optional[str] = ..., queue: _Optional[str] = ..., workflow: _Optional[str] = ..., version: _Optional[int] = ..., agent_version: _Optional[str] = ...) -> None: ...

class PinQueueResponse(_message.Message):
    __slots__ = ("pins",)
    PINS_FIELD_NUMBER: _ClassVar[int]
    pins: _containers.RepeatedCompositeFieldContainer[VersionPin]
    def __init__(self, pins: _Optional[_Iterable[_Union[VersionPin, _Mapping]]] = ...) -> None: ...

class UnpinQueueRequest(_message.Message):
    __slots__ = ("namespace", "queue", "workflow", "version")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    queue: str
    workflow: str
    version: int
    def __init__(self, namespace: _Optional[str] = ..., queue: _Optional[str] = ..., workflow: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class UnpinQueueResponse(_message.Message):
    __slots__ = ("pins",)
    PINS_FIELD_NUMBER: _ClassVar[int]
    pins: _containers.RepeatedCompositeFieldContainer[VersionPin]
    def __init__(self, pins: _Optional[_Iterable[_Union[VersionPin, _Mapping]]] = ...) -> None: ...

class PauseNamespaceRequest(_message.Message):
    __slots__ = ("namespace", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class PauseNamespaceResponse(_message.Message):
    __slots__ = ("pause",)
    PAUSE_FIELD_NUMBER: _ClassVar[int]
    pause: Pause
    def __init__(self, pause: _Optional[_Union[Pause, _Mapping]] = ...) -> None: ...

class ResumeNamespaceRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class ResumeNamespaceResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PauseWorkflowRequest(_message.Message):
    __slots__ = ("namespace", "workflow", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    workflow: str
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., workflow: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class PauseWorkflowResponse(_message.Message):
    __slots__ = ("pause",)
    PAUSE_FIELD_NUMBER: _ClassVar[int]
    pause: Pause
    def __init__(self, pause: _Optional[_Union[Pause, _Mapping]] = ...) -> None: ...

class ResumeWorkflowRequest(_message.Message):
    __slots__ = ("namespace", "workflow")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    workflow: str
    def __init__(self, namespace: _Optional[str] = ..., workflow: _Optional[str] = ...) -> None: ...

class ResumeWorkflowResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
