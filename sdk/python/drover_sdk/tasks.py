"""The interface for authors of agents: the handler and its task."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from types import GenericAlias
from typing import Any, Literal, Protocol, TypeVar, Union

from drover_sdk.conversion import convert
from drover_sdk.errors import PermanentError, StopKind, TaskStoppedError
from drover_sdk.held_task import Notes
from drover_sdk.payloads import PLAIN, Codec, json_payload, read_payload, to_payload
from drover_sdk.task_log import Line, TaskLog
from drover_sdk.tidy_text import well_formed
from drover_sdk.v1.payload_pb2 import Payload
from drover_sdk.v1.task_pb2 import TASK_KIND_COMPENSATE, TASK_KIND_VERIFY, Progress
from drover_sdk.v1.task_pb2 import Task as TaskMessage

T = TypeVar("T")

TaskKindName = Literal["perform", "verify", "compensate"]

Handler = Callable[["Task"], Any]
"""Performs one attempt, as `def` (in a thread of its own) or as `async def`.

It returns the step's output (JSON, a Payload or None for nothing) or an Answer, see answers.py. It
raises an error to report a failure, see errors.py.
"""

_CURSOR_MOST = 1_024
_TYPES = (type, GenericAlias)


class Hold(Protocol):
    """What holds the lease of a task. All of it may be called from any thread."""

    def note(self, notes: Notes) -> None:
        """For the next heartbeat."""
        ...

    def logged(self, line: Line) -> None:
        """A line of the handler, for the server."""
        ...

    def left(self) -> float:
        """Seconds of lease and attempt."""
        ...

    def stopped(self) -> StopKind | None:
        """Why it must stop, if it must."""
        ...


class Task:
    """One try to perform, verify or compensate a step. May be used from any thread."""

    name: str
    """Name of the task, as in the definition."""
    kind: TaskKindName
    """A verify task finds out whether an earlier attempt took effect, and never does the work
    itself."""
    queue: str
    run_id: str
    step_id: str
    item: int | None
    """For a map, the index in its list, from 0; None: the step has no items."""
    attempt: int
    """From 1. Verify tasks are numbered separately."""
    workflow: str
    workflow_version: int
    """0: the definition was sent with the run."""
    idempotency_key: str
    """For the remote service, so that a repeated request takes effect once."""
    effect_key: str
    """Verify and compensate: the key under which the effect was made, or would have been made."""
    callback_token: str
    """Perform: for a remote service that reports the outcome itself, by
    `client.complete_deferred`."""
    fence: int
    """Grows with each hand-out of the step, for services that refuse a lower value."""
    labels: dict[str, str]
    """Labels of the run."""
    input: Any
    """JSON value, bytes, or None."""
    output: Any
    """Compensate: the step's output; None if there is none or it is not known."""
    last_details: Any
    """What an earlier attempt passed to `details`, to resume from; for a verify task, what the lost
    attempt passed."""
    stopping: threading.Event
    """Set when the work must stop: `task.stopping.wait(5)` sleeps until then."""
    log: TaskLog
    """Its lines name run, step and attempt. The server stores them with the attempt, whatever the
    level of the logger is, up to 64 KiB; not if the step has `logs: off`."""

    def __init__(
        self,
        message: TaskMessage,
        hold: Hold,
        stopping: threading.Event,
        agent_id: str = "",
        codec: Codec = PLAIN,
    ) -> None:
        """Raises the errors of the codec for payloads that it cannot decode."""
        self.name = message.task
        self.kind = kind_name(message)
        self.queue = message.queue
        self.run_id = message.run_id
        self.step_id = message.step_id
        self.item = message.item if message.HasField("item") else None
        self.attempt = message.attempt
        self.workflow = message.workflow
        self.workflow_version = message.workflow_version
        self.idempotency_key = message.idempotency_key
        self.effect_key = message.effect_key
        self.callback_token = message.callback_token
        self.fence = message.fence
        self.labels = dict(message.labels)
        self.input = _decoded(message, "input", codec)
        self.output = _decoded(message, "output", codec)
        self.last_details = _decoded(message, "last_details", codec)
        self.stopping = stopping
        self.log = TaskLog(message, agent_id, hold.logged if message.store_logs else None)
        self._hold = hold
        self._codec = codec

    def parse_input(self, parse: Callable[[Any], T] | type[T]) -> T:
        """The input as this dataclass, TypedDict or pydantic model, or the result of `parse` for
        it. What is not of the type, or an error of `parse`, fails the attempt for good."""
        return _parsed(parse, self.input, "input")

    def parse_output(self, parse: Callable[[Any], T] | type[T]) -> T:
        """As `parse_input`, for the output."""
        return _parsed(parse, self.output, "output")

    def parse_details(self, parse: Callable[[Any], T] | type[T]) -> T:
        """As `parse_input`, for the last details."""
        return _parsed(parse, self.last_details, "details")

    @property
    def stopped(self) -> StopKind | None:
        """Why the work must stop; None: it need not stop."""
        return self._hold.stopped()

    def raise_if_stopped(self) -> None:
        """Raises TaskStoppedError when the work must stop."""
        kind = self.stopped
        if kind is not None:
            raise TaskStoppedError(kind)

    def left(self) -> float:
        """Remaining seconds of lease and attempt: check them before a call that must not come
        late."""
        return self._hold.left()

    def progress(
        self,
        *,
        fraction: float | None = None,
        counter: int | None = None,
        cursor: str | None = None,
    ) -> None:
        """Reports how far the work has come; use one kind of measure throughout. Sent within a
        second.

        `fraction`: share of the whole, 0 to 1. `counter`: number of things done so far. `cursor`:
        any text that changes as the work advances. Raises ValueError for other values.
        """
        if [fraction, counter, cursor].count(None) != 2:
            raise ValueError("Progress is one of fraction, counter and cursor.")
        self._hold.note(Notes(progress=_progress(fraction, counter, cursor)))

    def details(self, value: Any) -> None:
        """Stores what a later attempt needs to resume: JSON or a Payload.

        Sent within a second, and before the report of an attempt that ends without success.
        """
        payload = json_payload(None) if value is None else to_payload(value)
        self._hold.note(Notes(details=self._codec.encode(payload)))


