import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CircuitState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CIRCUIT_STATE_UNSPECIFIED: _ClassVar[CircuitState]
    CIRCUIT_STATE_CLOSED: _ClassVar[CircuitState]
    CIRCUIT_STATE_OPEN: _ClassVar[CircuitState]
    CIRCUIT_STATE_TRYING: _ClassVar[CircuitState]

class CircuitSetting(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CIRCUIT_SETTING_UNSPECIFIED: _ClassVar[CircuitSetting]
    CIRCUIT_SETTING_OPEN: _ClassVar[CircuitSetting]
    CIRCUIT_SETTING_CLOSED: _ClassVar[CircuitSetting]
CIRCUIT_STATE_UNSPECIFIED: CircuitState
CIRCUIT_STATE_CLOSED: CircuitState
CIRCUIT_STATE_OPEN: CircuitState
CIRCUIT_STATE_TRYING: CircuitState
CIRCUIT_SETTING_UNSPECIFIED: CircuitSetting
CIRCUIT_SETTING_OPEN: CircuitSetting
CIRCUIT_SETTING_CLOSED: CircuitSetting

class Circuit(_message.Message):
    __slots__ = ("queue", "task", "agent_id", "state", "since_time", "try_time", "cooldowns", "saw", "setting", "set_by", "why", "set_time", "agent_version")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SINCE_TIME_FIELD_NUMBER: _ClassVar[int]
    TRY_TIME_FIELD_NUMBER: _ClassVar[int]
    COOLDOWNS_FIELD_NUMBER: _ClassVar[int]
    SAW_FIELD_NUMBER: _ClassVar[int]
    SETTING_FIELD_NUMBER: _ClassVar[int]
    SET_BY_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    SET_TIME_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    queue: str
    task: str
    agent_id: str
    state: CircuitState
    since_time: _timestamp_pb2.Timestamp
    try_time: _timestamp_pb2.Timestamp
    cooldowns: int
    saw: str
    setting: CircuitSetting
    set_by: str
    why: str
    set_time: _timestamp_pb2.Timestamp
    agent_version: str
    def __init__(self, queue: _Optional[str] = ..., task: _Optional[str] = ..., agent_id: _Optional[str] = ..., state: _Optional[_Union[CircuitState, str]] = ..., since_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., try_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., cooldowns: _Optional[int] = ..., saw: _Optional[str] = ..., setting: _Optional[_Union[CircuitSetting, str]] = ..., set_by: _Optional[str] = ..., why: _Optional[str] = ..., set_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., agent_version: _Optional[str] = ...) -> None: ...

class SetCircuitRequest(_message.Message):
    __slots__ = ("namespace", "queue", "task", "agent_id", "setting", "by", "why")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SETTING_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    queue: str
    task: str
    agent_id: str
    setting: CircuitSetting
    by: str
    why: str
    def __init__(self, namespace: _Optional[str] = ..., queue: _Optional[str] = ..., task: _Optional[str] = ..., agent_id: _Optional[str] = ..., setting: _Optional[_Union[CircuitSetting, str]] = ..., by: _Optional[str] = ..., why: _Optional[str] = ...) -> None: ...

class SetCircuitResponse(_message.Message):
    __slots__ = ("circuit",)
    CIRCUIT_FIELD_NUMBER: _ClassVar[int]
    circuit: Circuit
    def __init__(self, circuit: _Optional[_Union[Circuit, _Mapping]] = ...) -> None: ...

class ListCircuitsRequest(_message.Message):
    __slots__ = ("namespace", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListCircuitsResponse(_message.Message):
    __slots__ = ("circuits", "next_page_token")
    CIRCUITS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    circuits: _containers.RepeatedCompositeFieldContainer[Circuit]
    next_page_token: str
    def __init__(self, circuits: _Optional[_Iterable[_Union[Circuit, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class Cordon(_message.Message):
    __slots__ = ("agent_id", "version", "session", "cordoned_by", "why", "cordoned_time", "session_agent_id")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    CORDONED_BY_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    CORDONED_TIME_FIELD_NUMBER: _ClassVar[int]
    SESSION_AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    version: str
    session: bytes
    cordoned_by: str
    why: str
    cordoned_time: _timestamp_pb2.Timestamp
    session_agent_id: str
    def __init__(self, agent_id: _Optional[str] = ..., version: _Optional[str] = ..., session: _Optional[bytes] = ..., cordoned_by: _Optional[str] = ..., why: _Optional[str] = ..., cordoned_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., session_agent_id: _Optional[str] = ...) -> None: ...

class CordonAgentRequest(_message.Message):
    __slots__ = ("namespace", "agent_id", "version", "session", "by", "why")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    agent_id: str
    version: str
    session: bytes
    by: str
    why: str
    def __init__(self, namespace: _Optional[str] = ..., agent_id: _Optional[str] = ..., version: _Optional[str] = ..., session: _Optional[bytes] = ..., by: _Optional[str] = ..., why: _Optional[str] = ...) -> None: ...

class CordonAgentResponse(_message.Message):
    __slots__ = ("cordon",)
    CORDON_FIELD_NUMBER: _ClassVar[int]
    cordon: Cordon
    def __init__(self, cordon: _Optional[_Union[Cordon, _Mapping]] = ...) -> None: ...

class UncordonAgentRequest(_message.Message):
    __slots__ = ("namespace", "agent_id", "version", "session")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    agent_id: str
    version: str
    session: bytes
    def __init__(self, namespace: _Optional[str] = ..., agent_id: _Optional[str] = ..., version: _Optional[str] = ..., session: _Optional[bytes] = ...) -> None: ...

class UncordonAgentResponse(_message.Message):
    __slots__ = ("uncordoned",)
    UNCORDONED_FIELD_NUMBER: _ClassVar[int]
    uncordoned: bool
    def __init__(self, uncordoned: _Optional[bool] = ...) -> None: ...

class ListCordonsRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class ListCordonsResponse(_message.Message):
    __slots__ = ("cordons",)
    CORDONS_FIELD_NUMBER: _ClassVar[int]
    cordons: _containers.RepeatedCompositeFieldContainer[Cordon]
    def __init__(self, cordons: _Optional[_Iterable[_Union[Cordon, _Mapping]]] = ...) -> None: ...
