"""A workflow as data classes has all that the contract has, with the names of the text form."""

from __future__ import annotations

import dataclasses
import json
import typing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format

from drover_sdk.definition import to_definition
from drover_sdk.payloads import json_payload
from drover_sdk.reading import is_repeated
from drover_sdk.v1 import workflow_pb2 as wire
from drover_sdk.workflow import (
    AnyStep,
    Compensate,
    Map,
    Retry,
    Step,
    Timeouts,
    Until,
    Waves,
    Workflow,
)

# What the parser of the text form makes of each example; the project's tests hold it up to date.
EXAMPLES = json.loads((Path(__file__).parent / "gen/definitions.json").read_text())


def built(kind: Any, given: Any) -> Any:
    """The same as data classes."""
    if not isinstance(given, dict):
        return given
    hints = typing.get_type_hints(kind)
    return kind(**{name: _value(hints[name], value) for name, value in given.items()})


def _value(hint: Any, given: Any) -> Any:
    kind = _data_class_in(hint)
    if hint is Any or kind is None:
        return json_payload(None) if given is None else given
    return [built(kind, one) for one in given] if isinstance(given, list) else built(kind, given)


def _data_class_in(hint: Any) -> Any:
    if hint is AnyStep:
        return Step
    if dataclasses.is_dataclass(hint):
        return hint
    found = (_data_class_in(inner) for inner in typing.get_args(hint))
    return next((kind for kind in found if kind is not None), None)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["path"])
def test_data_classes_and_a_text_of_the_same_workflow_become_the_same(example: Any) -> None:
    expected = json_format.ParseDict(example["definition"], wire.WorkflowDefinition())
    assert to_definition(built(Workflow, example["yaml"])) == expected


def test_the_examples_have_all_that_a_definition_can_have() -> None:
    (everything,) = [one for one in EXAMPLES if one["path"].endswith("everything.yaml")]
    definition = json_format.ParseDict(everything["definition"], wire.WorkflowDefinition())
    used = {
        (type(message).__name__, field.name)
        for message in messages_in(definition)
        for field, _ in message.ListFields()
    }
    kinds = {type(message).__name__ for message in messages_in(definition)}
    all_of_them = {
        (name, field.name)
        for name in kinds
        if hasattr(wire, name)
        for field in getattr(wire, name).DESCRIPTOR.fields
    }
    assert all_of_them <= used


def messages_in(message: Any) -> list[Any]:
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for one in value if is_repeated(field) else [value]:
                found += messages_in(one)
    return found


def test_short_forms_become_the_long_ones() -> None:
    short = Step("a", task="t", compensate="undo", retry=Retry(attempts=2), verify="check")
    long = Step("a", task="t", compensate=Compensate("undo"), retry=[Retry(attempts=2)])
    (made,) = to_definition(Workflow("w", [short])).steps
    (other,) = to_definition(Workflow("w", [long])).steps
    assert (made.compensate, list(made.retry)) == (other.compensate, list(other.retry))
    assert made.verify.task == "check"


def test_a_time_may_be_a_datetime_and_a_number_of_items_a_number() -> None:
    at = datetime(2026, 3, 1, 8, tzinfo=timezone.utc)
    steps = [Step("a", wait=Until(at)), Step("b", map=Map(7, "t", waves=Waves(percent=25)))]
    (wait, several) = to_definition(Workflow("w", steps)).steps
    assert wait.wait.until == "2026-03-01T08:00:00.000Z"
    assert several.map.over == "7"


def test_what_is_left_out_is_left_to_the_servers_defaults() -> None:
    (step,) = to_definition(Workflow("w", [Step("a", task="t")])).steps
    assert step == wire.StepDefinition(id="a", task=wire.TaskStep(name="t"))


def test_empty_settings_are_there_all_the_same() -> None:
    (step,) = to_definition(Workflow("w", [Step("a", task="t", timeouts=Timeouts())])).steps
    assert step.HasField("timeouts")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Step("a", task="t", wait="1h"), 'The step "a" is a task and a wait; leave one of them.'),
        (Step("a"), 'The step "a" does nothing; give one of task, wait'),
        (
            Step("a", task="t", on_failure="compensat"),  # type: ignore[arg-type]
            '"compensat" is none of compensate, fail, continue, escalate.',
        ),
        (Step("a", wait="soon"), 'The duration "soon" cannot be read.'),
        (
            Step("a", map=Map(3, "t", tolerate=1, tolerate_percent=5)),
            "A map has tolerate and tolerate_percent; leave one of them.",
        ),
        (
            Step("a", map=Map(3, "t", waves=Waves(size=1, percent=5))),
            "A map has size and percent; leave one of them.",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(step: Step, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        to_definition(Workflow("w", [step]))
    assert message in str(refused.value)
