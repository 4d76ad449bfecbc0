"""What a handler logs is sent to the server, with its attempt and apart from its report."""

from __future__ import annotations

import logging
from typing import Any

from agent_script import ANSWERED, Agents, a_task
from fake_server import FakeServer
from manual_clock import ManualClock

from drover_sdk import TaskHandler, rpc
from drover_sdk.tasks import Task
from drover_sdk.v1.task_pb2 import LOG_LEVEL_ERROR, LOG_LEVEL_INFO, LOG_LEVEL_WARN

UNAVAILABLE = 14


def talk(task: Task) -> Any:
    task.log.info("asked %s", "the bank", extra={"card": 42})
    task.log.warning("it is slow")
    return None


def texts(call: Any) -> list[str]:
    return [line.message for log in call.request.logs for line in log.lines]


async def test_lines_are_sent_after_a_second_with_level_and_fields_and_the_report_does_not_wait(
    server: FakeServer, agents: Agents
) -> None:
    clock = ManualClock()
    agents(server, {"book-flight": talk}, clock=clock, slots=1)
    (await server.poll.next()).answer(tasks=[a_task("t1", store_logs=True)])
    (await server.complete.next()).answer(**ANSWERED)
    await clock.armed(1)
    clock.advance(1)
    call = await server.inbox(rpc.APPEND_LOGS).next()
    [log] = call.request.logs
    assert (log.task_token, log.first_line) == ("t1", 1)
    assert [(line.level, line.message, dict(line.fields)) for line in log.lines] == [
        (LOG_LEVEL_INFO, "asked the bank", {"card": "42"}),
        (LOG_LEVEL_WARN, "it is slow", {}),
    ]
    call.answer(answers=[{}])


async def test_a_failed_call_is_repeated_with_the_same_lines(
    server: FakeServer, agents: Agents
) -> None:
    clock = ManualClock()
    agents(server, {"book-flight": talk}, clock=clock, slots=1)
    (await server.poll.next()).answer(tasks=[a_task("t1", store_logs=True)])
    (await server.complete.next()).answer(**ANSWERED)
    await clock.armed(1)
    clock.advance(1)
    first = await server.inbox(rpc.APPEND_LOGS).next()
    first.fail(UNAVAILABLE)
    await clock.armed(1)
    clock.advance(1)
    second = await server.inbox(rpc.APPEND_LOGS).next()
    assert second.request.logs == first.request.logs
    second.answer(answers=[{}])


async def test_nothing_is_sent_of_a_task_that_says_so(server: FakeServer, agents: Agents) -> None:
    def both(task: Task) -> Any:
        task.log.info("of %s", task.run_id)
        return None

    runtime = agents(server, {"book-flight": both}, slots=2)
    tasks = [a_task("t1", run_id="quiet"), a_task("t2", run_id="loud", store_logs=True)]
    (await server.poll.next()).answer(tasks=tasks)
    server.complete.always(lambda call: call.answer(answers=[{}] * len(call.request.results)))
    call = await server.inbox(rpc.APPEND_LOGS).next()
    assert texts(call) == ["of loud"]
    call.answer(answers=[{}])
    assert runtime is not None


async def test_lines_of_other_loggers_are_stored_by_a_task_handler(
    server: FakeServer, agents: Agents
) -> None:
    shop = logging.getLogger("shop.bank")
    added = TaskHandler()
    shop.addHandler(added)

    def refuse(task: Task) -> Any:
        try:
            raise ValueError("closed")
        except ValueError:
            shop.exception("the bank refused")
        return None

    try:
        agents(server, {"book-flight": refuse}, slots=1)
        (await server.poll.next()).answer(tasks=[a_task("t1", store_logs=True)])
        server.complete.always(lambda call: call.answer(**ANSWERED))
        shop.warning("outside of a handler")
        call = await server.inbox(rpc.APPEND_LOGS).next()
        [line] = call.request.logs[0].lines
        assert (line.level, line.message) == (LOG_LEVEL_ERROR, "the bank refused")
        assert dict(line.fields) == {"logger": "shop.bank", "err": "ValueError('closed')"}
        call.answer(answers=[{}])
    finally:
        shop.removeHandler(added)
