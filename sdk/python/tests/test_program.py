"""An agent as a process of its own: it drains at SIGTERM, a lost handler ends it, and handlers that
are isolated can be killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agent_script import ANSWERED, CARRY_ON, a_task, carry_on_all
from fake_server import SECONDS_MOST, FakeServer

from drover_sdk.durations import to_duration
from drover_sdk.payloads import json_payload
from drover_sdk.v1.agent_service_pb2 import HeartbeatAnswer

HERE = Path(__file__).parent
CANCEL = HeartbeatAnswer(cancel=HeartbeatAnswer.Cancel(within=to_duration(5)))
HEARTBEAT_SOON = to_duration(0.2)


@pytest.fixture
async def program(server: FakeServer) -> AsyncIterator[Process]:
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(HERE / "agent_program.py"), server.address, env=environment, stderr=PIPE
    )
    yield process
    if process.returncode is None:
        process.kill()
    await process.communicate()


async def ended(process: Process) -> int:
    return await asyncio.wait_for(process.wait(), SECONDS_MOST)


async def hand_out(server: FakeServer, name: str, **given: Any) -> None:
    task = a_task("t1", task=name, heartbeat_interval=HEARTBEAT_SOON, **given)
    (await server.poll.next()).answer(tasks=[task])


async def outcome(server: FakeServer) -> Any:
    report = await server.complete.next()
    report.answer(**ANSWERED)
    return report.request.results[0].outcome


async def test_an_agent_ends_with_0_at_sigterm(server: FakeServer, program: Process) -> None:
    await hand_out(server, "quick")
    assert (await outcome(server)).success.output.json == '"done"'
    await server.poll.next()
    server.heartbeat.always(carry_on_all)
    program.send_signal(signal.SIGTERM)
    assert await ended(program) == 0


async def test_a_signal_that_another_thread_gets_is_noticed(
    server: FakeServer, program: Process
) -> None:
    server.heartbeat.always(carry_on_all)
    await hand_out(server, "signalled-beside")
    assert (await outcome(server)).success.output.json == '"done"'
    assert await ended(program) == 0


@pytest.mark.parametrize("name", ["stuck", "stuck-async", "blocking-async"])
async def test_a_handler_that_ignores_its_stop_is_reported_lost_and_ends_the_agent_with_1(
    server: FakeServer, program: Process, name: str
) -> None:
    await hand_out(server, name)
    heartbeat = await server.heartbeat.next()
    heartbeat.answer(answers=[CANCEL])
    server.heartbeat.always(
        lambda heartbeat: heartbeat.answer(answers=[CANCEL for _ in heartbeat.request.reports])
    )
    assert (await outcome(server)).unknown.code == "handler-lost"
    assert await ended(program) == 1


async def test_an_isolated_handler_has_a_process_of_its_own_and_reports_its_work(
    server: FakeServer, program: Process
) -> None:
    server.heartbeat.always(carry_on_all)
    await hand_out(server, "isolated", last_details=json_payload({"page": 3}))
    first, given, details, has_left = json.loads((await outcome(server)).success.output.json)
    assert (given, details, has_left) == ({"to": "Lisbon"}, {"page": 3}, True)
    assert first != program.pid
    await hand_out(server, "isolated")
    second = json.loads((await outcome(server)).success.output.json)[0]
    assert second == first, "a child that is idle serves the next task"
    program.send_signal(signal.SIGTERM)
    _, log = await asyncio.wait_for(program.communicate(), SECONDS_MOST)
    assert "at work (run=run-1 step=t1 attempt=1)" in log.decode()
    assert program.returncode == 0


async def test_an_isolated_handler_is_stopped(server: FakeServer, program: Process) -> None:
    await hand_out(server, "isolated-async")
    while True:
        heartbeat = await server.heartbeat.next()
        if heartbeat.request.reports[0].HasField("details"):
            break
        heartbeat.answer(answers=[CARRY_ON])
    assert heartbeat.request.reports[0].details == json_payload("started")
    heartbeat.answer(answers=[CANCEL])
    assert (await outcome(server)).WhichOneof("kind") == "cancelled"


async def test_an_isolated_handler_that_ignores_its_stop_is_killed_and_costs_no_slot(
    server: FakeServer, program: Process
) -> None:
    await hand_out(server, "isolated-stuck")
    heartbeat = await server.heartbeat.next()
    heartbeat.answer(answers=[CANCEL])
    server.heartbeat.always(
        lambda heartbeat: heartbeat.answer(answers=[CANCEL for _ in heartbeat.request.reports])
    )
    assert (await outcome(server)).unknown.code == "handler-lost"
    await hand_out(server, "quick")
    assert (await outcome(server)).success.output.json == '"done"'
    program.send_signal(signal.SIGTERM)
    assert await ended(program) == 0


@pytest.mark.parametrize(
    ("name", "kind", "code"),
    [
        ("isolated-dying", "unknown", "handler-died"),
        ("isolated-raising", "failed", "no-room"),
    ],
)
async def test_how_an_isolated_handler_ended_badly_is_reported(
    server: FakeServer, program: Process, name: str, kind: str, code: str
) -> None:
    server.heartbeat.always(carry_on_all)
    await hand_out(server, name)
    reported = await outcome(server)
    assert reported.WhichOneof("kind") == kind
    assert getattr(reported, kind).code == code
