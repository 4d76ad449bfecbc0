"""The client: what it sends, what it makes of the answers, and when it asks again."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import datetime, timezone
from typing import Any

import pytest
from fake_server import FakeServer, status
from manual_clock import ManualClock

import drover_sdk as drover
from drover_sdk import clients, rpc
from drover_sdk.aes import AesGcmCodec
from drover_sdk.gathering import Gathering
from drover_sdk.history import RunWarning
from drover_sdk.payloads import json_payload
from drover_sdk.reading import to_time
from drover_sdk.runs import Key
from drover_sdk.schedules import Cron, Interval, Recurring
from drover_sdk.triggers import Hmac, Http, ScheduleAction, TriggerSpec
from drover_sdk.v1 import run_pb2, schedule_pb2, scheduler_service_pb2
from drover_sdk.v1.run_pb2 import Run as RunMessage
from drover_sdk.v1.run_pb2 import RunState
from drover_sdk.v1.run_pb2 import Step as StepMessage
from drover_sdk.v1.scheduler_service_pb2 import BulkResult, ScheduleResult
from drover_sdk.workflow import Step, Workflow

UNAVAILABLE = 14


@pytest.fixture
def clock() -> ManualClock:
    """That by which runs are gathered."""
    return ManualClock()


@pytest.fixture
async def client(server: FakeServer, clock: ManualClock) -> AsyncIterator[drover.Client]:
    async with drover.Client(server.address, namespace="acme", token="s3cret") as made:
        made._gathering = Gathering(clock, made._schedule_some)
        yield made


def started(work: Any) -> asyncio.Task[Any]:
    return asyncio.ensure_future(work)


async def test_a_run_is_scheduled_under_a_key_of_its_own_and_a_repeat_is_the_same_request(
    server: FakeServer, client: drover.Client
) -> None:
    scheduled = started(client.schedule("w", input={"to": "Lisbon"}, labels={"a": "b"}))
    first = await server.inbox(rpc.SCHEDULE).next()
    assert uuid.UUID(first.request.key)
    assert (first.request.namespace, first.request.workflow.name) == ("acme", "w")
    assert first.metadata["authorization"] == "Bearer s3cret"
    first.fail(UNAVAILABLE, "STORE_UNAVAILABLE", 0.001)
    second = await server.inbox(rpc.SCHEDULE).next()
    assert second.request == first.request
    second.answer(run_id="run-1", created=True)
    assert await scheduled == drover.Scheduled("run-1", first.request.key, True)


async def test_runs_that_come_during_a_call_share_the_next_and_each_has_its_own_answer(
    server: FakeServer, client: drover.Client, clock: ManualClock
) -> None:
    alone = started(client.schedule("w", key="first"))
    first = await server.inbox(rpc.SCHEDULE).next()
    others = [started(client.schedule("w", key=key)) for key in ("a", "b", "c")]
    await clock.armed(0.25)
    first.answer(run_id="run-0")
    batch = await server.inbox(rpc.SCHEDULE_BATCH).next()
    assert [one.key for one in batch.request.runs] == ["a", "b", "c"]
    refused = ScheduleResult(status=status(9, "CONCURRENCY_LIMIT"))
    batch.answer(results=[ScheduleResult(run_id="1"), refused, ScheduleResult(run_id="3")])
    a, b, c = list[Any](await asyncio.gather(*others, return_exceptions=True))
    assert (a.run_id, c.run_id) == ("1", "3")
    assert isinstance(b, drover.CallError)
    assert b.reason == "CONCURRENCY_LIMIT"
    assert (await alone).run_id == "run-0"


async def test_runs_of_one_turn_share_a_call_and_a_slow_one_holds_up_no_other(
    server: FakeServer, client: drover.Client, clock: ManualClock
) -> None:
    together = [started(client.schedule("w", key=key)) for key in ("a", "b")]
    slow = await server.inbox(rpc.SCHEDULE_BATCH).next()
    assert [one.key for one in slow.request.runs] == ["a", "b"]
    other = started(client.schedule("w", key="c"))
    await clock.armed(0.25)
    clock.advance(0.25)
    (await server.inbox(rpc.SCHEDULE).next()).answer(run_id="3")
    assert (await other).run_id == "3"
    slow.answer(results=[ScheduleResult(run_id="1"), ScheduleResult(run_id="2")])
    assert [(await one).run_id for one in together] == ["1", "2"]


async def test_a_run_that_spoils_a_whole_call_is_found_by_sending_each_alone(
    server: FakeServer, client: drover.Client, clock: ManualClock
) -> None:
    alone = started(client.schedule("w"))
    first = await server.inbox(rpc.SCHEDULE).next()
    runs = [started(client.schedule("w", key=key)) for key in ("good", "bad")]
    await clock.armed(0.25)
    first.answer()
    (await server.inbox(rpc.SCHEDULE_BATCH).next()).fail(3, "INVALID_REQUEST")
    for call in [await server.inbox(rpc.SCHEDULE).next() for _ in runs]:
        if call.request.key == "good":
            call.answer(run_id="good")
        else:
            call.fail(3, "INVALID_REQUEST")
    good, bad = list[Any](await asyncio.gather(*runs, return_exceptions=True))
    assert good.run_id == "good"
    assert isinstance(bad, drover.CallError)
    await alone


async def test_what_may_pass_for_one_run_is_asked_again_for_it_alone(
    server: FakeServer, client: drover.Client
) -> None:
    runs = [started(client.schedule("w", key=key)) for key in ("here", "away")]
    away = ScheduleResult(status=status(UNAVAILABLE, "STORE_UNAVAILABLE"))
    batch = await server.inbox(rpc.SCHEDULE_BATCH).next()
    batch.answer(results=[ScheduleResult(run_id="1"), away])
    assert (await runs[0]).run_id == "1"
    again = await server.inbox(rpc.SCHEDULE).next()
    assert again.request == batch.request.runs[1]
    again.answer(run_id="2")
    assert (await runs[1]).run_id == "2"


async def test_starts_that_are_not_answered_keep_back_no_other_for_longer_than_a_second(
    server: FakeServer, client: drover.Client, clock: ManualClock
) -> None:
    stuck = []
    for key in ("a", "b", "c", "d"):
        run = started(client.schedule("w", key=key))
        stuck.append((run, await server.inbox(rpc.SCHEDULE).next()))
        clock.advance(0.25)
    fifth = started(client.schedule("w", key="e"))
    (await server.inbox(rpc.SCHEDULE).next()).answer(run_id="5")
    assert (await fifth).run_id == "5"
    for run, held in stuck:
        held.answer(run_id="held")
        assert (await run).run_id == "held"


async def test_a_run_may_start_later_share_a_key_and_name_a_hook(
    server: FakeServer, client: drover.Client
) -> None:
    at = datetime(2026, 3, 1, 8, tzinfo=timezone.utc)
    concurrency = drover.Concurrency("customer-17", 3, "cancel-oldest")
    run = drover.NewRun(
        Workflow("w", [Step("a", task="t")]),
        start_time=at,
        concurrency=concurrency,
        notify=drover.Notify("ops", "https://there.com/in"),
        priority=1,
    )
    scheduled = started(client.schedule(run))
    call = await server.inbox(rpc.SCHEDULE).next()
    assert call.request.definition.steps[0].task.name == "t"
    assert call.request.start_time == to_time(at)
    assert call.request.concurrency.policy == run_pb2.CONCURRENCY_POLICY_CANCEL_OLDEST
    assert (call.request.notify.hook, call.request.notify.url) == ("ops", "https://there.com/in")
    call.answer()
    await scheduled


async def test_a_definite_refusal_is_raised_at_once(
    server: FakeServer, client: drover.Client
) -> None:
    asked = started(client.get_run("run-9"))
    (await server.inbox(rpc.GET_RUN).next()).fail(5, "RUN_NOT_FOUND")
    with pytest.raises(drover.CallError) as caught:
        await asked
    error = caught.value
    assert (error.code, error.reason, error.retry_after) == ("NOT_FOUND", "RUN_NOT_FOUND", None)


async def test_a_server_that_stays_away_is_given_up_when_patience_ends(
    server: FakeServer,
) -> None:
    async with drover.Client(server.address, patience="300ms") as client:
        await server.stop()
        with pytest.raises(drover.CallError) as caught:
            await client.get_run("run-1")
        assert caught.value.code == "UNAVAILABLE"


async def test_a_call_that_is_cancelled_ends_on_the_server_too(
    server: FakeServer, client: drover.Client
) -> None:
    waiting = started(client.wait_run("run-1"))
    call = await server.inbox(rpc.WAIT_RUN).next()
    waiting.cancel()
    await asyncio.wait_for(call.cancelled.wait(), 20)


async def test_get_run_reads_names_times_and_payloads(
    server: FakeServer, client: drover.Client
) -> None:
    asked = started(client.get_run(Key("order-7"), attempts=True))
    call = await server.inbox(rpc.GET_RUN).next()
    assert (call.request.run.key, call.request.include_attempts) == ("order-7", True)
    at = datetime(2026, 3, 1, 8, tzinfo=timezone.utc)
    run = RunMessage(
        run_id="run-1",
        state=run_pb2.RUN_STATE_COMPLETED,
        reason=run_pb2.RUN_REASON_DONE,
        created_time=to_time(at),
        version=4,
    )
    output = json_payload({"seat": "12A"})
    step = StepMessage(id="flight", state=run_pb2.STEP_STATE_SUCCEEDED, output=output)
    warning = run_pb2.RunWarning(step_id="mail", code="no-ink", message="dry")
    call.answer(run=run, steps=[step], warnings=[warning])
    details = await asked
    assert details.warnings == (RunWarning("mail", "no-ink", "dry"),)
    assert (details.run.state, details.run.reason, details.run.ended) == ("COMPLETED", "DONE", True)
    assert (details.run.created_time, details.run.ended_time) == (at, None)
    (read,) = details.steps
    assert (read.state, read.output, read.error) == ("SUCCEEDED", {"seat": "12A"}, None)


async def test_a_state_of_a_newer_server_is_unspecified(
    server: FakeServer, client: drover.Client
) -> None:
    asked = started(client.list_runs(filter=drover.RunFilter(states=["RUNNING"]), page_size=3))
    call = await server.inbox(rpc.LIST_RUNS).next()
    assert list(call.request.filter.states) == [run_pb2.RUN_STATE_RUNNING]
    of_later: RunState = 99  # type: ignore[assignment]
    call.answer(runs=[RunMessage(run_id="run-1", state=of_later)], next_page_token="more")
    page = await asked
    assert (page.runs[0].state, page.next_page_token) == ("UNSPECIFIED", "more")


async def test_watching_goes_on_after_a_break_where_it_was(
    server: FakeServer, client: drover.Client
) -> None:
    seen: list[int] = []

    async def watch() -> None:
        async for snapshot in client.watch_run("run-1"):
            seen.append(snapshot.run.version)

    watching = started(watch())
    inbox = server.inbox(rpc.WATCH_RUN)
    (await inbox.next()).answer(run=RunMessage(version=3, state=run_pb2.RUN_STATE_RUNNING))
    (await inbox.next()).fail(UNAVAILABLE)
    again = await inbox.next()
    assert again.request.after_version == 3
    again.answer(run=RunMessage(version=5, state=run_pb2.RUN_STATE_COMPLETED))
    await asyncio.wait_for(watching, 20)
    assert seen == [3, 5]


async def test_a_server_that_drains_is_not_asked_again_in_a_hurry(
    server: FakeServer,
    client: drover.Client,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clients, "SYSTEM_CLOCK", clock)
    waiting = started(client.wait_run("run-1"))
    inbox = server.inbox(rpc.WAIT_RUN)
    (await inbox.next()).answer()
    await clock.armed(0.1)
    clock.advance(0.1)
    (await inbox.next()).answer(ended=True, run=RunMessage(run_id="run-1"))
    assert (await waiting).run_id == "run-1"


async def test_bulk_goes_through_all_pages_under_one_request_id(
    server: FakeServer, client: drover.Client
) -> None:
    async def collect() -> list[Any]:
        return [one async for one in client.bulk("retry", expected_count=2, reason="again")]

    work = started(collect())
    first = await server.inbox(rpc.BULK_ACTION).next()
    assert (first.request.expected_count, first.request.page_token) == (2, "")
    refused = BulkResult(run_id="1", status=status(9, "RUN_STATE"))
    first.answer(results=[refused], next_page_token="more")
    second = await server.inbox(rpc.BULK_ACTION).next()
    assert second.request.request_id == first.request.request_id
    assert second.request.page_token == "more"
    second.answer(results=[BulkResult(run_id="2", new_run_id="3")])
    one, two = await work
    assert (one.error.reason, one.new_run_id) == ("RUN_STATE", None)
    assert (two.error, two.new_run_id) == (None, "3")


async def test_bulk_has_what_a_signal_carries_and_from_where_runs_are_done_again(
    server: FakeServer, client: drover.Client
) -> None:
    async def signals() -> list[Any]:
        return [one async for one in client.bulk("signal", signal_name="paid", payload={"n": 7})]

    async def reruns() -> list[Any]:
        again = client.bulk("rerun", step_id="hotel", input={"to": "Oslo"}, version="newest")
        return [one async for one in again]

    inbox = server.inbox(rpc.BULK_ACTION)
    work = started(signals())
    signal = await inbox.next()
    assert signal.request.kind == scheduler_service_pb2.BULK_KIND_SIGNAL
    assert (signal.request.signal_name, signal.request.payload.json) == ("paid", '{"n":7}')
    assert not signal.request.HasField("input")
    signal.answer()
    assert await work == []
    counted = started(client.count_for_bulk("rerun", step_id="hotel", input={"to": "Oslo"}))
    dry = await inbox.next()
    assert (dry.request.dry_run, dry.request.step_id) == (True, "hotel")
    dry.answer(count=3)
    assert await counted == 3
    work = started(reruns())
    rerun = await inbox.next()
    assert rerun.request.version == scheduler_service_pb2.RERUN_VERSION_NEWEST
    assert (rerun.request.step_id, rerun.request.input.json) == ("hotel", '{"to":"Oslo"}')
    rerun.answer()
    assert await work == []


async def test_a_signal_has_an_id_and_a_decision_has_an_approver(
    server: FakeServer, client: drover.Client
) -> None:
    signalled = started(client.signal("run-1", "paid", payload={"amount": 7}))
    signal = await server.inbox(rpc.SIGNAL).next()
    assert uuid.UUID(signal.request.signal_id)
    assert signal.request.payload.json == '{"amount":7}'
    signal.answer(repeated=True)
    assert (await signalled).repeated
    decided = started(client.decide("run-1", "release", "approve", approver="ada", roles=["cfo"]))
    decision = await server.inbox(rpc.DECIDE).next()
    assert (decision.request.approver, list(decision.request.roles)) == ("ada", ["cfo"])
    decision.answer(run=RunMessage(run_id="run-1"))
    assert not (await decided).repeated


async def test_a_form_is_clear_to_the_server_whatever_the_codec(server: FakeServer) -> None:
    async with drover.Client(server.address, codec=AesGcmCodec(bytes(32))) as sealing:
        form = {"amount": 7}
        decided = started(sealing.decide("run-1", "ask", "approve", approver="ada", form=form))
        decision = await server.inbox(rpc.DECIDE).next()
        assert decision.request.form == json_payload(form)
        decision.answer(run=RunMessage(run_id="run-1"))
        await decided
        signalled = started(sealing.signal("run-1", "paid", payload=form))
        signal = await server.inbox(rpc.SIGNAL).next()
        assert signal.request.payload.WhichOneof("body") == "data"
        signal.answer()
        await signalled


async def test_a_callback_that_ends_badly_is_a_failure(
    server: FakeServer, client: drover.Client
) -> None:
    error = drover.PermanentError("no-such-street", "The street is not on the map.")
    completed = started(client.complete_deferred("token", error=error))
    call = await server.inbox(rpc.COMPLETE_DEFERRED).next()
    assert call.request.failed.code == "no-such-street"
    call.answer()
    assert not (await completed).repeated


async def test_a_schedule_is_read_as_it_was_written(
    server: FakeServer, client: drover.Client
) -> None:
    spec = Recurring("w", cron=Cron("30 2 * * *", "Europe/Lisbon"), overlap="buffer-one", input=1)
    made = started(client.schedules.create("nightly", spec, paused=True))
    call = await server.inbox(rpc.CREATE_SCHEDULE).next()
    assert call.request.spec.overlap == schedule_pb2.OVERLAP_POLICY_BUFFER_ONE
    call.answer(created=True, schedule=schedule_pb2.Schedule(name="n", spec=call.request.spec))
    read = (await made).schedule
    assert read.spec.cron == spec.cron
    assert (read.spec.input, read.spec.overlap, read.pause) == (1, "BUFFER_ONE", None)
    every = started(client.schedules.update("nightly", Recurring("w", interval=Interval("1h"))))
    changed = await server.inbox(rpc.UPDATE_SCHEDULE).next()
    assert changed.request.spec.interval.every.seconds == 3_600
    changed.answer(schedule=schedule_pb2.Schedule(spec=changed.request.spec))
    interval = (await every).spec.interval
    assert interval is not None
    assert interval.every == 3_600


async def test_a_trigger_is_read_as_it_was_written(
    server: FakeServer, client: drover.Client
) -> None:
    hmac = Hmac("X-Hub-Signature-256", "sha256=")
    spec = TriggerSpec("push", Http(hmac), schedule=ScheduleAction("build", input={"ref": "${1}"}))
    put = started(client.triggers.put(spec, secret="a secret of some length"))
    call = await server.inbox(rpc.PUT_TRIGGER).next()
    assert call.request.definition.http.hmac.prefix == "sha256="
    call.answer(created=True, trigger={"definition": call.request.definition, "path": "/p"})
    assert (await put).trigger.definition == spec


async def test_what_there_is_for_operators_is_asked_for(
    server: FakeServer, client: drover.Client
) -> None:
    overview = started(client.operations.overview())
    late = {"partition": 7, "late": True}
    circuit = {"queue": "q", "task": "t", "state": "CIRCUIT_STATE_OPEN"}
    (await server.inbox(rpc.GET_OVERVIEW).next()).answer(
        open_escalations=2, late_partitions=[late], open_circuits=[circuit]
    )
    seen = await overview
    assert seen.open_escalations == 2
    assert [(one.partition, one.late) for one in seen.late_partitions] == [(7, True)]
    assert [(one.queue, one.state) for one in seen.open_circuits] == [("q", "OPEN")]
    hooks = started(client.hooks.list())
    (await server.inbox(rpc.LIST_HOOKS).next()).answer(hooks=[{"name": "ops", "events": ["x"]}])
    (hook,) = await hooks
    assert (hook.name, hook.events) == ("ops", ("x",))
    resolved = started(client.escalations.resolve("r", "1", "succeed", by="ada", payload=7))
    call = await server.inbox(rpc.RESOLVE_ESCALATION).next()
    assert (call.request.answer, call.request.payload.json) == ("succeed", "7")
    call.answer(escalation={"id": "1", "answers": ["retry"]}, run={"run_id": "r"})
    assert (await resolved).escalation.answers == ("retry",)
