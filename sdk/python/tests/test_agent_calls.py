"""Calls that go wrong: polls that are lost, reports that are repeated, a server that comes back."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_script import ANSWERED, CARRY_ON, Agents, Gate, a_task, until
from fake_server import FakeServer, status
from manual_clock import ManualClock

from drover_sdk.tasks import Task
from drover_sdk.v1.agent_service_pb2 import CompleteAnswer

UNAVAILABLE = 14
INVALID_ARGUMENT = 3
FAILED_PRECONDITION = 9
RESOURCE_EXHAUSTED = 8


def book(task: Task) -> Any:
    return None


async def test_a_lost_poll_is_named_in_each_later_poll_until_30_s_after_the_end_of_its_wait(
    server: FakeServer, agents: Agents
) -> None:
    clock = ManualClock()
    agents(server, {"book-flight": book}, clock=clock, poll_wait=20.0)
    (await server.poll.next()).fail(UNAVAILABLE)
    await clock.armed(1)
    clock.advance(1)
    second = await server.poll.next()
    assert (second.request.poll_seq, list(second.request.lost_polls)) == (2, [1])
    clock.advance(20)
    second.answer()
    third = await server.poll.next()
    assert (third.request.poll_seq, list(third.request.lost_polls)) == (3, [1])
    clock.advance(28.999)
    third.answer()
    fourth = await server.poll.next()
    assert list(fourth.request.lost_polls) == [1]
    clock.advance(1)
    fourth.answer()
    assert list((await server.poll.next()).request.lost_polls) == []


async def test_a_lost_poll_is_named_in_heartbeats_too(server: FakeServer, agents: Agents) -> None:
    clock, gate = ManualClock(), Gate()
    agents(server, {"book-flight": gate}, clock=clock, slots=1)
    (await server.poll.next()).fail(UNAVAILABLE)
    await clock.armed(1)
    clock.advance(1)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    await gate.started()
    clock.advance(3)
    assert list((await server.heartbeat.next()).request.lost_polls) == [1]
    gate.end()


async def test_a_heartbeat_lists_all_that_the_polls_before_the_one_under_way_have_brought(
    server: FakeServer, agents: Agents
) -> None:
    clock, gate = ManualClock(), Gate()
    started: list[str] = []

    async def perform(task: Task) -> Any:
        started.append(task.step_id)
        return await gate(task)

    agents(server, {"book-flight": perform}, clock=clock, slots=2)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    second = await server.poll.next()
    await gate.started()
    clock.advance(3)
    heartbeat = await server.heartbeat.next()
    assert heartbeat.request.lists_all_to == 1
    assert [one.task_token for one in heartbeat.request.reports] == ["t1"]
    heartbeat.answer(answers=[CARRY_ON])
    second.answer(tasks=[a_task("t2")])
    await until(lambda: len(started) == 2)
    clock.advance(3)
    later = (await server.heartbeat.next()).request
    assert later.lists_all_to == 2
    assert [one.task_token for one in later.reports] == ["t1", "t2"]
    gate.end()


async def test_a_poll_that_the_server_itself_refused_is_not_named_as_lost(
    server: FakeServer, agents: Agents
) -> None:
    clock = ManualClock()
    agents(server, {"book-flight": book}, clock=clock)
    (await server.poll.next()).fail(5, "NAMESPACE_NOT_FOUND")
    await clock.armed(1)
    clock.advance(1)
    assert list((await server.poll.next()).request.lost_polls) == []


async def test_a_busy_server_is_asked_again_after_the_time_that_it_names(
    server: FakeServer, agents: Agents
) -> None:
    clock = ManualClock()
    agents(server, {"book-flight": book}, clock=clock)
    (await server.poll.next()).fail(RESOURCE_EXHAUSTED, "OVERLOADED", 4)
    await clock.armed(4)
    clock.advance(4)
    request = (await server.poll.next()).request
    assert (request.poll_seq, list(request.lost_polls)) == (2, [])


async def test_a_report_is_repeated_with_the_very_same_outcome_until_it_is_answered(
    server: FakeServer, agents: Agents
) -> None:
    agents(server, {"book-flight": lambda task: {"seat": "12A"}}, slots=1)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    first = await server.complete.next()
    first.fail(UNAVAILABLE, "STORE_UNAVAILABLE")
    second = await server.complete.next()
    assert second.request.results == first.request.results
    second.fail(UNAVAILABLE)
    third = await server.complete.next()
    assert third.request.results == first.request.results
    third.answer(answers=[CompleteAnswer(repeated=True)])
    await server.poll.next()


async def test_the_poll_that_rode_on_an_unanswered_report_is_lost(
    server: FakeServer, agents: Agents
) -> None:
    clock = ManualClock()
    agents(server, {"book-flight": book}, clock=clock, slots=1)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    first = await server.complete.next()
    assert first.request.next.poll_seq == 2
    first.fail(UNAVAILABLE)
    poll = await server.poll.next()
    assert (poll.request.poll_seq, list(poll.request.lost_polls)) == (3, [2])
    poll.answer()


async def test_a_report_that_comes_too_late_or_is_over_is_dropped(
    server: FakeServer, agents: Agents
) -> None:
    agents(server, {"book-flight": book}, slots=2)
    (await server.poll.next()).answer(tasks=[a_task("t1"), a_task("t2")])

    def refuse(call: Any) -> None:
        reasons = {"t1": "LEASE_LOST", "t2": "TASK_OVER"}
        statuses = [
            status(FAILED_PRECONDITION, reasons[one.task_token]) for one in call.request.results
        ]
        call.answer(answers=[CompleteAnswer(status=one) for one in statuses])

    server.complete.always(refuse)
    assert (await server.poll.next()).request.max_tasks > 0


async def test_an_output_that_the_server_refuses_is_a_success_whose_output_is_lost(
    server: FakeServer, agents: Agents
) -> None:
    agents(server, {"book-flight": lambda task: "far too long"}, slots=1)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    refused = status(INVALID_ARGUMENT, "PAYLOAD_TOO_LARGE", field="results[0].outcome")
    refusal = CompleteAnswer(status=refused)
    (await server.complete.next()).answer(answers=[refusal])
    (result,) = (await server.complete.next()).request.results
    problem = "The output was refused: it is what the script refuses"
    assert (result.task_token, result.outcome.success.output_problem) == ("t1", problem)


async def test_a_alone_report_goes_out_at_once_and_what_ends_meanwhile_with_the_next_call(
    server: FakeServer, agents: Agents
) -> None:
    clock, gate = ManualClock(), Gate()

    async def perform(task: Task) -> Any:
        return None if task.step_id == "t0" else await gate(task)

    agents(server, {"book-flight": perform}, clock=clock, slots=100)
    tokens = [f"t{index}" for index in range(40)]
    (await server.poll.next()).answer(tasks=[a_task(token) for token in tokens])
    alone = await server.complete.next()
    assert [one.task_token for one in alone.request.results] == ["t0"]
    gate.end()
    await until(lambda: len(agents.first._reports._queue) == 39)
    alone.answer(**ANSWERED)
    gathered = await server.complete.next()
    assert [one.task_token for one in gathered.request.results] == tokens[1:]
    gathered.answer(answers=[CompleteAnswer() for _ in tokens[1:]])


async def test_a_call_that_is_not_answered_for_250_ms_holds_up_no_other(
    server: FakeServer, agents: Agents
) -> None:
    clock, gate = ManualClock(), Gate()

    async def perform(task: Task) -> Any:
        return None if task.step_id == "t0" else await gate(task)

    agents(server, {"book-flight": perform}, clock=clock, slots=2)
    (await server.poll.next()).answer(tasks=[a_task("t0"), a_task("t1")])
    await server.complete.next()
    gate.end()
    await clock.armed(0.25)
    clock.advance(0.25)
    following = await server.complete.next()
    assert [one.task_token for one in following.request.results] == ["t1"]


async def test_an_idle_agent_has_one_poll_and_a_busy_one_another_that_its_reports_carry(
    server: FakeServer, agents: Agents
) -> None:
    gate = Gate()

    async def perform(task: Task) -> Any:
        return None if task.step_id == "t1" else await gate(task)

    agents(server, {"book-flight": perform}, slots=10)
    idle = await server.poll.next()
    assert idle.request.max_tasks == 10
    idle.answer(tasks=[a_task("t1"), a_task("t2")])
    own, report = await server.poll.next(), await server.complete.next()
    assert (own.request.max_tasks, report.request.next.max_tasks) == (8, 1)
    # The one is answered, and the other waits.
    report.answer(tasks=[a_task("t3")], **ANSWERED)
    own.answer(tasks=[a_task("t4")])
    assert (await server.poll.next()).request.max_tasks == 7
    gate.end()


async def test_the_long_poll_has_one_of_several_slots_that_reports_make_free(
    server: FakeServer, agents: Agents
) -> None:
    gate = Gate()

    async def perform(task: Task) -> Any:
        return None if task.step_id == "t0" else await gate(task)

    agents(server, {"book-flight": perform}, slots=4)
    tokens = ["t0", "t1", "t2", "t3"]
    (await server.poll.next()).answer(tasks=[a_task(token) for token in tokens])
    first = await server.complete.next()
    # A single one is for the poll that the reports carry.
    assert first.request.next.max_tasks == 1
    gate.end()
    own = await server.poll.next()
    await until(lambda: len(agents.first._reports._queue) == 3)
    first.answer(**ANSWERED)
    report = await server.complete.next()
    assert len(report.request.results) == 3
    assert own.request.max_tasks + report.request.next.max_tasks == 4
    report.answer(answers=[CompleteAnswer() for _ in range(3)])


async def test_polls_under_way_never_ask_for_more_tasks_together_than_there_are_free_slots(
    server: FakeServer, agents: Agents
) -> None:
    slots = 4
    asked = taken = most = given = 0

    async def perform(task: Task) -> Any:
        nonlocal taken
        for _ in range(int(task.step_id) % 4):
            await asyncio.sleep(0)
        taken -= 1

    async def answer(call: Any, wanted: int, **fields: Any) -> None:
        """Some tasks, a few turns after the poll came."""
        nonlocal asked, taken, most, given
        asked += wanted
        most = max(most, asked + taken)
        for _ in range(given % 3):
            await asyncio.sleep(0)
        count = min(wanted, 1 + given % 3)
        asked -= wanted
        taken += count
        tasks = [a_task(str(number)) for number in range(given, given + count)]
        given += count
        call.answer(tasks=tasks, **fields)

    answering: set[asyncio.Task[None]] = set()

    def answer_soon(call: Any, wanted: int, **fields: Any) -> None:
        answering.add(asyncio.ensure_future(answer(call, wanted, **fields)))

    def accept(call: Any) -> None:
        answers = [CompleteAnswer() for _ in call.request.results]
        answer_soon(call, call.request.next.max_tasks, answers=answers)

    server.poll.always(lambda call: answer_soon(call, call.request.max_tasks))
    server.complete.always(accept)
    agents(server, {"book-flight": perform}, slots=slots)
    await until(lambda: given > 300)
    assert most == slots


async def test_one_report_that_spoils_a_whole_call_is_found_by_sending_each_alone(
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
    both.fail(INVALID_ARGUMENT, "INVALID_REQUEST", field="results[1].outcome")
    assert len((await server.complete.next()).request.results) == 1


async def test_an_agent_outlives_a_restart_of_the_server(
    server: FakeServer, agents: Agents
) -> None:
    gate = Gate()
    agents(server, {"book-flight": gate}, slots=2)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    await gate.started()
    assert (await server.poll.next()).request.poll_seq == 2
    await server.stop()
    gate.end("done meanwhile")
    revived = FakeServer()
    await revived.start(server.port)
    agents.now_at(revived)
    revived.heartbeat.always(lambda heartbeat: heartbeat.answer())
    report = await revived.complete.next()
    assert report.request.results[0].task_token == "t1"
    report.answer(**ANSWERED)
    poll = await revived.poll.next()
    assert 2 in poll.request.lost_polls
