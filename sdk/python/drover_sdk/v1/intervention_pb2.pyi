import datetime

from drover_sdk.v1 import run_pb2 as _run_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListInterventionsRequest(_message.Message):
    __slots__ = ("namespace", "rules", "run_id", "acted_after", "acted_before", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ACTED_AFTER_FIELD_NUMBER: _ClassVar[int]
    ACTED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    rules: _containers.RepeatedScalarFieldContainer[str]
    run_id: str
    acted_after: _timestamp_pb2.Timestamp
    acted_before: _timestamp_pb2.Timestamp
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., rules: _Optional[_Iterable[str]] = ..., run_id: _Optional[str] = ..., acted_after: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., acted_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListInterventionsResponse(_message.Message):
    __slots__ = ("interventions", "next_page_token")
    INTERVENTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    interventions: _containers.RepeatedCompositeFieldContainer[_run_pb2.Intervention]
    next_page_token: str
    def __init__(self, interventions: _Optional[_Iterable[_Union[_run_pb2.Intervention, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
