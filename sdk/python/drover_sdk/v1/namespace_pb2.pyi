import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LimitScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LIMIT_SCOPE_UNSPECIFIED: _ClassVar[LimitScope]
    LIMIT_SCOPE_FIXED: _ClassVar[LimitScope]
    LIMIT_SCOPE_SERVER: _ClassVar[LimitScope]
    LIMIT_SCOPE_NAMESPACE: _ClassVar[LimitScope]
LIMIT_SCOPE_UNSPECIFIED: LimitScope
LIMIT_SCOPE_FIXED: LimitScope
LIMIT_SCOPE_SERVER: LimitScope
LIMIT_SCOPE_NAMESPACE: LimitScope

class Namespace(_message.Message):
    __slots__ = ("name", "region", "create_time", "retention", "limits", "no_logs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    RETENTION_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    NO_LOGS_FIELD_NUMBER: _ClassVar[int]
    name: str
    region: str
    create_time: _timestamp_pb2.Timestamp
    retention: _duration_pb2.Duration
    limits: NamespaceLimits
    no_logs: bool
    def __init__(self, name: _Optional[str] = ..., region: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., retention: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., limits: _Optional[_Union[NamespaceLimits, _Mapping]] = ..., no_logs: _Optional[bool] = ...) -> None: ...

class NamespaceLimits(_message.Message):
    __slots__ = ("open_runs", "runs_per_second", "burst", "payload_bytes", "calls_per_second", "calls_burst", "storage_bytes", "weight")
    OPEN_RUNS_FIELD_NUMBER: _ClassVar[int]
    RUNS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    BURST_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_BYTES_FIELD_NUMBER: _ClassVar[int]
    CALLS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    CALLS_BURST_FIELD_NUMBER: _ClassVar[int]
    STORAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    open_runs: int
    runs_per_second: float
    burst: int
    payload_bytes: int
    calls_per_second: float
    calls_burst: int
    storage_bytes: int
    weight: int
    def __init__(self, open_runs: _Optional[int] = ..., runs_per_second: _Optional[float] = ..., burst: _Optional[int] = ..., payload_bytes: _Optional[int] = ..., calls_per_second: _Optional[float] = ..., calls_burst: _Optional[int] = ..., storage_bytes: _Optional[int] = ..., weight: _Optional[int] = ...) -> None: ...

class GetLimitsRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class GetLimitsResponse(_message.Message):
    __slots__ = ("limits",)
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    limits: _containers.RepeatedCompositeFieldContainer[Limit]
    def __init__(self, limits: _Optional[_Iterable[_Union[Limit, _Mapping]]] = ...) -> None: ...

class Limit(_message.Message):
    __slots__ = ("name", "what", "unit", "scope", "value", "default_value", "hard_limit", "used", "used_note", "change")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_VALUE_FIELD_NUMBER: _ClassVar[int]
    HARD_LIMIT_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    USED_NOTE_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    name: str
    what: str
    unit: str
    scope: LimitScope
    value: float
    default_value: float
    hard_limit: float
    used: float
    used_note: str
    change: str
    def __init__(self, name: _Optional[str] = ..., what: _Optional[str] = ..., unit: _Optional[str] = ..., scope: _Optional[_Union[LimitScope, str]] = ..., value: _Optional[float] = ..., default_value: _Optional[float] = ..., hard_limit: _Optional[float] = ..., used: _Optional[float] = ..., used_note: _Optional[str] = ..., change: _Optional[str] = ...) -> None: ...

class Region(_message.Message):
    __slots__ = ("name", "watched_partitions", "partitions")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WATCHED_PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    watched_partitions: int
    partitions: int
    def __init__(self, name: _Optional[str] = ..., watched_partitions: _Optional[int] = ..., partitions: _Optional[int] = ...) -> None: ...

class CreateNamespaceRequest(_message.Message):
    __slots__ = ("name", "region")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    name: str
    region: str
    def __init__(self, name: _Optional[str] = ..., region: _Optional[str] = ...) -> None: ...

class CreateNamespaceResponse(_message.Message):
    __slots__ = ("namespace", "existed")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXISTED_FIELD_NUMBER: _ClassVar[int]
    namespace: Namespace
    existed: bool
    def __init__(self, namespace: _Optional[_Union[Namespace, _Mapping]] = ..., existed: _Optional[bool] = ...) -> None: ...

class GetNamespaceRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class GetNamespaceResponse(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: Namespace
    def __init__(self, namespace: _Optional[_Union[Namespace, _Mapping]] = ...) -> None: ...

class SetNamespaceRetentionRequest(_message.Message):
    __slots__ = ("namespace", "retention")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RETENTION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    retention: _duration_pb2.Duration
    def __init__(self, namespace: _Optional[str] = ..., retention: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class SetNamespaceRetentionResponse(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: Namespace
    def __init__(self, namespace: _Optional[_Union[Namespace, _Mapping]] = ...) -> None: ...

class SetNamespaceLimitsRequest(_message.Message):
    __slots__ = ("namespace", "limits")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    limits: NamespaceLimits
    def __init__(self, namespace: _Optional[str] = ..., limits: _Optional[_Union[NamespaceLimits, _Mapping]] = ...) -> None: ...

class SetNamespaceLimitsResponse(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: Namespace
    def __init__(self, namespace: _Optional[_Union[Namespace, _Mapping]] = ...) -> None: ...

class SetNamespaceLogsRequest(_message.Message):
    __slots__ = ("namespace", "no_logs")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NO_LOGS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    no_logs: bool
    def __init__(self, namespace: _Optional[str] = ..., no_logs: _Optional[bool] = ...) -> None: ...

class SetNamespaceLogsResponse(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: Namespace
    def __init__(self, namespace: _Optional[_Union[Namespace, _Mapping]] = ...) -> None: ...

class ListNamespacesRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListNamespacesResponse(_message.Message):
    __slots__ = ("namespaces", "next_page_token", "regions")
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REGIONS_FIELD_NUMBER: _ClassVar[int]
    namespaces: _containers.RepeatedCompositeFieldContainer[Namespace]
    next_page_token: str
    regions: _containers.RepeatedCompositeFieldContainer[Region]
    def __init__(self, namespaces: _Optional[_Iterable[_Union[Namespace, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., regions: _Optional[_Iterable[_Union[Region, _Mapping]]] = ...) -> None: ...
