from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Payload(_message.Message):
    __slots__ = ("content_type", "json", "data")
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    content_type: str
    json: str
    data: bytes
    def __init__(self, content_type: _Optional[str] = ..., json: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...
