"""A handler gets its input as the type of its annotation, and returns dataclasses and models."""

from __future__ import annotations

import asyncio
import enum
import json
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, TypedDict

import pytest
from agent_script import Agents, a_task
from fake_server import FakeServer
from pydantic import BaseModel, ConfigDict, Field

import drover_sdk as drover
from drover_sdk import rpc
from drover_sdk.conversion import convert
from drover_sdk.definition import to_definition
from drover_sdk.payloads import json_payload
from drover_sdk.tasks import Task
from drover_sdk.testing import run_handler
from drover_sdk.workflow import Compensate, Fallback, Map, Step, Workflow


class Cabin(enum.Enum):
    ECONOMY = "economy"
    FIRST = "first"


@dataclass(frozen=True)
class Leg:
    to: str
    seats: int = 1


@dataclass(frozen=True)
class Trip:
    legs: list[Leg]
    cabin: Cabin = Cabin.ECONOMY
    leaves: datetime | None = None


class Person(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    name: str
    home_town: str = Field(default="", alias="homeTown")


class Guests(TypedDict, total=False):
    host: Person
    count: int


@dataclass
class Party:
    people: list[Person] = field(default_factory=list)


def book(task: Task, trip: Trip) -> Trip:
    return trip


async def book_later(task: Task, trip: Trip) -> Trip:
    return trip


def greet(task: Task, person: Person) -> Party:
    return Party([person, Person(name=f"friend of {person.name}")])


@pytest.mark.parametrize("handler", [book, book_later])
def test_an_input_is_what_the_annotation_says(handler: Any) -> None:
    given = {"legs": [{"to": "Lisbon", "meal": "none"}], "leaves": "2026-01-02T03:04:05Z"}
    outcome = run_handler(handler, input=given)
    assert outcome.output == {
        "legs": [{"to": "Lisbon", "seats": 1}],
        "cabin": "economy",
        "leaves": "2026-01-02T03:04:05Z",
    }
    assert run_handler(handler, input=Trip([Leg("Rome")], Cabin.FIRST)).output == {
        "legs": [{"to": "Rome", "seats": 1}],
        "cabin": "first",
        "leaves": None,
    }


def test_models_of_pydantic_are_read_and_sent() -> None:
    assert run_handler(greet, input={"name": "Ada", "homeTown": "London"}).output == {
        "people": [
            {"name": "Ada", "homeTown": "London"},
            {"name": "friend of Ada", "homeTown": ""},
        ]
    }


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        (Trip, {"legs": [{"to": "a"}, {"to": 1}]}, "legs[1].to: Expected `str`, got `int`"),
        (Trip, {"legs": [{}]}, "legs[0]: Object missing required field `to`"),
        (Trip, {}, "Object missing required field `legs`"),
        (Trip, None, "Expected `object`, got `null`"),
        (Trip, {"legs": [], "cabin": "deck"}, "cabin: Invalid enum value 'deck'"),
        (Leg, {"to": "a", "seats": "2"}, "seats: Expected `int`, got `str`"),
        (list[Leg], [{"to": 1}], "[0].to: Expected `str`, got `int`"),
        (Guests, {"count": "2"}, "count: Expected `int`, got `str`"),
        (Guests, {"host": {}}, "host.name: Field required"),
        (Person, {"name": 1}, "name: Input should be a valid string"),
        (Party, {"people": [{"name": "a"}, {}]}, "people[1].name: Field required"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(kind: Any, value: Any, problem: str) -> None:
    with pytest.raises(ValueError) as refused:
        convert(kind, value)
    assert str(refused.value) == problem


@pytest.mark.parametrize("handler", [book, book_later])
def test_a_wrong_input_fails_the_attempt_for_good(handler: Any) -> None:
    outcome = run_handler(handler, input={"legs": [{"to": 7}]})
    assert (outcome.kind, outcome.code, outcome.transient) == ("failed", "bad-input", False)
    assert outcome.message == (
        "The input is not as expected: legs[0].to: Expected `str`, got `int`"
    )


async def test_an_agent_converts_for_the_type_that_it_registers(
    server: FakeServer, agents: Agents
) -> None:
    seen: list[Any] = []

    def handler(task: Task, trip: Any) -> None:
        seen.append(trip)

    agent = drover.Agent(server.address, id="a1")
    agent.task(drover.TaskType("book-flight", Trip))(handler)
    async with agent:
        poll = await server.poll.next()
        poll.answer(tasks=[a_task("t1", input=json_payload({"legs": []}))])
        report = await server.complete.next()
        (result,) = report.request.results
        assert result.outcome.WhichOneof("kind") == "success"
        report.answer()
    assert seen == [Trip([])]


def test_a_handler_that_takes_the_task_alone_gets_json() -> None:
    assert run_handler(lambda task: task.input["to"], input={"to": "Rome"}).output == "Rome"
    assert run_handler(lambda task, given: given, input={"to": "Rome"}).output == {"to": "Rome"}


def test_a_type_that_json_does_not_have_is_refused_at_once() -> None:
    class Other:
        pass

    def handler(task: Task, other: Other) -> None: ...

    handler.__annotations__["other"] = Other
    agent = drover.Agent("127.0.0.1:1", id="a1")
    with pytest.raises(TypeError, match="is no dataclass, TypedDict, pydantic model"):
        agent.task("book-flight")(handler)
    handler.__annotations__["other"] = "Missing"
    with pytest.raises(TypeError, match="name 'Missing' is not defined: import what they name"):
        agent.task("book-flight")(handler)


def test_a_task_parses_output_and_details_by_type() -> None:
    def undo(task: Task) -> Any:
        return [task.parse_output(Leg).to, task.parse_details(list[Leg])[0].to]

    given = {"output": {"to": "a"}, "last_details": [{"to": "b"}], "kind": "compensate"}
    assert run_handler(undo, **given).output == ["a", "b"]
    given["output"] = {"to": 1}
    assert run_handler(undo, **given).code == "bad-output"


def test_a_type_stands_where_a_name_may() -> None:
    first, undo = drover.TaskType("book", Trip), drover.TaskType("cancel", Trip)
    typed = Workflow(
        drover.WorkflowType("trip", Trip),
        [
            Step("a", task=first, compensate=undo, fallback=[Fallback(task=first)]),
            Step("b", task=first, input=Trip([Leg("${input.to}")]), verify=undo),
            Step("c", map=Map("input.legs", first), compensate=Compensate(undo)),
            Step("d", run=drover.WorkflowType("other")),
        ],
    )
    untyped = Workflow(
        "trip",
        [
            Step("a", task="book", compensate="cancel", fallback=[Fallback(task="book")]),
            Step(
                "b",
                task="book",
                input={
                    "legs": [{"to": "${input.to}", "seats": 1}],
                    "cabin": "economy",
                    "leaves": None,
                },
                verify="cancel",
            ),
            Step("c", map=Map("input.legs", "book"), compensate=Compensate("cancel")),
            Step("d", run="other"),
        ],
    )
    assert to_definition(typed) == to_definition(untyped)


async def test_the_outputs_of_a_run_are_of_the_type_of_its_workflow(server: FakeServer) -> None:
    class Booked(TypedDict):
        flight: Leg

    trip = drover.WorkflowType("trip", Trip, Booked)
    step = {"id": "flight", "output": {"json": '{"to":"Rome"}'}}

    async def outputs(state: str, output: dict[str, Any]) -> Any:
        async with drover.Client(server.address) as client:
            waiting = asyncio.ensure_future(client.wait_outputs(trip, "run-1"))
            run = {"run_id": "run-1", "workflow": "trip", "state": state, "summary": "It failed."}
            (await server.inbox(rpc.WAIT_RUN).next()).answer(ended=True, run=run)
            if state == "RUN_STATE_COMPLETED":
                (await server.inbox(rpc.GET_RUN).next()).answer(run=run, steps=[output])
            return await waiting

    assert await outputs("RUN_STATE_COMPLETED", step) == {"flight": Leg("Rome")}
    with pytest.raises(ValueError, match="The outputs of run run-1 are not of the type of trip"):
        await outputs("RUN_STATE_COMPLETED", {**step, "output": {"json": "{}"}})
    with pytest.raises(drover.RunNotCompletedError, match=r"ended as FAILED: It failed\."):
        await outputs("RUN_STATE_FAILED", step)


def test_pydantic_is_not_imported_for_others() -> None:
    program = (
        "import sys, dataclasses, drover_sdk as drover\n"
        "from drover_sdk.testing import run_handler\n"
        "@dataclasses.dataclass\n"
        "class A: n: int\n"
        "def h(task: drover.Task, a: A) -> A: return a\n"
        "assert run_handler(h, input={'n': 1}).output == {'n': 1}\n"
        "print('pydantic' in sys.modules)\n"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout
    assert printed == "False\n"


def test_times_enums_and_models_within_lists_have_a_json_form() -> None:
    at = datetime(2026, 1, 2, tzinfo=timezone.utc)
    payload = json_payload([at, Cabin.FIRST, {"who": Person(name="Ada")}])
    assert json.loads(payload.json) == [
        "2026-01-02T00:00:00Z",
        "first",
        {"who": {"name": "Ada", "homeTown": ""}},
    ]
