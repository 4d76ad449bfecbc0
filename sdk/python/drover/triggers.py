"""Triggers: what begins or continues runs by itself: a call over HTTP, the end of another run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Union

from drover import rpc
from drover.calls import Caller
from drover.durations import Duration
from drover.payloads import PLAIN, to_payload
from drover.reading import read
from drover.runs import RunName, to_ref
from drover.v1 import trigger_pb2 as wire
from drover.writing import write


@dataclass(frozen=True)
class Hmac:
    """HMAC-SHA256 over the body, in hex, keyed by the secret."""

    header: str
    """The header that has it, as "X-Hub-Signature-256"."""
    prefix: str = ""
    """What stands before it, as "sha256="."""
    timestamp_header: str = ""
    """The header of the time that is signed too, as TIME.BODY. Empty: none is asked for."""
    tolerance: Duration | None = None
    """How far that time may be away. Default: 5 minutes."""


@dataclass(frozen=True)
class Bearer:
    """The secret itself, in `Authorization: Bearer ...`."""


@dataclass(frozen=True)
class Http:
    """A call over HTTP, and how its caller proves who he is: exactly one."""

    hmac: Hmac | None = None
    bearer: Bearer | None = None


@dataclass(frozen=True)
class RunEnd:
    """The end of a run of another workflow."""

    workflow: str
    states: Sequence[str] = ()
    """completed, failed, compensated, cancelled. Empty: each."""


@dataclass(frozen=True)
class ScheduleAction:
    """Schedules a run. Its texts are templates."""

    workflow: str
    version: int = 0
    input: Any = None
    """A JSON template. Default: over HTTP the body."""
    key: str = ""
    """What a repeat is told by, over HTTP. Empty: each call begins a run."""
    labels: Mapping[str, str] = field(default_factory=dict)
    priority: int = 0


@dataclass(frozen=True)
class SignalAction:
    """Sends a run a signal. Its texts are templates."""

    name: str
    signal_id: str
    """What a repeat is told by."""
    run_key: str = ""
    """The run by its key; this or `run_id`."""
    run_id: str = ""
    payload: Any = None
    """A JSON template. Default: the body."""


@dataclass(frozen=True)
class CompleteAction:
    """Tells how a deferred task has ended. Its texts are templates."""

    callback_token: str
    outcome: Any
    """A JSON template that becomes { success: OUTPUT } or { failed: { code, ... } }."""


@dataclass(frozen=True)
class TriggerSpec:
    """What a trigger waits for, `http` or `run_end`, and what it does then, one of the others."""

    trigger: str
    """Its name."""
    http: Http | None = None
    run_end: RunEnd | None = None
    when: str = ""
    """A CEL condition. Empty: always."""
    schedule: ScheduleAction | None = None
    signal: SignalAction | None = None
    complete: CompleteAction | None = None


@dataclass(frozen=True)
class Trigger:
    """A trigger that was put."""

    definition: TriggerSpec | None
    path: str
    """Its path on every server; empty: it is none over HTTP."""
    secret_digest: str
    """SHA-256, hex: the secret itself is never told. Empty: it has none."""
    created_time: datetime | None
    changed_time: datetime | None


@dataclass(frozen=True)
class PutTrigger:
    """A trigger that is there now."""

    created: bool
    trigger: Trigger


@dataclass(frozen=True)
class Refusal:
    """What a trigger has refused for one reason."""

    trigger: str
    reason: str
    message: str
    run_id: str
    """The last run whose end it concerns; empty: it was a call over HTTP."""
    count: int
    first_time: datetime | None
    last_time: datetime | None


@dataclass(frozen=True)
class TriedTrigger:
    """What a trigger would do."""

    passes: bool
    """False: `when` is false, and nothing would be done."""
    schedule: ScheduleAction | None
    signal: SignalAction | None
    complete: CompleteAction | None


class Triggers:
    """What begins or continues runs by itself: `client.triggers`."""

    def __init__(self, caller: Caller) -> None:
        """Made by Client."""
        self._caller = caller

    async def put(self, trigger: Union[TriggerSpec, str], *, secret: str = "") -> PutTrigger:
        """Makes a trigger, or changes the one of its name: a definition, or its text in YAML or
        JSON. Without a secret it keeps the one that it has."""
        request = wire.PutTriggerRequest(namespace=self._caller.namespace, secret=secret)
        if isinstance(trigger, str):
            request.text = trigger
        else:
            write(request.definition, trigger)
        # Templates are read by the server, so no codec has changed them.
        answer = await self._caller.call(rpc.PUT_TRIGGER, request)
        return read(PutTrigger, answer, PLAIN)

    async def get(self, name: str) -> Trigger:
        """The one of this name."""
        request = wire.GetTriggerRequest(namespace=self._caller.namespace, name=name)
        answer = await self._caller.call(rpc.GET_TRIGGER, request)
        return read(Trigger, answer.trigger, PLAIN)

    async def list(self) -> tuple[Trigger, ...]:
        """All of them."""
        request = wire.ListTriggersRequest(namespace=self._caller.namespace)
        answer = await self._caller.call(rpc.LIST_TRIGGERS, request)
        return tuple(read(Trigger, one, PLAIN) for one in answer.triggers)

    async def delete(self, name: str) -> bool:
        """Whether there was one."""
        request = wire.DeleteTriggerRequest(namespace=self._caller.namespace, name=name)
        return (await self._caller.call(rpc.DELETE_TRIGGER, request)).deleted

    async def refusals(self, *, trigger: str = "", limit: int = 0) -> tuple[Refusal, ...]:
        """What was refused, by reason, the last first. Of all triggers unless one is named."""
        request = wire.ListRefusalsRequest(
            namespace=self._caller.namespace, trigger=trigger, page_size=limit
        )
        answer = await self._caller.call(rpc.LIST_REFUSALS, request)
        return tuple(self._caller.read(Refusal, one) for one in answer.refusals)

    async def try_out(
        self,
        trigger: Union[TriggerSpec, str],
        *,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        run: RunName | None = None,
    ) -> TriedTrigger:
        """What it would do, without doing it: one that was put, by its name, or a definition.

        `body`, `headers`, `query`: what would be sent. `run`: of a trigger at the end of a run, one
        that has ended.
        """
        request = wire.TryTriggerRequest(
            namespace=self._caller.namespace,
            body=None if body is None else to_payload(body),
            headers=dict(headers or {}),
            query=dict(query or {}),
            run=None if run is None else to_ref(run),
        )
        if isinstance(trigger, str):
            request.name = trigger
        else:
            write(request.definition, trigger)
        answer = await self._caller.call(rpc.TRY_TRIGGER, request)
        return read(TriedTrigger, answer, PLAIN)
