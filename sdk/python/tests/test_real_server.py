"""Agent and client against a real server: what a handler answers is what becomes of the step."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from fake_server import SECONDS_MOST

import drover_sdk as drover
from drover_sdk import Client
from drover_sdk.queues import QueueLimits
from drover_sdk.tasks import Handler, Task
from drover_sdk.workflow import Retry, Step, Timeouts, Verify, Workflow

RETRY = Retry(initial="1ms", jitter=0)
numbers = itertools.count(1)

Given = Callable[..., "Stage"]


class Stage:
    """A client, and an agent with a queue of its own, on which its steps are."""

    def __init__(self, address: str, handlers: dict[str, Handler], **given: Any) -> None:
        self.queue = f"python-{next(numbers)}"
        self.client = Client(address)
        self.agent = drover.Agent(address, id=self.queue, queues=[self.queue], **given)
        for name, handler in handlers.items():
            self.agent.task(name)(handler)
        self.agent.start()

    async def start(self, *steps: Step, input: Any = None) -> str:
        own = [replace(step, queue=self.queue) if step.task else step for step in steps]
        return (await self.client.schedule(Workflow("w", own), input=input)).run_id

    async def ended(self, run_id: str) -> drover.Run:
        return await asyncio.wait_for(self.client.wait_run(run_id), SECONDS_MOST)


@pytest.fixture
async def given(address: str) -> AsyncIterator[Given]:
    made: list[Stage] = []

    def make(handlers: dict[str, Handler], **options: Any) -> Stage:
        made.append(Stage(address, handlers, **options))
        return made[-1]

    yield make
    for stage in made:
        stage.agent.stop()
        await asyncio.wait_for(stage.agent.stopped(), SECONDS_MOST)
        await stage.client.close()


async def test_what_did_not_happen_is_tried_again_under_the_same_key(given: Given) -> None:
    keys: list[str] = []
    checked: list[tuple[str, Any]] = []

    def charge(task: Task) -> Any:
        keys.append(task.idempotency_key)
        if len(keys) > 1:
            return "charged"
        task.details({"asked": True})
        raise drover.UnknownError("broken-pipe", "the connection broke")

    async def find(task: Task) -> Any:
        checked.append((task.effect_key, task.last_details))
        return drover.did_not_happen()

    stage = given({"charge": charge, "find-charge": find})
    pay = Step("pay", task="charge", effects="verifiable", verify="find-charge", retry=RETRY)
    run_id = await stage.start(pay)
    assert (await stage.ended(run_id)).state == "COMPLETED"
    assert checked == [(keys[0], {"asked": True})]
    assert len(set(keys)) == 1
    details = await stage.client.get_run(run_id, attempts=True)
    assert [(one.kind, one.outcome) for one in details.attempts] == [
        ("PERFORM", "UNKNOWN"),
        ("VERIFY", "FAILURE"),
        ("PERFORM", "SUCCESS"),
    ]


async def test_a_step_is_undone_when_a_later_one_fails_for_good(given: Given) -> None:
    def unbook(task: Task) -> Any:
        return {"undone": task.output}

    def fail(task: Task) -> Any:
        raise drover.PermanentError("no-room", "fully booked")

    stage = given({"book": lambda task: "12A", "unbook": unbook, "fail": fail})
    run_id = await stage.start(
        Step("flight", task="book", compensate="unbook"),
        Step("hotel", task="fail", needs=["flight"]),
    )
    assert (await stage.ended(run_id)).state == "COMPENSATED"
    details = await stage.client.get_run(run_id, attempts=True)
    assert [step.undo_state for step in details.steps] == ["DONE", "NONE"]
    (undo,) = [one for one in details.attempts if one.kind == "COMPENSATE"]
    assert undo.output == {"undone": "12A"}
    (_, hotel) = details.steps
    assert hotel.error is not None
    assert (hotel.error.code, hotel.error.failure_class) == ("no-room", "PERMANENT")


async def test_a_task_that_is_asked_for_again_counts_one_attempt(given: Given) -> None:
    polls = itertools.count(1)

    async def poll(task: Task) -> Any:
        poll = next(polls)
        return drover.again(0.001) if poll < 4 else poll

    stage = given({"poll": poll})
    run_id = await stage.start(Step("wait", task="poll"))
    assert (await stage.ended(run_id)).state == "COMPLETED"
    (step,) = (await stage.client.get_run(run_id)).steps
    assert (step.output, step.attempt) == (4, 1)


async def test_a_handler_whose_heartbeats_come_without_progress_is_stopped_and_the_next_one_resumes(
    given: Given,
) -> None:
    seen: list[Any] = []

    def encode(task: Task) -> Any:
        seen.append(task.last_details)
        if task.attempt > 1:
            return "encoded"
        task.progress(counter=1)
        task.details({"frame": 1})
        assert task.stopping.wait(SECONDS_MOST)
        task.raise_if_stopped()
        raise AssertionError("it was not stopped")

    stage = given({"encode": encode})
    timeouts = Timeouts(heartbeat="9s", stall="1s")
    run_id = await stage.start(Step("encode", task="encode", timeouts=timeouts, retry=RETRY))
    assert (await stage.ended(run_id)).state == "COMPLETED"
    assert seen == [None, {"frame": 1}]
    details = await stage.client.get_run(run_id, attempts=True, interventions=True)
    first, second = details.attempts
    assert first.failure is not None
    assert (first.failure.code, second.outcome) == ("drover.stalled", "SUCCESS")
    assert "stall" in [one.rule for one in details.interventions]


async def test_a_handler_that_finds_no_outcome_is_asked_again_and_then_a_person(
    given: Given,
) -> None:
    def charge(task: Task) -> Any:
        raise drover.UnknownError("broken-pipe", "the connection broke")

    stage = given({"charge": charge, "check": lambda task: drover.cannot_tell("it is closed")})
    verify = Verify("check", retry=Retry(initial="1ms", jitter=0, attempts=2))
    run_id = await stage.start(Step("pay", task="charge", effects="verifiable", verify=verify))
    async for snapshot in stage.client.watch_run(run_id):
        if snapshot.run.state == "ESCALATED":
            break
    details = await stage.client.get_run(run_id, escalations=True)
    (escalation,) = details.escalations
    assert (escalation.step_id, escalation.reason) == ("pay", "unverified")
    assert "succeed" in escalation.answers


async def test_many_runs_are_scheduled_and_done_at_the_same_time(given: Given) -> None:
    stage = given({"echo": lambda task: task.input}, slots=50)
    runs = await asyncio.gather(
        *(stage.start(Step("echo", task="echo"), input=number) for number in range(60))
    )
    assert len(set(runs)) == 60
    ended = await asyncio.gather(*(stage.ended(run_id) for run_id in runs))
    assert {run.state for run in ended} == {"COMPLETED"}
    assert [run.input for run in ended] == list(range(60))


async def test_what_the_server_refuses_is_a_call_error_with_its_reason(given: Given) -> None:
    client = given({"echo": lambda task: None}).client
    with pytest.raises(drover.CallError) as caught:
        await client.get_run("no-such-run")
    assert (caught.value.code, caught.value.reason) == ("NOT_FOUND", "RUN_NOT_FOUND")
    with pytest.raises(drover.CallError) as refused:
        await client.schedule(Workflow("w", [Step("bad id", task="t")]))
    assert refused.value.reason == "INVALID_REQUEST"
    assert refused.value.fields[0].path.startswith("definition.steps[0]")


async def test_what_a_person_withholds_from_agents_is_seen_and_taken_back(given: Given) -> None:
    stage = given({"echo": lambda task: task.input})
    client, queue = stage.client, stage.queue
    assert (await client.queues.set_limits(queue, leased=3)).limits == QueueLimits(3, 0, 0)
    assert (await client.queues.pause(queue, reason="full")).pause is not None
    await client.register_workflow(Workflow("pinned", [Step("echo", task="echo")]))
    (pin,) = await client.queues.pin(queue, workflow="pinned", agent_version="2.1")
    assert (pin.version, pin.agent_version) == (0, "2.1")
    assert (await client.queues.get(queue)).pins == (pin,)
    assert await client.queues.unpin(queue, workflow="pinned") == ()
    await client.circuits.open(queue, "echo", by="ada", why="down")
    await client.circuits.cordon(agent_id=queue, by="ada")
    run_id = await stage.start(Step("echo", task="echo"), input=7)
    overview = await client.operations.overview()
    assert queue in [one.name for one in overview.paused_queues]
    assert (queue, "OPEN") in [(one.queue, one.setting) for one in overview.open_circuits]
    assert [one.agent_id for one in await client.circuits.cordons()] == [queue]
    assert (await client.queues.get(queue)).queue.leased == 0
    assert await client.circuits.uncordon(agent_id=queue)
    await client.circuits.release(queue, "echo", by="ada")
    assert (await client.queues.resume(queue)).pause is None
    assert (await stage.ended(run_id)).state == "COMPLETED"

    async def agent_id() -> bytes:
        """Its server reports it with its next query."""
        while not (page := await client.operations.agents(agent_id=queue)).agents:
            await asyncio.sleep(0.05)
        return page.agents[0].session

    details = await client.operations.agent(await wait_for(agent_id()))
    assert (details.agent.id, details.agent.cordons) == (queue, ())


async def test_workflows_and_the_namespace_are_paused_and_what_runs_here_is_reported(
    given: Given,
) -> None:
    client = given({"echo": lambda task: None}).client
    await client.register_workflow(Workflow("nobodys", [Step("echo", task="echo")]))
    assert (await client.pause_workflow("nobodys", reason="wrong")).reason == "wrong"
    assert "nobodys" in [one.name for one in (await client.operations.overview()).paused_workflows]
    await client.resume_workflow("nobodys")
    created = await client.namespaces.create("of-python", region="python")
    assert created.namespace.region == "python"
    page = await client.namespaces.list()
    assert "python" in [region.name for region in page.regions]
    assert (await client.namespaces.set_retention("2h")).retention == 7_200
    assert (await client.namespaces.set_retention(None)).retention is None
    assert (await client.namespaces.set_limits()).limits is None
    cluster = await client.operations.cluster_info()
    assert cluster.migrations[0].number == 1
    assert [one.alive for one in await client.operations.supervisors()] == [True]
    assert (await client.operations.hand_overs(partition=0)).hand_overs[-1].reason == "FIRST"


async def wait_for(work: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(work, SECONDS_MOST)
