"""Finished work is retained: the refusal of a whole Complete proves nothing about its results."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_script import ANSWERED, Agents, Gate, a_task, until
from fake_server import FakeServer
from manual_clock import ManualClock

from drover_sdk.durations import to_duration
from drover_sdk.tasks import Task

INVALID_ARGUMENT = 3
NOT_FOUND = 5
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
UNIMPLEMENTED = 12
UNAUTHENTICATED = 16

CALM: dict[str, Any] = {
    "lease_for": to_duration(60),
    "attempt_for": to_duration(90),
    "heartbeat_interval": to_duration(60),
}


def book(task: Task) -> Any:
    return None


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (UNAUTHENTICATED, "TOKEN_REQUIRED"),
        (PERMISSION_DENIED, "NOT_ALLOWED"),
        (PERMISSION_DENIED, ""),
        (UNIMPLEMENTED, ""),
        (RESOURCE_EXHAUSTED, ""),
        (NOT_FOUND, "NAMESPACE_NOT_FOUND"),
        (INVALID_ARGUMENT, ""),
        (INVALID_ARGUMENT, "MALFORMED_MESSAGE"),
    ],
)
async def test_a_success_is_repeated_as_it_is_after_a_complete_that_was_refused_as_a_call(
    server: FakeServer, agents: Agents, code: int, reason: str
) -> None:
    agents(server, {"book-flight": lambda task: {"seat": "12A"}}, slots=1)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    first = refused = await server.complete.next()
    for _ in range(3):
        refused.fail(code, reason)
        refused = await server.complete.next()
        assert refused.request.results == first.request.results
    refused.answer(**ANSWERED)
    await server.poll.next()


async def test_a_report_of_a_refused_call_is_given_up_when_the_lease_of_its_task_has_ended(
    server: FakeServer, agents: Agents
) -> None:
    clock = ManualClock()
    agents(server, {"book-flight": book}, clock=clock, slots=1)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    first = await server.complete.next()
    clock.advance(8.999)
    first.fail(UNAUTHENTICATED, "TOKEN_REQUIRED")
    poll = await server.poll.next()
    await clock.armed(0.1)
    clock.advance(0.1)
    last = await server.complete.next()
    assert last.request.results == first.request.results
    last.fail(UNAUTHENTICATED, "TOKEN_REQUIRED")
    poll.answer(tasks=[a_task("t2")])
    await clock.armed(0.2)
    clock.advance(0.2)
    following = await server.complete.next()
    assert [one.task_token for one in following.request.results] == ["t2"]


async def test_reports_of_a_refused_call_are_repeated_alone(
    server: FakeServer, agents: Agents
) -> None:
    clock, gate = ManualClock(), Gate()

    async def perform(task: Task) -> Any:
        return None if task.step_id == "t0" else await gate(task)

    agents(server, {"book-flight": perform}, clock=clock, slots=3)
    (await server.poll.next()).answer(tasks=[a_task("t0"), a_task("t1"), a_task("t2")])
    first = await server.complete.next()
    await gate.started()
    gate.end()
    await until(lambda: len(agents.first._reports._queue) == 2)
    first.answer(**ANSWERED)
    both = await server.complete.next()
    assert len(both.request.results) == 2
    both.fail(RESOURCE_EXHAUSTED)
    await clock.armed(0.1)
    clock.advance(0.1)
    alone = await server.complete.next()
    assert [one.task_token for one in alone.request.results] == ["t1"]
    other = await server.complete.next()
    assert [one.task_token for one in other.request.results] == ["t2"]


async def test_an_agent_that_stops_retains_its_reports_as_long_as_their_leases_last(
    server: FakeServer, agents: Agents
) -> None:
    clock = ManualClock()
    agent = agents(server, {"book-flight": book}, clock=clock, slots=1)
    (await server.poll.next()).answer(tasks=[a_task("t1", **CALM)])
    first = refused = await server.complete.next()
    agent.stop()
    # By then it waits for its last reports alone.
    await until(lambda: agent._reports._flushed)
    for wait in [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0]:
        refused.fail(UNAUTHENTICATED, "TOKEN_REQUIRED")
        await clock.armed(wait)
        clock.advance(wait)
        refused = await server.complete.next()
        assert refused.request.results == first.request.results
        assert not agent.done.done()
    refused.answer(**ANSWERED)
    await agent.done


async def test_an_agent_that_stops_gives_its_reports_up_when_their_leases_have_ended(
    server: FakeServer, agents: Agents
) -> None:
    clock = ManualClock()
    agent = agents(server, {"book-flight": book}, clock=clock, slots=1)
    (await server.poll.next()).answer(tasks=[a_task("t1", **CALM)])
    await server.complete.next()
    started = clock.monotonic()
    agent.stop()
    await until(lambda: agent._reports._flushed)
    while not agent.done.done():
        # The end of its connection takes real time, which no clock of the test moves.
        await asyncio.sleep(0)
        if clock.monotonic() - started < 60:
            clock.advance(0.5)
    assert clock.monotonic() - started >= 60


async def test_a_poll_that_rode_on_a_report_which_found_the_queue_full_is_named_as_lost(
    server: FakeServer, agents: Agents
) -> None:
    agents(server, {"book-flight": book}, slots=1)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    report = await server.complete.next()
    assert report.request.next.poll_seq == 2
    report.fail(RESOURCE_EXHAUSTED, "OVERLOADED", 0.001)
    poll = await server.poll.next()
    assert (poll.request.poll_seq, list(poll.request.lost_polls)) == (3, [2])


async def test_a_poll_whose_answer_the_clients_own_library_refuses_is_named_as_lost(
    server: FakeServer, agents: Agents
) -> None:
    clock = ManualClock()
    agents(server, {"book-flight": book}, clock=clock)
    # As gRPC reports an answer over its receive limit: without an error of the server.
    (await server.poll.next()).fail(RESOURCE_EXHAUSTED)
    await clock.armed(1)
    clock.advance(1)
    assert list((await server.poll.next()).request.lost_polls) == [1]
