"""From a workflow as data classes to the message of the contract.

The fields of both have the same names, so one rule fills most of them; what differs stands in
`_SHORT` (a text that stands for a message) and `_prepared`. Settings that mean nothing for the kind
of a step are sent as they are: the server says so.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from drover.durations import to_duration
from drover.payloads import to_payload
from drover.v1 import workflow_pb2 as wire
from drover.v1.payload_pb2 import Payload
from drover.workflow import Map, Step, Until, Waves, Workflow

_SHORT: dict[str, str] = {
    wire.SignalStep.DESCRIPTOR.full_name: "name",
    wire.RunStep.DESCRIPTOR.full_name: "workflow",
    wire.Verify.DESCRIPTOR.full_name: "task",
    wire.Compensate.DESCRIPTOR.full_name: "task",
    wire.Gate.DESCRIPTOR.full_name: "task",
}

_KINDS = ("task", "wait", "signal", "approval", "run", "map")


def to_definition(workflow: Workflow) -> wire.WorkflowDefinition:
    """Raises ValueError for a step of no kind or of several, and for what has no such value."""
    definition = wire.WorkflowDefinition()
    _fill(definition, workflow)
    return definition


def _fill(message: Message, given: Any) -> None:
    if isinstance(given, str):
        setattr(message, _SHORT[message.DESCRIPTOR.full_name], given)
        return
    for name, value in _prepared(given).items():
        if value is not None:
            _set(message, message.DESCRIPTOR.fields_by_name[name], value)


def _set(message: Message, field: Any, value: Any) -> None:
    if field.is_repeated:
        several = value if isinstance(value, (list, tuple)) else [value]
        into = getattr(message, field.name)
        for one in several:
            if field.message_type is None:
                into.append(one)
            else:
                _fill(into.add(), one)
    elif field.enum_type is not None:
        setattr(message, field.name, _number_of(field.enum_type, value))
    elif field.message_type is None:
        setattr(message, field.name, value)
    else:
        into = getattr(message, field.name)
        into.SetInParent()
        if isinstance(into, Duration):
            into.CopyFrom(to_duration(value))
        elif isinstance(into, Payload):
            into.CopyFrom(to_payload(value))
        elif isinstance(value, Message):
            into.CopyFrom(value)
        else:
            _fill(into, value)


def _prepared(given: Any) -> dict[str, Any]:
    """The values by the names of the message's fields."""
    values = dict(vars(given))
    if isinstance(given, Step):
        _check_kind(given)
        queue = values.pop("queue")
        if given.task is not None:
            values["task"] = wire.TaskStep(name=given.task, queue=queue or "")
        if given.wait is not None:
            values["wait"] = _wait(given.wait)
    elif isinstance(given, Map):
        values["over"] = str(given.over)
        if isinstance(given.tolerate, str):
            values["tolerate_percent"] = _percent(values.pop("tolerate"))
    elif isinstance(given, Waves) and isinstance(given.size, str):
        values["percent"] = _percent(values.pop("size"))
    return values


def _check_kind(step: Step) -> None:
    kinds = [kind for kind in _KINDS if getattr(step, kind) is not None]
    if not kinds:
        raise ValueError(f'The step "{step.id}" does nothing; give one of {", ".join(_KINDS)}.')
    if len(kinds) > 1:
        said = " and a ".join(kinds)
        raise ValueError(f'The step "{step.id}" is a {said}; leave one of them.')


def _wait(wait: Any) -> wire.WaitStep:
    if not isinstance(wait, Until):
        over: dict[str, Any] = {"for": to_duration(wait)}
        return wire.WaitStep(**over)
    until = wait.until
    if isinstance(until, datetime):
        until = until.astimezone(timezone.utc).isoformat(timespec="milliseconds")
        until = until.replace("+00:00", "Z")
    return wire.WaitStep(until=until)


def _percent(share: str) -> float:
    """`5%` is 5."""
    return float(share.replace("%", ""))


def _number_of(described: EnumDescriptor, word: str) -> int:
    """The value that a word in lower case names."""
    prefix = described.values_by_number[0].name.removesuffix("UNSPECIFIED")
    known = {value.name.removeprefix(prefix).lower(): value.number for value in described.values}
    known.pop("unspecified")
    if word not in known:
        raise ValueError(f'"{word}" is none of {", ".join(known)}.')
    return known[word]
