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

class HandOverReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HAND_OVER_REASON_UNSPECIFIED: _ClassVar[HandOverReason]
    HAND_OVER_REASON_FIRST: _ClassVar[HandOverReason]
    HAND_OVER_REASON_GIVEN_BACK: _ClassVar[HandOverReason]
    HAND_OVER_REASON_LOST: _ClassVar[HandOverReason]
HAND_OVER_REASON_UNSPECIFIED: HandOverReason
HAND_OVER_REASON_FIRST: HandOverReason
HAND_OVER_REASON_GIVEN_BACK: HandOverReason
HAND_OVER_REASON_LOST: HandOverReason

class Partition(_message.Message):
    __slots__ = ("partition", "watched", "supervisor", "address", "last_seen_time", "epoch", "taken_time", "lag", "late", "region")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    WATCHED_FIELD_NUMBER: _ClassVar[int]
    SUPERVISOR_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    LAST_SEEN_TIME_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    TAKEN_TIME_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    partition: int
    watched: bool
    supervisor: str
    address: str
    last_seen_time: _timestamp_pb2.Timestamp
    epoch: int
    taken_time: _timestamp_pb2.Timestamp
    lag: _duration_pb2.Duration
    late: bool
    region: str
    def __init__(self, partition: _Optional[int] = ..., watched: _Optional[bool] = ..., supervisor: _Optional[str] = ..., address: _Optional[str] = ..., last_seen_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., epoch: _Optional[int] = ..., taken_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., lag: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., late: _Optional[bool] = ..., region: _Optional[str] = ...) -> None: ...

class ListPartitionsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListPartitionsResponse(_message.Message):
    __slots__ = ("partitions", "next_page_token")
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[Partition]
    next_page_token: str
    def __init__(self, partitions: _Optional[_Iterable[_Union[Partition, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class HandOver(_message.Message):
    __slots__ = ("partition", "epoch", "supervisor", "address", "reason", "taken_time", "left_time")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    SUPERVISOR_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TAKEN_TIME_FIELD_NUMBER: _ClassVar[int]
    LEFT_TIME_FIELD_NUMBER: _ClassVar[int]
    partition: int
    epoch: int
    supervisor: str
    address: str
    reason: HandOverReason
    taken_time: _timestamp_pb2.Timestamp
    left_time: _timestamp_pb2.Timestamp
    def __init__(self, partition: _Optional[int] = ..., epoch: _Optional[int] = ..., supervisor: _Optional[str] = ..., address: _Optional[str] = ..., reason: _Optional[_Union[HandOverReason, str]] = ..., taken_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., left_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListHandOversRequest(_message.Message):
    __slots__ = ("partition", "page_size", "page_token")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    partition: int
    page_size: int
    page_token: str
    def __init__(self, partition: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListHandOversResponse(_message.Message):
    __slots__ = ("hand_overs", "next_page_token")
    HAND_OVERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    hand_overs: _containers.RepeatedCompositeFieldContainer[HandOver]
    next_page_token: str
    def __init__(self, hand_overs: _Optional[_Iterable[_Union[HandOver, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class Supervisor(_message.Message):
    __slots__ = ("id", "address", "started_time", "last_seen_time", "alive", "partitions")
    ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    STARTED_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_SEEN_TIME_FIELD_NUMBER: _ClassVar[int]
    ALIVE_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    address: str
    started_time: _timestamp_pb2.Timestamp
    last_seen_time: _timestamp_pb2.Timestamp
    alive: bool
    partitions: int
    def __init__(self, id: _Optional[str] = ..., address: _Optional[str] = ..., started_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_seen_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., alive: _Optional[bool] = ..., partitions: _Optional[int] = ...) -> None: ...

class ListSupervisorsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListSupervisorsResponse(_message.Message):
    __slots__ = ("supervisors",)
    SUPERVISORS_FIELD_NUMBER: _ClassVar[int]
    supervisors: _containers.RepeatedCompositeFieldContainer[Supervisor]
    def __init__(self, supervisors: _Optional[_Iterable[_Union[Supervisor, _Mapping]]] = ...) -> None: ...
