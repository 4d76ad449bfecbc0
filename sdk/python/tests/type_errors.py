"""What type checkers must refuse, and accept, of programs that use TaskType and WorkflowType.

mypy and pyright read this file and nothing runs it. Each wrong line is ignored by a comment, and
both report a comment that ignores nothing: so a type that is lost is found.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=error

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from pydantic import BaseModel

import drover_sdk as drover
from drover_sdk import sync
from drover_sdk.workflow import Compensate, Step, Workflow


@dataclass
class Trip:
    to: str


@dataclass
class Booking:
    booking: str


class Mail(BaseModel):
    text: str


class Booked(TypedDict):
    flight: Booking


book_flight = drover.TaskType("book-flight", Trip, Booking)
cancel_flight = drover.TaskType("cancel-flight", Trip)
send_mail = drover.TaskType("send-mail", Mail)
holiday = drover.WorkflowType("holiday", Trip, Booked)
agent = drover.Agent("127.0.0.1:7420", id="types")


@agent.task(book_flight)
def book(task: drover.Task, trip: Trip) -> Booking:
    return Booking(f"to {trip.to}")


@agent.task(book_flight)
async def book_or_wait(task: drover.Task, trip: Trip) -> Booking | drover.Answer:
    return drover.again("1s") if task.attempt == 1 else Booking(trip.to)


@agent.task(cancel_flight)
def cancel(task: drover.Task, trip: Trip) -> None: ...


@agent.task("greet")
def by_annotation(task: drover.Task, trip: Trip) -> Booking:
    return book(task, trip) if task.attempt == 1 else Booking("none")  # type: ignore[return-value]


@agent.task("untyped")
def untyped(task: drover.Task) -> object:
    return task.input["to"]


@agent.task(book_flight)  # type: ignore[arg-type]
def wrong_input(task: drover.Task, trip: Mail) -> Booking:
    return Booking(trip.text)


@agent.task(book_flight)  # type: ignore[arg-type]
def wrong_output(task: drover.Task, trip: Trip) -> Trip:
    return trip


@agent.task(book_flight)  # type: ignore[arg-type]
async def wrong_output_later(task: drover.Task, trip: Trip) -> Trip:
    return trip


steps = Workflow(
    holiday,
    [
        Step("plain", task="anything", input={"to": "${input.to}"}),
        Step("flight", task=book_flight, input=Trip("${input.to}"), compensate=cancel_flight),
        Step("again", task=book_flight, compensate=Compensate(cancel_flight)),
        Step("wrong", task=book_flight, input=Mail(text="")),  # type: ignore[misc]
        Step("undo", task=book_flight, compensate=send_mail),  # type: ignore[misc]
    ],
)


async def call(client: drover.Client) -> str:
    run_id = (await client.schedule(holiday, input=Trip("Lisbon"), priority=1)).run_id
    await client.schedule("holiday", input={"to": "Lisbon"})
    await client.schedule(steps)
    await client.schedule(holiday, input=Mail(text=""))  # type: ignore[misc]
    await client.schedule(holiday, input={"to": "Lisbon"})  # type: ignore[misc]
    booked = await client.wait_outputs(holiday, run_id)
    booked["hotel"]  # type: ignore[typeddict-item]
    return booked["flight"].booking


def call_without_asyncio(client: sync.Client) -> str:
    run_id = client.schedule(holiday, input=Trip("Lisbon")).run_id
    client.schedule(holiday, input=Mail(text=""))  # type: ignore[misc]
    number: int = client.wait_outputs(holiday, run_id)["flight"].booking  # type: ignore[assignment]
    return str(number)
