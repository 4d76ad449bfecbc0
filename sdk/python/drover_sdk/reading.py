"""From messages to what programs read: frozen data classes, names instead of numbers, datetimes,
and payloads as their values.

A data class names fields of its message, and `read` fills it: a test holds the one against the
other. An absent message is None. A name that this SDK does not know, from a newer server, reads
UNSPECIFIED.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, TypeVar

from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from drover_sdk.durations import from_duration
from drover_sdk.payloads import Codec, read_payload
from drover_sdk.v1.payload_pb2 import Payload

D = TypeVar("D")

Convert = Callable[[Any, Codec], Any]


def read(kind: type[D], message: Message, codec: Codec) -> D:
    """The message as a data class."""
    plan = plan_of(kind, message)
    return kind(**{name: convert(message, codec) for name, convert in plan.items()})


_plans: dict[tuple[type, str], dict[str, Convert]] = {}


def plan_of(kind: type, message: Message | type[Message]) -> dict[str, Convert]:
    """How each field of the data class comes out of the message; KeyError: it has none such."""
    described = message.DESCRIPTOR
    plan = _plans.get((kind, described.full_name))
    if plan is None:
        hints = typing.get_type_hints(kind)
        plan = {}
        for field in dataclasses.fields(kind):
            source = described.fields_by_name[field.name]
            plan[field.name] = _converter(source, _data_class_in(hints[field.name]))
        _plans[kind, described.full_name] = plan
    return plan


def read_time(time: Timestamp) -> datetime:
    """In UTC."""
    return time.ToDatetime(tzinfo=timezone.utc)


def to_time(local: datetime) -> Timestamp:
    """A datetime without a zone is of the local one, as everywhere in Python."""
    time = Timestamp()
    time.FromDatetime(local.astimezone(timezone.utc))
    return time


def name_of(described: EnumDescriptor, number: int) -> str:
    """In capitals, without the name of the enum."""
    values = described.values_by_number
    prefix = len(values[0].name) - len("UNSPECIFIED")
    return values[number].name[prefix:] if number in values else "UNSPECIFIED"


def is_repeated(field: Any) -> bool:
    """Whether it is a list or a map. Protobuf before 6.31 has no `is_repeated`, and later ones warn
    of `label`."""
    known = getattr(field, "is_repeated", None)
    return field.label == field.LABEL_REPEATED if known is None else bool(known)


def _converter(source: Any, kind: type | None) -> Convert:
    name = source.name
    if source.message_type is not None and source.message_type.GetOptions().map_entry:
        return lambda message, codec: dict(getattr(message, name))
    one = _value(source, kind)
    if is_repeated(source):
        return lambda message, codec: tuple(one(item, codec) for item in getattr(message, name))
    if source.has_presence:
        return lambda message, codec: (
            one(getattr(message, name), codec) if message.HasField(name) else None
        )
    return lambda message, codec: one(getattr(message, name), codec)


def _value(source: Any, kind: type | None) -> Convert:
    """Of one item."""
    if source.enum_type is not None:
        described = source.enum_type
        return lambda value, codec: name_of(described, value)
    if source.message_type is None:
        return lambda value, codec: value
    full_name = source.message_type.full_name
    if full_name == Timestamp.DESCRIPTOR.full_name:
        return lambda value, codec: read_time(value)
    if full_name == Duration.DESCRIPTOR.full_name:
        return lambda value, codec: from_duration(value)
    if full_name == Payload.DESCRIPTOR.full_name:
        return lambda value, codec: read_payload(codec.decode(value))
    if kind is None:
        raise TypeError(f"The field {source.full_name} needs a data class.")
    return lambda value, codec: read(kind, value, codec)


def _data_class_in(hint: Any) -> type | None:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint
    found = (_data_class_in(inner) for inner in typing.get_args(hint))
    return next((kind for kind in found if kind is not None), None)
