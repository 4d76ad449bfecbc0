"""Client and agent in a program that traces itself by OpenTelemetry."""

from __future__ import annotations

from typing import Any

import pytest
from agent_script import Agents, a_task
from fake_server import FakeServer
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import drover_sdk as drover
from drover_sdk import rpc, tracing
from drover_sdk.tasks import Handler, Task

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
OF_THE_TRY = f"00-{TRACE_ID}-00f067aa0ba902b7-01"

EXPORTER = InMemorySpanExporter()
PROVIDER = TracerProvider()
PROVIDER.add_span_processor(SimpleSpanProcessor(EXPORTER))
trace.set_tracer_provider(PROVIDER)
TRACER = trace.get_tracer("test")


@pytest.fixture(autouse=True)
def _clear_exporter() -> None:
    EXPORTER.clear()


async def perform(server: FakeServer, agents: Agents, handler: Handler, traceparent: str) -> None:
    agents(server, {"book-flight": handler})
    (await server.poll.next()).answer(tasks=[a_task("t1", traceparent=traceparent)])
    await server.complete.next()


def of(name: str) -> ReadableSpan:
    return next(span for span in EXPORTER.get_finished_spans() if span.name == name)


def span_id(span: ReadableSpan) -> str:
    return trace.format_span_id(context_of(span).span_id)


def context_of(span: ReadableSpan) -> trace.SpanContext:
    found: trace.SpanContext | None = span.context
    assert found is not None
    return found


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_a_handler_runs_within_a_span_below_its_try(
    server: FakeServer, agents: Agents, asynchronous: bool
) -> None:
    def book(task: Task) -> Any:
        with TRACER.start_as_current_span("book"):
            raise drover.PermanentError("sold-out", "no seat left")

    async def book_async(task: Task) -> Any:
        return book(task)

    await perform(server, agents, book_async if asynchronous else book, OF_THE_TRY)
    handler, own = of("perform book-flight"), of("book")
    assert handler.parent is not None
    assert own.parent is not None
    assert trace.format_span_id(handler.parent.span_id) == "00f067aa0ba902b7"
    assert trace.format_trace_id(handler.parent.trace_id) == TRACE_ID
    assert own.parent.span_id == context_of(handler).span_id
    assert handler.kind == trace.SpanKind.CONSUMER
    assert handler.status.description == "sold-out"
    assert handler.attributes == {
        "drover.run.id": "run-1",
        "drover.step.id": "t1",
        "drover.attempt": 1,
        "drover.outcome": "failed",
        "error.type": "sold-out",
    }


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_lines_of_a_handler_have_the_ids_of_its_span_and_of_those_below_it(
    server: FakeServer, agents: Agents, caplog: pytest.LogCaptureFixture, asynchronous: bool
) -> None:
    def book(task: Task) -> Any:
        task.log.warning("checking")
        with TRACER.start_as_current_span("book"):
            task.log.warning("booking")

    async def book_async(task: Task) -> Any:
        book(task)

    await perform(server, agents, book_async if asynchronous else book, OF_THE_TRY)
    lines = [vars(record) for record in caplog.records if record.levelname == "WARNING"]
    spans = [span_id(of("perform book-flight")), span_id(of("book"))]
    assert [(line["run"], line["step"], line["attempt"]) for line in lines] == [
        ("run-1", "t1", 1),
        ("run-1", "t1", 1),
    ]
    assert [(line["trace"], line["span"]) for line in lines] == [(TRACE_ID, span) for span in spans]
    where = f"run=run-1 step=t1 attempt=1 trace={TRACE_ID}"
    assert [record["message"] for record in lines] == [
        f"checking ({where} span={spans[0]})",
        f"booking ({where} span={spans[1]})",
    ]


async def test_a_task_of_no_trace_has_no_span_and_its_lines_no_ids(
    server: FakeServer, agents: Agents, caplog: pytest.LogCaptureFixture
) -> None:
    await perform(server, agents, lambda task: task.log.warning("checking"), "")
    assert EXPORTER.get_finished_spans() == ()
    (line,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert line.message == "checking (run=run-1 step=t1 attempt=1)"
    assert not hasattr(line, "trace")


async def test_a_run_is_scheduled_in_the_trace_of_its_caller(server: FakeServer) -> None:
    seen: list[str] = []

    def answer(call: Any) -> None:
        seen.append(call.request.traceparent)
        call.answer(run_id="r1", created=True)

    server.inbox(rpc.SCHEDULE).always(answer)
    async with drover.Client(server.address) as client:
        with TRACER.start_as_current_span("order") as order:
            await client.schedule("trip")
        await client.schedule("trip")
    ids = order.get_span_context()
    flags = f"{ids.trace_flags:02x}"
    assert seen == [f"00-{ids.trace_id:032x}-{ids.span_id:016x}-{flags}", ""]


async def test_without_the_package_nothing_is_traced(
    server: FakeServer, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "_is_here", False)
    lines: list[Any] = []
    await perform(server, agents, lambda task: lines.append(task.log.process("", {})), OF_THE_TRY)
    assert EXPORTER.get_finished_spans() == ()
    assert [kwargs["extra"].keys() & {"trace", "span"} for _, kwargs in lines] == [set()]
    with TRACER.start_as_current_span("order"):
        assert tracing.active_trace() == ("", "")
