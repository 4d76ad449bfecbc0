"""Runs a handler without a server, for tests.

    outcome = run_handler(book_flight, input={"to": "Lisbon"}, attempt=2)
    assert outcome.kind == "success"
    assert outcome.output == {"booking": "flight-to-Lisbon"}

`start_handler` starts a handler that waits, which may then be stopped:

    running = start_handler(wait_for_it)
    running.stop("cancelled")
    assert running.outcome().kind == "cancelled"
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal

from drover_sdk.attempts import attempt as run_sync
from drover_sdk.attempts import attempt_async as run_async
from drover_sdk.attempts import is_async
from drover_sdk.durations import Duration, from_duration, seconds_of
from drover_sdk.errors import StopKind
from drover_sdk.executions import call_in
from drover_sdk.held_task import Notes
from drover_sdk.payloads import PLAIN, read_payload, to_payload
from drover_sdk.task_log import Line
from drover_sdk.tasks import Handler, Task, TaskKindName
from drover_sdk.typed_handlers import AnyHandler, typed
from drover_sdk.v1 import task_pb2 as wire

OutcomeKind = Literal["success", "failed", "unknown", "again", "deferred", "released", "cancelled"]

_KINDS: dict[TaskKindName, wire.TaskKind] = {
    "perform": wire.TASK_KIND_PERFORM,
    "verify": wire.TASK_KIND_VERIFY,
    "compensate": wire.TASK_KIND_COMPENSATE,
}


@dataclass(frozen=True)
class HandlerOutcome:
    """What an agent would report, with the progress and details of the handler."""

    kind: OutcomeKind
    output: Any = None
    """For a success: JSON value, bytes, or None."""
    code: str = ""
    """For failed and unknown."""
    message: str = ""
    transient: bool | None = None
    """For failed."""
    retry_after: float | None = None
    """For failed, in seconds; None: not given."""
    no_effect: bool = False
    """For failed and cancelled."""
    after: float | None = None
    """For again, in seconds."""
    progress: tuple[float | int | str, ...] = ()
    """All reported progress, in order."""
    details: tuple[Any, ...] = ()
    """All details, in order; the next attempt gets the last of them."""


def run_handler(handler: AnyHandler, **given: Any) -> HandlerOutcome:
    """Runs the handler to its end; `given` as for `start_handler`."""
    return start_handler(handler, **given).outcome()


def start_handler(
    handler: AnyHandler,
    *,
    input: Any = None,
    name: str = "task",
    kind: TaskKindName = "perform",
    output: Any = None,
    last_details: Any = None,
    item: int | None = None,
    attempt: int = 1,
    fence: int = 1,
    run_id: str = "run-1",
    step_id: str = "step-1",
    workflow: str = "workflow",
    queue: str = "default",
    idempotency_key: str = "key-1",
    effect_key: str = "",
    callback_token: str = "callback-1",
    labels: Mapping[str, str] | None = None,
    left: Duration = "1m",
) -> RunningHandler:
    """Starts the handler, in a thread of its own, with a task that has the given fields. A handler
    that takes its input gets it as the type of its annotation.

    `left`: the result of `task.left()`.
    """
    message = wire.Task(
        run_id=run_id,
        step_id=step_id,
        item=item,
        attempt=attempt,
        workflow=workflow,
        workflow_version=1,
        kind=_KINDS[kind],
        task=name,
        queue=queue,
        input=None if input is None else to_payload(input),
        output=None if output is None else to_payload(output),
        last_details=None if last_details is None else to_payload(last_details),
        idempotency_key=idempotency_key,
        effect_key=effect_key,
        callback_token=callback_token,
        fence=fence,
        labels=dict(labels or {}),
    )
    return RunningHandler(typed(handler), message, seconds_of(left))


class RunningHandler:
    """A running handler."""

    def __init__(self, handler: Handler, message: wire.Task, left: float) -> None:
        """Made by `start_handler`."""
        self._hold = _Hold(left)
        self._stopping = threading.Event()
        self._task = Task(message, self._hold, self._stopping, "tester")
        self._async: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._lock = threading.Lock()
        self._done: Future[wire.Outcome] = Future()
        threading.Thread(
            target=self._run, args=(handler, message), name="drover-testing", daemon=True
        ).start()

    def stop(self, kind: StopKind = "cancelled") -> None:
        """Stops the handler, as an agent would."""
        with self._lock:
            self._hold.kind = self._hold.kind or kind
            self._stopping.set()
            if self._async is not None:
                loop, task = self._async
                call_in(loop, task.cancel)

    def outcome(self, timeout: Duration = "10s") -> HandlerOutcome:
        """Waits for the end of the handler. Raises TimeoutError."""
        return self._read(self._done.result(seconds_of(timeout)))

    async def ended(self, timeout: Duration = "10s") -> HandlerOutcome:
        """As `outcome`, within asyncio."""
        done = asyncio.wrap_future(self._done)
        return self._read(await asyncio.wait_for(asyncio.shield(done), seconds_of(timeout)))

    def _run(self, handler: Handler, message: wire.Task) -> None:
        if is_async(handler):
            outcome = asyncio.run(self._run_async(handler, message))
        else:
            outcome = run_sync(handler, message, self._task, PLAIN)
        self._done.set_result(outcome)

    async def _run_async(self, handler: Handler, message: wire.Task) -> wire.Outcome:
        work = asyncio.ensure_future(run_async(handler, message, self._task, PLAIN))
        # The handler must have started before it can be stopped.
        await asyncio.sleep(0)
        with self._lock:
            self._async = asyncio.get_running_loop(), work
            if self._stopping.is_set():
                work.cancel()
        return await work

    def _read(self, outcome: wire.Outcome) -> HandlerOutcome:
        kind: Any = outcome.WhichOneof("kind")
        content = getattr(outcome, kind)
        failed, again = outcome.failed, outcome.again
        transient = failed.failure_class == wire.FAILURE_CLASS_TRANSIENT
        has_output = outcome.success.HasField("output")
        if outcome.success.output_problem:
            # The server treats it like this.
            kind, transient = "failed", False
            content = wire.Outcome.Failed(
                code="drover.output", message=outcome.success.output_problem
            )
        return HandlerOutcome(
            kind=kind,
            output=read_payload(outcome.success.output) if has_output else None,
            code=getattr(content, "code", ""),
            message=getattr(content, "message", ""),
            transient=transient if kind == "failed" else None,
            retry_after=(
                from_duration(failed.retry_after) if failed.HasField("retry_after") else None
            ),
            no_effect=getattr(content, "no_effect", False),
            after=from_duration(again.after) if kind == "again" else None,
            progress=tuple(self._hold.progress),
            details=tuple(self._hold.details),
        )


class _Hold:
    def __init__(self, left: float) -> None:
        self.kind: StopKind | None = None
        self.progress: list[float | int | str] = []
        self.details: list[Any] = []
        self._left = left

    def note(self, notes: Notes) -> None:
        if notes.progress is not None:
            self.progress.append(getattr(notes.progress, notes.progress.WhichOneof("kind") or ""))
        if notes.details is not None:
            self.details.append(read_payload(notes.details))

    def logged(self, line: Line) -> None:
        pass

    def left(self) -> float:
        return self._left

    def stopped(self) -> StopKind | None:
        return self.kind
