"""Traces, with the OpenTelemetry API only: a handler runs in a span below that of its try, and a
run that a client schedules is part of the caller's trace.

The program must install and register an OpenTelemetry SDK. Without one, or without the package
opentelemetry-api (`pip install 'drover-sdk[traces]'`), this module has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from drover_sdk.v1.task_pb2 import Outcome
from drover_sdk.v1.task_pb2 import Task as TaskMessage

_is_here = find_spec("opentelemetry") is not None
if TYPE_CHECKING or _is_here:
    from opentelemetry import context, trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_KINDS = {1: "perform", 2: "verify", 3: "compensate"}


def active_trace() -> tuple[str, str]:
    """Where the calling code is in a trace: traceparent and tracestate, empty where in none."""
    carrier: dict[str, str] = {}
    if _is_here:
        TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent", ""), carrier.get("tracestate", "")


def active_ids() -> dict[str, str]:
    """`trace` and `span`: the ids of the span that is current, in hex; empty where none is."""
    if not _is_here:
        return {}
    ids = trace.get_current_span().get_span_context()
    if not ids.is_valid:
        return {}
    return {
        "trace": trace.format_trace_id(ids.trace_id),
        "span": trace.format_span_id(ids.span_id),
    }


@contextmanager
def within_task(message: TaskMessage) -> Iterator[Callable[[Outcome], None]]:
    """A span below that of the try, if the task is part of a trace; takes the outcome."""
    if not _is_here or not message.traceparent:
        yield _untraced
        return
    carrier = {"traceparent": message.traceparent, "tracestate": message.tracestate}
    above = TraceContextTextMapPropagator().extract(carrier, context.Context())
    name = f"{_KINDS.get(message.kind, 'perform')} {message.task}"
    attributes: dict[str, str | int] = {
        "drover.run.id": message.run_id,
        "drover.step.id": message.step_id,
        "drover.attempt": message.attempt,
    }
    span = trace.get_tracer("drover").start_span(
        name, above, kind=trace.SpanKind.CONSUMER, attributes=attributes
    )

    def ended(outcome: Outcome) -> None:
        kind = outcome.WhichOneof("kind") or ""
        span.set_attribute("drover.outcome", kind)
        is_lost = bool(outcome.success.output_problem)
        code = "drover.output" if is_lost else getattr(getattr(outcome, kind, None), "code", "")
        if code:
            span.set_attribute("error.type", code)
            span.set_status(trace.StatusCode.ERROR, code)

    token = context.attach(trace.set_span_in_context(span))
    try:
        yield ended
    finally:
        context.detach(token)
        span.end()


def _untraced(_outcome: Outcome) -> None:
    """The task is part of no trace."""
