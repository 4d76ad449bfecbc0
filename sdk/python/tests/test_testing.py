"""A handler runs without a server, and a test can read what it reports."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import drover_sdk as drover
from drover_sdk.tasks import Task
from drover_sdk.testing import run_handler, start_handler


def book_flight(task: Task) -> Any:
    task.progress(fraction=0.5)
    task.details({"asked": task.input["to"]})
    if task.attempt < 2:
        raise drover.TransientError("busy", "All lines are busy.", retry_after="2s")
    return {"booking": f"flight-to-{task.input['to']}", "resumed": task.last_details}


def test_a_handler_returns_what_is_reported() -> None:
    details = {"asked": "Lisbon"}
    outcome = run_handler(book_flight, input={"to": "Lisbon"}, attempt=2, last_details=details)
    assert outcome.kind == "success"
    assert outcome.output == {"booking": "flight-to-Lisbon", "resumed": details}
    assert (outcome.progress, outcome.details) == ((0.5,), (details,))


def test_a_handler_raises_what_is_reported() -> None:
    outcome = run_handler(book_flight, input={"to": "Lisbon"})
    assert (outcome.kind, outcome.code, outcome.transient) == ("failed", "busy", True)
    assert (outcome.message, outcome.retry_after) == ("All lines are busy.", 2)


def test_a_verify_answers() -> None:
    outcome = run_handler(lambda task: drover.did_not_happen(), kind="verify")
    assert (outcome.kind, outcome.no_effect) == ("failed", True)
    assert run_handler(lambda task: drover.again("3s")).after == 3


async def wait_async(task: Task) -> Any:
    await asyncio.Event().wait()


def wait(task: Task) -> Any:
    task.stopping.wait()
    task.raise_if_stopped()


@pytest.mark.parametrize("handler", [wait, wait_async])
def test_a_handler_that_waits_is_stopped(handler: Any) -> None:
    running = start_handler(handler)
    running.stop("cancelled")
    assert running.outcome().kind == "cancelled"
    other = start_handler(handler)
    other.stop("attempt-over")
    assert (other.outcome().kind, other.outcome().code) == ("unknown", "attempt-over")


async def test_within_asyncio_its_end_is_awaited() -> None:
    assert (await start_handler(book_flight, input={"to": "Rome"}).ended()).code == "busy"


def test_log_lines_name_run_step_and_attempt(caplog: pytest.LogCaptureFixture) -> None:
    def perform(task: Task) -> Any:
        task.log.info("booked seat %s", "12A", extra={"seat": "12A"})

    with caplog.at_level(logging.INFO, "drover"):
        run_handler(perform, run_id="r-1", step_id="flight", item=3, attempt=2)
    (record,) = caplog.records
    assert record.getMessage() == "booked seat 12A (run=r-1 step=flight[3] attempt=2)"
    fields = vars(record)
    assert (fields["run"], fields["step"], fields["item"]) == ("r-1", "flight", 3)
    assert (fields["attempt"], fields["agent"], fields["seat"]) == (2, "tester", "12A")


def test_an_output_that_cannot_be_sent_is_the_failure_that_the_server_makes_of_it() -> None:
    outcome = run_handler(lambda task: object())
    assert (outcome.kind, outcome.code, outcome.transient) == ("failed", "drover.output", False)
    assert outcome.message.startswith("The handler's result cannot be sent: TypeError")
