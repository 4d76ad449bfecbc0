"""Handlers that ignore that they are to stop: what the server learns of it, what the agent does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from agent_script import ANSWERED, CARRY_ON, Agents, a_task, until
from fake_server import SECONDS_MOST, FakeServer
from manual_clock import ManualClock

import drover_sdk as drover
from drover_sdk.durations import to_duration
from drover_sdk.runtime import Runtime
from drover_sdk.tasks import Task
from drover_sdk.v1.agent_service_pb2 import HeartbeatAnswer

CANCEL = HeartbeatAnswer(cancel=HeartbeatAnswer.Cancel(within=to_duration(20)))
GRACE = 4.0
Ends = dict[str, "asyncio.Future[Any]"]


@dataclass
class Beside:
    """t1 ignores that it is cancelled, t2 works; both end when the test decides it."""

    agent: Runtime
    clock: ManualClock


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    """Of handlers by step, none of which runs for longer than the test."""
    given: Ends = {}
    yield given
    for end in given.values():
        if not end.done():
            end.set_result(None)


async def lost(server: FakeServer, agents: Agents, ends: Ends) -> Beside:
    """t1 has ignored its stop for too long: the agent drains."""
    clock = ManualClock()

    async def perform(task: Task) -> Any:
        end = ends[task.step_id] = asyncio.get_running_loop().create_future()
        while not end.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([end])
        if end.exception() is not None:
            task.details({"page": 4})
        return end.result()

    def answer(heartbeat: Any) -> None:
        tokens = [one.task_token for one in heartbeat.request.reports]
        heartbeat.answer(answers=[CANCEL if token == "t1" else CARRY_ON for token in tokens])

    agent = agents(server, {"book-flight": perform}, clock=clock, grace=60.0, cancel_grace=GRACE)
    (await server.poll.next()).answer(tasks=[a_task("t1"), a_task("t2")])
    parked = await server.poll.next()
    await until(lambda: len(ends) == 2)
    server.heartbeat.always(answer)
    clock.advance(3)
    await until(lambda: bool(agent._timers))
    clock.advance(GRACE)
    await asyncio.wait_for(parked.cancelled.wait(), SECONDS_MOST)
    await until(lambda: agent._idle is not None)
    return Beside(agent, clock)


async def next_report(server: FakeServer, beside: Beside) -> Any:
    """The one report of the next call, which is accepted."""
    call = asyncio.ensure_future(server.complete.next())
    while not call.done():
        beside.clock.advance(0.002)
        await asyncio.sleep(0)
    taken = await call
    taken.answer(**ANSWERED)
    (result,) = taken.request.results
    return result


async def test_a_handler_that_ignores_its_stop_ends_the_agent_and_is_reported_once_no_other_runs(
    server: FakeServer, agents: Agents, ends: Ends
) -> None:
    beside = await lost(server, agents, ends)
    assert len(beside.agent._running) == 2
    ends["t2"].set_result("done")
    assert (await next_report(server, beside)).task_token == "t2"
    report = await next_report(server, beside)
    assert (report.task_token, report.outcome.unknown.code) == ("t1", "handler-lost")
    await asyncio.wait_for(beside.agent.done, SECONDS_MOST)
    assert beside.agent.failed


@pytest.mark.parametrize("well", [True, False])
async def test_a_lost_handler_that_ends_before_its_agent_is_reported_as_it_ended(
    server: FakeServer, agents: Agents, ends: Ends, well: bool
) -> None:
    beside = await lost(server, agents, ends)
    if well:
        ends["t1"].set_result("done")
    else:
        ends["t1"].set_exception(drover.PermanentError("no-room", "fully booked"))
    report = await next_report(server, beside)
    assert report.task_token == "t1"
    assert report.outcome.WhichOneof("kind") == ("success" if well else "failed")
    ends["t2"].set_result("done")
    assert (await next_report(server, beside)).task_token == "t2"
    await asyncio.wait_for(beside.agent.done, SECONDS_MOST)
    assert beside.agent.failed, "it has stopped by itself, and another should be started"


async def test_a_lost_handler_whose_end_is_on_its_way_is_reported_once(
    server: FakeServer, agents: Agents, ends: Ends
) -> None:
    beside = await lost(server, agents, ends)
    # Its details go out before its report, and no heartbeat is answered meanwhile.
    server.heartbeat.always(lambda heartbeat: None)
    held = next(one for one in beside.agent._running if one.task.task_token == "t1")
    ends["t1"].set_exception(drover.PermanentError("no-room", "fully booked"))
    await until(lambda: held in beside.agent._ending)
    ends["t2"].set_result("done")
    tokens = [(await next_report(server, beside)).task_token for _ in range(2)]
    assert sorted(tokens) == ["t1", "t2"]
    await asyncio.wait_for(beside.agent.done, SECONDS_MOST)


async def test_a_handler_that_has_ended_is_not_waited_for_again_when_another_cancel_comes(
    server: FakeServer, agents: Agents
) -> None:
    clock = ManualClock()
    started = asyncio.Event()

    async def perform(task: Task) -> Any:
        started.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            task.details({"page": 7})
            raise drover.TransientError("busy", "All lines are busy.") from None

    agent = agents(server, {"book-flight": perform}, clock=clock, cancel_grace=GRACE, slots=1)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    await asyncio.wait_for(started.wait(), SECONDS_MOST)
    clock.advance(3)
    (await server.heartbeat.next()).answer(answers=[CANCEL])
    # It has ended, and its details go out before its report: the answer cancels it once more.
    details = await server.heartbeat.next()
    assert details.request.reports[0].HasField("details")
    details.answer(answers=[CANCEL])
    report = await server.complete.next()
    assert report.request.results[0].outcome.failed.code == "busy"
    report.answer(**ANSWERED)
    await until(lambda: not agent._held)
    clock.advance(GRACE)
    assert not agent._timers
    assert not agent.failed
