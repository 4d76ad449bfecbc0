"""From data classes to messages: reading.py the other way.

A field goes into that of its name; None is left out. Durations, payloads, enums by their names and
messages within are made on the way; a text in place of a message is its first field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from drover_sdk.durations import to_duration
from drover_sdk.payloads import to_payload
from drover_sdk.reading import is_repeated, to_time
from drover_sdk.v1.payload_pb2 import Payload

Prepare = Callable[[Any], Mapping[str, Any]]
"""The values of a data class by the names of its message's fields."""


def write(message: Message, given: Any, prepare: Prepare = vars) -> None:
    """Fills the message. Raises ValueError for a name that the enum does not have."""
    if isinstance(given, str):
        setattr(message, message.DESCRIPTOR.fields[0].name, given)
        return
    for name, value in prepare(given).items():
        if value is not None:
            _set(message, message.DESCRIPTOR.fields_by_name[name], value, prepare)


def number_of(described: EnumDescriptor, name: str) -> Any:
    """The value of this name, in small letters or in capitals, with hyphens or without."""
    prefix = described.values_by_number[0].name.removesuffix("UNSPECIFIED")
    known = {value.name.removeprefix(prefix): value.number for value in described.values}
    known.pop("UNSPECIFIED")
    number = known.get(name.upper().replace("-", "_"))
    if number is None:
        raise ValueError(f'"{name}" is none of {", ".join(known).lower()}.')
    return number


def _set(message: Message, field: Any, value: Any, prepare: Prepare) -> None:
    name: str = field.name
    if is_repeated(field):
        _add(getattr(message, name), field, value, prepare)
    elif field.enum_type is not None:
        setattr(message, name, number_of(field.enum_type, value))
    elif field.message_type is None:
        setattr(message, name, value)
    else:
        _set_message(getattr(message, name), value, prepare)


def _add(into: Any, field: Any, value: Any, prepare: Prepare) -> None:
    if isinstance(value, Mapping):
        into.update(value)
        return
    for one in value if isinstance(value, (list, tuple)) else [value]:
        if field.enum_type is not None:
            into.append(number_of(field.enum_type, one))
        elif field.message_type is None:
            into.append(one)
        else:
            write(into.add(), one, prepare)


def _set_message(into: Message, value: Any, prepare: Prepare) -> None:
    # An empty one is there all the same.
    into.SetInParent()
    if isinstance(into, Payload):
        into.CopyFrom(to_payload(value))
    elif isinstance(value, Message):
        into.CopyFrom(value)
    elif isinstance(into, Duration):
        into.CopyFrom(to_duration(value))
    elif isinstance(into, Timestamp) and isinstance(value, datetime):
        into.CopyFrom(to_time(value))
    else:
        write(into, value, prepare)
