"""Converts a workflow from data classes to the message of the contract.

The fields of both have the same names; the differences are in `_prepared`. Settings that have no
meaning for the kind of a step are sent unchanged: the server refuses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from drover_sdk.durations import to_duration
from drover_sdk.task_types import name_of_type
from drover_sdk.v1 import workflow_pb2 as wire
from drover_sdk.workflow import Map, Step, Until, Waves, Workflow
from drover_sdk.writing import write

_KINDS = ("task", "wait", "signal", "approval", "run", "map")


def to_definition(workflow: Workflow) -> wire.WorkflowDefinition:
    """Raises ValueError for a step without a kind or with several, and for unknown values."""
    definition = wire.WorkflowDefinition()
    write(definition, workflow, _prepared)
    return definition


def _prepared(given: Any) -> Mapping[str, Any]:
    values = {name: name_of_type(value) for name, value in vars(given).items()}
    if isinstance(given, Step):
        _check_kind(given)
        queue = values.pop("queue")
        if given.task is not None:
            values["task"] = wire.TaskStep(name=values["task"], queue=queue or "")
        if given.wait is not None:
            values["wait"] = _wait(given.wait)
    elif isinstance(given, Map):
        _refuse_both(tolerate=given.tolerate, tolerate_percent=given.tolerate_percent)
        values["over"] = str(given.over)
    elif isinstance(given, Waves):
        _refuse_both(size=given.size, percent=given.percent)
    return values


def _check_kind(step: Step) -> None:
    kinds = [kind for kind in _KINDS if getattr(step, kind) is not None]
    if not kinds:
        raise ValueError(f'The step "{step.id}" does nothing; give one of {", ".join(_KINDS)}.')
    if len(kinds) > 1:
        named = " and a ".join(kinds)
        raise ValueError(f'The step "{step.id}" is a {named}; leave one of them.')


def _refuse_both(**either: float | None) -> None:
    """As the text form does: the message has room for only one of them, and would drop the
    other."""
    given = [name for name, value in either.items() if value is not None]
    if len(given) > 1:
        raise ValueError(f"A map has {' and '.join(given)}; leave one of them.")


def _wait(wait: Any) -> wire.WaitStep:
    if not isinstance(wait, Until):
        over: dict[str, Any] = {"for": to_duration(wait)}
        return wire.WaitStep(**over)
    until = wait.until
    if isinstance(until, datetime):
        until = until.astimezone(timezone.utc).isoformat(timespec="milliseconds")
        until = until.replace("+00:00", "Z")
    return wire.WaitStep(until=until)
