"""The runtime of an agent: tasks come in, handlers run, outcomes go out, and a stop drains."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from typing import Any

import pytest
from agent_script import ANSWERED, CARRY_ON, Agents, Gate, a_task
from fake_server import FakeServer

import drover_sdk as drover
from drover_sdk.payloads import json_payload
from drover_sdk.tasks import Handler, Task
from drover_sdk.v1.task_pb2 import TASK_KIND_COMPENSATE, TASK_KIND_VERIFY, Outcome

# A server of the future may have more kinds.
KIND_OF_LATER = 99


def book(task: Task) -> Any:
    return None


async def outcome_of(server: FakeServer, agents: Agents, handler: Handler, **given: Any) -> Outcome:
    agents(server, {"book-flight": handler})
    (await server.poll.next()).answer(tasks=[a_task("t1", **given)])
    call = await server.complete.next()
    return call.request.results[0].outcome


async def test_an_agent_polls_with_its_name_session_queues_and_tasks(
    server: FakeServer, agents: Agents
) -> None:
    queues = [("travel", 1), ("rush", 5)]
    handlers = {"book-flight": book, "cancel-flight": book}
    agents(server, handlers, id="flights-1", queues=queues, slots=3)
    request = (await server.poll.next()).request
    assert request.agent.id == "flights-1"
    assert len(request.agent.session) == 16
    assert [(queue.name, queue.weight) for queue in request.queues] == queues
    assert list(request.tasks) == ["book-flight", "cancel-flight"]
    assert (request.poll_seq, request.max_tasks, list(request.lost_polls)) == (1, 3, [])
    process = request.process
    assert (process.host, process.pid, process.capacity) == (socket.gethostname(), os.getpid(), 3)
    assert process.HasField("running_for")
    assert abs(process.clock_time.seconds - time.time()) < 60


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_a_handler_gets_its_task_and_what_it_returns_is_reported(
    server: FakeServer, agents: Agents, asynchronous: bool
) -> None:
    seen: list[Task] = []

    def perform(task: Task) -> Any:
        seen.append(task)
        return {"seat": "12A", "to": task.input}

    async def perform_async(task: Task) -> Any:
        return perform(task)

    handler = perform_async if asynchronous else perform
    outcome = await outcome_of(server, agents, handler, labels={"team": "blue"})
    (task,) = seen
    assert (task.name, task.kind, task.run_id, task.attempt) == (
        "book-flight",
        "perform",
        "run-1",
        1,
    )
    assert (task.idempotency_key, task.fence, task.item) == ("key-t1", 1, None)
    assert task.labels == {"team": "blue"}
    assert outcome.success.output.json == '{"seat":"12A","to":{"to":"Lisbon"}}'


async def test_a_compensate_task_gets_the_output_and_the_key_of_what_it_undoes(
    server: FakeServer, agents: Agents
) -> None:
    def undo(task: Task) -> Any:
        return [task.kind, task.parse_output(str), task.effect_key, task.last_details]

    given = {"kind": TASK_KIND_COMPENSATE, "output": json_payload("12A"), "effect_key": "key-t1"}
    outcome = await outcome_of(server, agents, undo, **given)
    assert outcome.success.output.json == '["compensate","12A","key-t1",null]'


def transient(task: Task) -> Any:
    raise drover.TransientError("rate limited", "busy", retry_after=1.5, no_effect=True)


def permanent(task: Task) -> Any:
    raise drover.PermanentError("no-room", "fully booked")


def unknown(task: Task) -> Any:
    raise drover.UnknownError("broken-pipe", "the connection broke")


def surprised(task: Task) -> Any:
    return task.input["no such key"]


def choosy(task: Task) -> Any:
    return task.parse_input(int)


UNSAYABLE = (
    "The handler's result cannot be sent: TypeError: Object of type object is not JSON serializable"
)
TOO_LONG = (
    "The output has 2097154 bytes, and none may have more than 2097152: keep it in object storage "
    "and return its address"
)


def unsayable(task: Task) -> Any:
    return {"big": object()}


def cancelled(task: Task) -> Any:
    raise drover.TaskCancelledError("stopped in time", no_effect=True)


def exiting(task: Task) -> Any:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("handler", "kind", "expected"),
    [
        (transient, "failed", {"code": "rate-limited", "failure_class": 1, "no_effect": True}),
        (permanent, "failed", {"code": "no-room", "message": "fully booked", "failure_class": 2}),
        (unknown, "unknown", {"code": "broken-pipe", "message": "the connection broke"}),
        (surprised, "unknown", {"code": "unexpected-error", "message": "KeyError: 'no such key'"}),
        (choosy, "failed", {"code": "bad-input", "failure_class": 2}),
        (unsayable, "success", {"output_problem": UNSAYABLE}),
        (lambda task: "x" * 2**21, "success", {"output_problem": TOO_LONG}),
        (cancelled, "cancelled", {"no_effect": True}),
        (exiting, "unknown", {"code": "unexpected-error", "message": "SystemExit: 3"}),
        (lambda task: drover.again("1m30s"), "again", {}),
        (lambda task: drover.deferred(), "deferred", {}),
        (lambda task: None, "success", {}),
    ],
)
async def test_an_agent_reports_how_a_handler_ended(
    server: FakeServer, agents: Agents, handler: Handler, kind: str, expected: dict[str, Any]
) -> None:
    outcome = await outcome_of(server, agents, handler)
    assert outcome.WhichOneof("kind") == kind
    content = getattr(outcome, kind)
    assert {name: getattr(content, name) for name in expected} == expected


async def test_again_has_a_time_and_the_shortest_is_a_millisecond(
    server: FakeServer, agents: Agents
) -> None:
    outcome = await outcome_of(server, agents, lambda task: drover.again(0))
    assert (outcome.again.after.seconds, outcome.again.after.nanos) == (0, 1_000_000)


async def test_a_transient_error_has_the_time_at_which_it_may_be_tried_again(
    server: FakeServer, agents: Agents
) -> None:
    after = (await outcome_of(server, agents, transient)).failed.retry_after
    assert (after.seconds, after.nanos) == (1, 500_000_000)


@pytest.mark.parametrize(
    ("handler", "kind", "expected"),
    [
        (lambda task: drover.happened({"seat": "12A"}), "success", {}),
        (
            lambda task: drover.did_not_happen(),
            "failed",
            {"code": "did-not-happen", "no_effect": True},
        ),
        (
            lambda task: drover.cannot_tell("the desk does not answer"),
            "unknown",
            {"code": "cannot-tell", "message": "the desk does not answer"},
        ),
        (lambda task: None, "unknown", {"code": "no-answer"}),
        (lambda task: {"seat": "12A"}, "unknown", {"code": "no-answer"}),
        (transient, "failed", {"code": "rate-limited"}),
    ],
)
async def test_an_agent_that_verifies_reports_its_answer(
    server: FakeServer, agents: Agents, handler: Handler, kind: str, expected: dict[str, Any]
) -> None:
    outcome = await outcome_of(server, agents, handler, kind=TASK_KIND_VERIFY)
    assert outcome.WhichOneof("kind") == kind
    content = getattr(outcome, kind)
    assert {name: getattr(content, name) for name in expected} == expected


async def test_a_verify_task_has_the_key_of_the_effect_and_what_the_lost_attempt_left(
    server: FakeServer, agents: Agents
) -> None:
    def verify(task: Task) -> Any:
        return drover.happened([task.kind, task.effect_key, task.input, task.last_details])

    details = json_payload({"page": 3})
    given = {"kind": TASK_KIND_VERIFY, "effect_key": "key-t1", "last_details": details}
    outcome = await outcome_of(server, agents, verify, **given)
    assert outcome.success.output.json == '["verify","key-t1",{"to":"Lisbon"},{"page":3}]'


async def test_a_busy_agent_takes_its_next_task_with_the_report_of_the_last(
    server: FakeServer, agents: Agents
) -> None:
    agents(server, {"book-flight": lambda task: task.step_id}, slots=1)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    first = await server.complete.next()
    carried = first.request.next
    assert (carried.poll_seq, carried.max_tasks, list(carried.tasks)) == (2, 1, ["book-flight"])
    first.answer(**ANSWERED, tasks=[a_task("t2")])
    second = await server.complete.next()
    assert second.request.results[0].task_token == "t2"
    second.answer(**ANSWERED)
    assert (await server.poll.next()).request.poll_seq == 4


async def test_an_agent_asks_for_no_more_tasks_than_it_has_free_slots(
    server: FakeServer, agents: Agents
) -> None:
    gate = Gate()
    agents(server, {"book-flight": gate}, slots=3)
    first = await server.poll.next()
    assert first.request.max_tasks == 3
    first.answer(tasks=[a_task("t1"), a_task("t2")])
    assert (await server.poll.next()).request.max_tasks == 1
    gate.end()
    assert (await server.complete.next()).request.next.max_tasks <= 2


async def test_a_task_of_a_kind_that_this_agent_does_not_know_is_released(
    server: FakeServer, agents: Agents
) -> None:
    outcome = await outcome_of(server, agents, book, kind=KIND_OF_LATER)
    assert outcome.WhichOneof("kind") == "released"


async def test_a_stop_cancels_the_poll_names_it_as_lost_and_ends_the_agent(
    server: FakeServer, agents: Agents
) -> None:
    agent = agents(server, {"book-flight": book})
    poll = await server.poll.next()
    agent.stop()
    await asyncio.wait_for(poll.cancelled.wait(), 20)
    heartbeat = await server.heartbeat.next()
    assert (list(heartbeat.request.lost_polls), list(heartbeat.request.reports)) == ([1], [])
    heartbeat.answer()
    (await server.heartbeat.next()).answer()
    await asyncio.wait_for(agent.done, 20)
    assert not agent.failed


async def test_a_stop_lets_the_running_task_finish_and_releases_one_that_arrives_meanwhile(
    server: FakeServer, agents: Agents
) -> None:
    gate = Gate()
    started: list[str] = []

    async def perform(task: Task) -> Any:
        started.append(task.step_id)
        if task.step_id == "slow":
            return await gate(task)
        return None

    agent = agents(server, {"book-flight": perform}, slots=2, grace=20.0)
    (await server.poll.next()).answer(tasks=[a_task("slow"), a_task("quick")])
    await gate.started()
    # The report of the quick one carries a poll, which is answered only after the stop.
    quick = await server.complete.next()
    agent.stop()
    server.heartbeat.always(lambda heartbeat: heartbeat.answer())
    await asyncio.sleep(0)
    quick.answer(**ANSWERED, tasks=[a_task("late")])
    release = await server.complete.next()
    assert release.request.results[0].task_token == "late"
    assert release.request.results[0].outcome.WhichOneof("kind") == "released"
    assert not release.request.HasField("next")
    release.answer(**ANSWERED)
    gate.end()
    slow = await server.complete.next()
    assert slow.request.results[0].outcome.WhichOneof("kind") == "success"
    slow.answer(**ANSWERED)
    await asyncio.wait_for(agent.done, 20)
    assert started == ["slow", "quick"]


async def test_a_handler_that_does_not_finish_within_the_grace_is_stopped(
    server: FakeServer, agents: Agents
) -> None:
    started = asyncio.Event()

    async def perform(task: Task) -> Any:
        started.set()
        await asyncio.Event().wait()

    agent = agents(server, {"book-flight": perform}, slots=1)
    (await server.poll.next()).answer(tasks=[a_task("t1")])
    await asyncio.wait_for(started.wait(), 20)
    server.heartbeat.always(lambda heartbeat: heartbeat.answer(answers=[CARRY_ON]))
    agent.stop()
    report = await server.complete.next()
    assert report.request.results[0].outcome.unknown.code == "agent-stopped"
    report.answer(**ANSWERED)
    await asyncio.wait_for(agent.done, 20)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"id": "not good"}, 'id is "not good"'),
        ({"slots": 0}, "slots is 0"),
        ({"address": "http://x"}, '"http://x" is not host:port'),
        ({"queues": [("q", 0)]}, "weight of queue q is 0"),
        ({"poll_wait": "2m"}, "poll_wait is 120"),
        ({"grace": "soon"}, "grace is none: .*cannot be read"),
        ({"address": "there.com:1", "token": "secret"}, "in plain text"),
    ],
)
def test_wrong_settings_are_refused_at_once_with_the_value(
    given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        drover.Agent(**{"address": "127.0.0.1:1", "id": "a", **given})


def test_an_agent_without_handlers_does_not_start() -> None:
    with pytest.raises(ValueError, match="number of handlers is 0"):
        drover.Agent("127.0.0.1:1", id="a").start()
