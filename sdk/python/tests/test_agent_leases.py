"""Heartbeats, cancels and the end of leases, on a clock that only the test moves."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_script import ANSWERED, CARRY_ON, Agents, Gate, a_task, carry_on_all, until
from fake_server import FakeServer, status
from manual_clock import ManualClock

import drover_sdk as drover
from drover_sdk.durations import to_duration
from drover_sdk.payloads import json_payload
from drover_sdk.tasks import Task
from drover_sdk.v1.agent_service_pb2 import HeartbeatAnswer, HeartbeatReport

CANCEL = HeartbeatAnswer(cancel=HeartbeatAnswer.Cancel(within=to_duration(2)))
LOST = HeartbeatAnswer(lease_lost=HeartbeatAnswer.LeaseLost())


class Running:
    """One task that a handler holds while it waits."""

    def __init__(self, clock: ManualClock, task: Task, gate: Gate) -> None:
        self.clock = clock
        self.task = task
        self.end = gate.end

    async def renewed(self, left: float = 9.0) -> None:
        """The renewal has been read when the lease is long again."""
        await until(lambda: abs(self.task.left() - left) < 1e-6)

    async def noted(self) -> None:
        """What the handler reported has reached the runtime."""
        await asyncio.sleep(0)
        await asyncio.sleep(0)


async def a_running_task(
    server: FakeServer, agents: Agents, waited: float = 0.0, **given: Any
) -> Running:
    clock, gate = ManualClock(), Gate()
    agents(server, {"book-flight": gate}, slots=1, clock=clock)
    poll = await server.poll.next()
    clock.advance(waited)
    poll.answer(tasks=[a_task("t1", **given)], waited=to_duration(waited))
    return Running(clock, await gate.started(), gate)


def bare(report: HeartbeatReport) -> bool:
    return not report.HasField("progress") and not report.HasField("details")


async def test_heartbeats_go_out_by_themselves_and_never_move_progress(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents)
    for _ in range(5):
        running.clock.advance(3)
        heartbeat = await server.heartbeat.next()
        (report,) = heartbeat.request.reports
        assert report.task_token == "t1"
        assert bare(report)
        heartbeat.answer(answers=[CARRY_ON])
        await running.renewed()
    assert running.task.stopped is None


async def test_progress_and_details_go_out_once_with_the_next_heartbeat(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents)
    running.task.progress(fraction=0.25)
    running.task.progress(fraction=0.5)
    running.task.details({"page": 7})
    await running.noted()
    running.clock.advance(0)
    heartbeat = await server.heartbeat.next()
    (report,) = heartbeat.request.reports
    assert report.progress.fraction == 0.5
    assert report.details == json_payload({"page": 7})
    heartbeat.answer(answers=[CARRY_ON])
    await running.renewed()
    running.clock.advance(3)
    assert bare((await server.heartbeat.next()).request.reports[0])


async def test_details_that_no_heartbeat_has_carried_go_out_before_what_ended_without_success(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents)
    running.task.details({"page": 7})
    running.end(drover.again("1s"))
    heartbeat = await server.heartbeat.next()
    assert heartbeat.request.reports[0].details == json_payload({"page": 7})
    heartbeat.answer(answers=[CARRY_ON])
    report = await server.complete.next()
    assert report.request.results[0].outcome.WhichOneof("kind") == "again"


async def test_details_that_cannot_be_sent_do_not_delay_the_report_for_ever(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents)
    running.task.details({"page": 7})
    running.end(drover.again("1s"))
    (await server.heartbeat.next()).fail(14, "STORE_UNAVAILABLE")
    report = await server.complete.next()
    assert report.request.results[0].outcome.WhichOneof("kind") == "again"


async def test_newer_details_wait_for_the_heartbeat_that_carries_older_ones(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents)
    running.task.details({"page": 7})
    await running.noted()
    running.clock.advance(0)
    older = await server.heartbeat.next()
    running.task.details({"page": 8})
    running.end(drover.again("1s"))
    older.answer(answers=[CARRY_ON])
    newer = await server.heartbeat.next()
    assert newer.request.reports[0].details == json_payload({"page": 8})
    newer.answer(answers=[CARRY_ON])
    assert len((await server.complete.next()).request.results) == 1


async def test_progress_of_a_heartbeat_that_was_not_answered_is_sent_again(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents)
    running.task.progress(counter=3)
    await running.noted()
    running.clock.advance(1)
    (await server.heartbeat.next()).fail(14, "STORE_UNAVAILABLE")
    await running.clock.armed(0.5)
    running.clock.advance(0.5)
    assert (await server.heartbeat.next()).request.reports[0].progress.counter == 3


async def test_details_that_are_refused_are_dropped_and_the_heartbeat_is_repeated_without_them(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents)
    running.task.details("much too much")
    await running.noted()
    running.clock.advance(1)
    refused = HeartbeatAnswer(error=status(3, "PAYLOAD_TOO_LARGE"))
    (await server.heartbeat.next()).answer(answers=[refused])
    await running.clock.armed(0.5)
    running.clock.advance(0.5)
    assert bare((await server.heartbeat.next()).request.reports[0])


async def test_a_cancel_reaches_the_handler_and_is_reported_as_cancelled(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents)
    running.clock.advance(3)
    (await server.heartbeat.next()).answer(answers=[CANCEL])
    report = await server.complete.next()
    assert running.task.stopped == "cancelled"
    assert running.task.stopping.is_set()
    assert report.request.results[0].outcome.WhichOneof("kind") == "cancelled"


async def test_a_handler_in_a_thread_sees_a_cancel_by_its_event(
    server: FakeServer, agents: Agents
) -> None:
    clock = ManualClock()
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def perform(task: Task) -> Any:
        loop.call_soon_threadsafe(started.set)
        assert task.stopping.wait(20)
        task.raise_if_stopped()

    agents(server, {"book-flight": perform}, clock=clock)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    await asyncio.wait_for(started.wait(), 20)
    clock.advance(3)
    (await server.heartbeat.next()).answer(answers=[CANCEL])
    report = await server.complete.next()
    assert report.request.results[0].outcome.WhichOneof("kind") == "cancelled"


async def test_a_handler_that_is_cancelled_and_ends_well_is_reported_as_success(
    server: FakeServer, agents: Agents
) -> None:
    clock = ManualClock()
    started = asyncio.Event()

    async def perform(task: Task) -> Any:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done after all"

    agents(server, {"book-flight": perform}, clock=clock)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    await asyncio.wait_for(started.wait(), 20)
    clock.advance(3)
    (await server.heartbeat.next()).answer(answers=[CANCEL])
    report = await server.complete.next()
    assert report.request.results[0].outcome.WhichOneof("kind") == "success"


async def test_a_lost_lease_stops_the_handler_and_is_still_reported_as_evidence(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents)
    running.clock.advance(3)
    (await server.heartbeat.next()).answer(answers=[LOST])
    report = await server.complete.next()
    assert report.request.results[0].outcome.unknown.code == "lease-lost"


async def test_a_lease_that_no_heartbeat_renews_ends_by_the_agents_own_clock(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents)
    running.clock.advance(8.999)
    assert running.task.stopped is None
    running.clock.advance(0.001)
    assert running.task.stopped == "lease-ended"
    report = await server.complete.next()
    assert report.request.results[0].outcome.unknown.code == "lease-ended"


async def test_a_lease_counts_from_the_sending_of_the_poll_plus_what_the_server_waited(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents, waited=20)
    assert running.task.left() == 9
    running.clock.advance(8.999)
    assert running.task.stopped is None


async def test_a_server_that_claims_to_have_waited_longer_than_the_call_is_not_believed(
    server: FakeServer, agents: Agents
) -> None:
    clock, gate = ManualClock(), Gate()
    agents(server, {"book-flight": gate}, clock=clock)
    (await server.poll.next()).answer(tasks=[a_task("t1")], waited=to_duration(60))
    assert (await gate.started()).left() == 9
    gate.end()


async def test_a_renewal_counts_from_the_sending_of_the_heartbeat(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents)
    running.clock.advance(3)
    heartbeat = await server.heartbeat.next()
    running.clock.advance(2)
    heartbeat.answer(answers=[CARRY_ON])
    await running.renewed(7)


async def test_a_heartbeat_that_is_not_answered_does_not_hold_up_the_next(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents)
    running.clock.advance(3)
    await server.heartbeat.next()
    running.clock.advance(3)
    (await server.heartbeat.next()).answer(answers=[CARRY_ON])
    await running.renewed()


async def test_the_time_of_the_attempt_ends_it_whatever_the_heartbeats_say(
    server: FakeServer, agents: Agents
) -> None:
    server.heartbeat.always(carry_on_all)
    running = await a_running_task(server, agents, attempt_for=to_duration(5))
    running.clock.advance(5)
    assert running.task.stopped == "attempt-over"
    report = await server.complete.next()
    assert report.request.results[0].outcome.unknown.code == "attempt-over"


async def test_a_task_is_listed_in_heartbeats_until_its_report_is_answered(
    server: FakeServer, agents: Agents
) -> None:
    running = await a_running_task(server, agents)
    running.end("done")
    report = await server.complete.next()
    running.clock.advance(3)
    heartbeat = await server.heartbeat.next()
    assert [one.task_token for one in heartbeat.request.reports] == ["t1"]
    heartbeat.answer(answers=[CARRY_ON])
    report.answer(**ANSWERED, tasks=[a_task("t2")])
    # t2 has come with the answer to t1, which is out of hand from then on.
    await server.complete.next()
    running.clock.advance(3)
    later = await server.heartbeat.next()
    assert [one.task_token for one in later.request.reports] == ["t2"]
