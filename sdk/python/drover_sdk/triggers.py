"""Triggers, which start or continue runs on a call over HTTP or at the end of another run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Union

from drover_sdk import rpc
from drover_sdk.calls import Caller
from drover_sdk.durations import Duration
from drover_sdk.payloads import PLAIN, to_payload
from drover_sdk.reading import read
from drover_sdk.runs import RunName, to_ref
from drover_sdk.v1 import trigger_pb2 as wire
from drover_sdk.writing import write


@dataclass(frozen=True)
class Hmac:
    """HMAC-SHA256 over the body, in hex, keyed by the secret."""

    header: str
    """The header that contains the signature, such as "X-Hub-Signature-256"."""
    prefix: str = ""
    """Text before the signature, such as "sha256="."""
    timestamp_header: str = ""
    """The header with the time of the signature; TIME.BODY is signed then. Empty: no time is
    required."""
    tolerance: Duration | None = None
    """Maximum difference of that time from now. Default: 5 minutes."""


@dataclass(frozen=True)
class Bearer:
    """The secret itself, in `Authorization: Bearer ...`."""


@dataclass(frozen=True)
class Http:
    """A call over HTTP, and how its caller authenticates: exactly one."""

    hmac: Hmac | None = None
    bearer: Bearer | None = None


@dataclass(frozen=True)
class RunEnd:
    """The end of a run of a workflow."""

    workflow: str
    states: Sequence[str] = ()
    """completed, failed, compensated, cancelled. Empty: all."""


@dataclass(frozen=True)
class ScheduleAction:
    """Starts a run. Its texts are templates."""

    workflow: str
    version: int = 0
    input: Any = None
    """A JSON template. Default: over HTTP the body; at the end of a run none."""
    key: str = ""
    """Over HTTP, the key of the run, by which repeats are detected. Empty: each call starts a
    run."""
    labels: Mapping[str, str] = field(default_factory=dict)
    priority: int = 0


@dataclass(frozen=True)
class SignalAction:
    """Sends a signal to a run. Its texts are templates."""

    name: str
    signal_id: str
    """The id of the signal, by which repeats are detected."""
    run_key: str = ""
    """The run by its key; this or `run_id`."""
    run_id: str = ""
    payload: Any = None
    """A JSON template. Default: the body."""


@dataclass(frozen=True)
class CompleteAction:
    """Reports how a deferred task has ended. Its texts are templates."""

    callback_token: str
    outcome: Any
    """A JSON template that evaluates to { success: OUTPUT } or { failed: { code, ... } }."""


@dataclass(frozen=True)
class TriggerSpec:
    """The event of a trigger, `http` or `run_end`, and its action, one of the others."""

    trigger: str
    """Name of the trigger."""
    http: Http | None = None
    run_end: RunEnd | None = None
    when: str = ""
    """A CEL condition. Empty: always true."""
    schedule: ScheduleAction | None = None
    signal: SignalAction | None = None
    complete: CompleteAction | None = None


@dataclass(frozen=True)
class Trigger:
    """A stored trigger."""

    definition: TriggerSpec | None
    path: str
    """Its path on every server; empty: it is not a trigger over HTTP."""
    secret_digest: str
    """SHA-256, hex; the server never returns the secret itself. Empty: it has none."""
    created_time: datetime | None
    changed_time: datetime | None


@dataclass(frozen=True)
class PutTrigger:
    """A trigger after `put`."""

    created: bool
    trigger: Trigger


@dataclass(frozen=True)
class Refusal:
    """Calls or run ends that a trigger refused for one reason."""

    trigger: str
    reason: str
    message: str
    run_id: str
    """At the end of a run: the run of the last refusal; empty: the refusal was of a call over
    HTTP."""
    count: int
    first_time: datetime | None
    last_time: datetime | None


@dataclass(frozen=True)
class TriedTrigger:
    """What a trigger would do."""

    passes: bool
    """False: `when` is false, and the trigger would do nothing."""
    schedule: ScheduleAction | None
    signal: SignalAction | None
    complete: CompleteAction | None


class Triggers:
    """Triggers, which start or continue runs: `client.triggers`."""

    def __init__(self, caller: Caller) -> None:
        """Made by Client."""
        self._caller = caller

    async def put(self, trigger: Union[TriggerSpec, str], *, secret: str = "") -> PutTrigger:
        """Creates a trigger, or changes the trigger of its name: a definition, or its text in YAML
        or JSON. Without a secret its current one is retained."""
        request = wire.PutTriggerRequest(namespace=self._caller.namespace, secret=secret)
        if isinstance(trigger, str):
            request.text = trigger
        else:
            write(request.definition, trigger)
        # The server reads templates, so no codec encodes them.
        answer = await self._caller.call(rpc.PUT_TRIGGER, request)
        return read(PutTrigger, answer, PLAIN)

    async def get(self, name: str) -> Trigger:
        """The trigger of this name."""
        request = wire.GetTriggerRequest(namespace=self._caller.namespace, name=name)
        answer = await self._caller.call(rpc.GET_TRIGGER, request)
        return read(Trigger, answer.trigger, PLAIN)

    async def list(self) -> tuple[Trigger, ...]:
        """All of them."""
        request = wire.ListTriggersRequest(namespace=self._caller.namespace)
        answer = await self._caller.call(rpc.LIST_TRIGGERS, request)
        return tuple(read(Trigger, one, PLAIN) for one in answer.triggers)

    async def delete(self, name: str) -> bool:
        """Deletes it; returns whether there was one."""
        request = wire.DeleteTriggerRequest(namespace=self._caller.namespace, name=name)
        return (await self._caller.call(rpc.DELETE_TRIGGER, request)).deleted

    async def refusals(self, *, trigger: str = "", limit: int = 0) -> tuple[Refusal, ...]:
        """What was refused, by reason, the newest first. Of all triggers unless one is named."""
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
        """What the trigger would do, without doing it: a stored one, by its name, or a definition.

        `body`, `headers`, `query`: the call over HTTP. `run`: for a trigger at the end of a run, a
        run that has ended.
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