def kind_name(message: TaskMessage) -> TaskKindName:
    """The kind as a text."""
    if message.kind == TASK_KIND_VERIFY:
        return "verify"
    return "compensate" if message.kind == TASK_KIND_COMPENSATE else "perform"


PayloadField = Literal["input", "output", "last_details"]


def payload_of(message: TaskMessage, field: PayloadField) -> Payload | None:
    """None: it has none."""
    payload: Payload = getattr(message, field)
    return payload if message.HasField(field) else None


def _decoded(message: TaskMessage, field: PayloadField, codec: Codec) -> Any:
    payload = payload_of(message, field)
    return None if payload is None else read_payload(codec.decode(payload))


def _parsed(parse: Callable[[Any], T] | type[T], value: Any, what: str) -> T:
    try:
        return convert(parse, value) if isinstance(parse, _TYPES) else parse(value)
    except Exception as error:
        message = f"The {what} is not as expected: {error}"
        raise PermanentError(f"bad-{what}", message) from error


def _progress(
    fraction: Union[float, None], counter: Union[int, None], cursor: Union[str, None]
) -> Progress:
    if fraction is not None:
        if math.isnan(fraction):
            raise ValueError("A fraction of NaN is no progress.")
        return Progress(fraction=min(max(fraction, 0.0), 1.0))
    if counter is not None:
        if counter < 0:
            raise ValueError(f"A counter of {counter} is no progress; count from 0.")
        return Progress(counter=counter)
    text = well_formed((cursor or "").replace("\0", " ")[:_CURSOR_MOST])
    if not text:
        raise ValueError("An empty cursor is no progress.")
    return Progress(cursor=text)
