import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Hook(_message.Message):
    __slots__ = ("name", "url", "events", "secret_digest", "created_time", "changed_time")
    NAME_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    SECRET_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    CHANGED_TIME_FIELD_NUMBER: _ClassVar[int]
    name: str
    url: str
    events: _containers.RepeatedScalarFieldContainer[str]
    secret_digest: str
    created_time: _timestamp_pb2.Timestamp
    changed_time: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., url: _Optional[str] = ..., events: _Optional[_Iterable[str]] = ..., secret_digest: _Optional[str] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., changed_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Delivery(_message.Message):
    __slots__ = ("id", "hook", "url", "kind", "count", "run_id", "escalation_id", "state", "tries", "error", "created_time", "ended_time", "next_try_time")
    ID_FIELD_NUMBER: _ClassVar[int]
    HOOK_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ESCALATION_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TRIES_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    ENDED_TIME_FIELD_NUMBER: _ClassVar[int]
    NEXT_TRY_TIME_FIELD_NUMBER: _ClassVar[int]
    id: str
    hook: str
    url: str
    kind: str
    count: int
    run_id: str
    escalation_id: str
    state: str
    tries: int
    error: str
    created_time: _timestamp_pb2.Timestamp
    ended_time: _timestamp_pb2.Timestamp
    next_try_time: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., hook: _Optional[str] = ..., url: _Optional[str] = ..., kind: _Optional[str] = ..., count: _Optional[int] = ..., run_id: _Optional[str] = ..., escalation_id: _Optional[str] = ..., state: _Optional[str] = ..., tries: _Optional[int] = ..., error: _Optional[str] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next_try_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
